//! Families of servers: those that speak the same protocol and share their error codes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::NotAName;

const LONGEST: usize = 12;

/// A family of servers, such as `mysql`. Any name of lower-case letters and digits is possible: the
/// program's dispatch decides which ones it supports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Family([u8; LONGEST]);

impl Family {
    /// Creates a family from a name in the source code.
    ///
    /// # Panics
    /// If the name does not consist of 1 to 12 lower-case letters and digits.
    #[must_use]
    pub const fn new(name: &str) -> Self {
        match Self::parse(name.as_bytes()) {
            Some(family) => family,
            None => panic!("a family's name has 1 to 12 small letters and digits"),
        }
    }

    const fn parse(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        let mut rest = name;
        let mut left: &mut [u8] = &mut bytes;
        while let ([byte, others @ ..], [place, free @ ..]) = (rest, left) {
            if !(byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
                return None;
            }
            *place = *byte;
            (rest, left) = (others, free);
        }
        if name.is_empty() || !rest.is_empty() { None } else { Some(Self(bytes)) }
    }

    /// The family's name.
    #[must_use]
    pub fn name(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(LONGEST);
        std::str::from_utf8(self.0.get(..end).unwrap_or_default()).unwrap_or_default()
    }
}

impl TryFrom<String> for Family {
    type Error = NotAName;

    fn try_from(text: String) -> Result<Self, NotAName> {
        let what = "a family of servers";
        Self::parse(text.as_bytes()).ok_or(NotAName { text, what })
    }
}

impl From<Family> for String {
    fn from(family: Family) -> Self {
        family.name().to_owned()
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Family({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_its_name() {
        let family: Family = serde_json::from_str("\"mysql\"").unwrap();
        assert_eq!(family, Family::new("mysql"));
        assert_eq!(serde_json::to_string(&family).unwrap(), "\"mysql\"");
        assert_eq!(Family::new("twelvesigns1").to_string(), "twelvesigns1");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["\"\"", "\"MySQL\"", "\"my sql\"", "\"thirteensigns\"", "\"a\\u0000\"", "7"] {
            assert!(serde_json::from_str::<Family>(text).is_err(), "{text}");
        }
    }
}
