//! Error codes: each family has its own, numbers or letters.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Family, NotAName};

/// An error code without its family: `1213`, or `40P01`.
///
/// Stored as its characters, the last one in the lowest byte. So shorter codes come before longer
/// ones, numbers sort numerically, and a comparison is that of two integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code(u64);

impl Code {
    /// Stands for an error without a code, and for all errors beyond those distinguished.
    pub const OTHER: Self = Self::of_number(0);

    /// A number in decimal digits.
    #[must_use]
    pub const fn of_number(number: u16) -> Self {
        let (mut code, mut left, mut shift) = (0, number as u64, 0);
        loop {
            code |= (b'0' as u64 + left % 10) << shift;
            left /= 10;
            shift += u8::BITS;
            if left == 0 {
                return Self(code);
            }
        }
    }

    /// An SQLSTATE: five digits and upper-case letters. `None`: it is something else.
    #[must_use]
    pub const fn of_state(state: &[u8; 5]) -> Option<Self> {
        let (mut code, mut rest) = (0, state.as_slice());
        while let [byte, others @ ..] = rest {
            if !(byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
                return None;
            }
            code = code << u8::BITS | *byte as u64;
            rest = others;
        }
        Some(Self(code))
    }

    /// The code as a number, if it is one.
    #[must_use]
    pub fn number(self) -> Option<u16> {
        self.to_string().parse().ok()
    }
}

impl TryFrom<String> for Code {
    type Error = NotAName;

    fn try_from(text: String) -> Result<Self, NotAName> {
        let good = text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        // A number has only one notation, or one error would have two codes.
        let padded = text.len() > 1 && text.starts_with('0') && text.parse::<u64>().is_ok();
        let sqlstate = text.len() == 5;
        if good && (1..=8).contains(&text.len()) && (sqlstate || !padded) {
            return Ok(Self(text.bytes().fold(0, |code, byte| code << u8::BITS | u64::from(byte))));
        }
        Err(NotAName { text, what: "an error's code" })
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.to_string()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        let start = bytes.iter().position(|&byte| byte != 0).unwrap_or_default();
        let text = bytes.get(start..).and_then(|text| std::str::from_utf8(text).ok());
        f.pad(text.unwrap_or_default())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({self})")
    }
}

/// An error code, and the family it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ErrorCode {
    /// The family.
    pub family: Family,
    /// The code.
    pub code: Code,
}

/// The code alone.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.code.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        Code::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_code_is_its_text() {
        for text in ["0", "9", "1213", "65535", "40P01", "08006", "00000"] {
            assert_eq!(code(text).to_string(), text);
            let json = format!("\"{text}\"");
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), code(text));
            assert_eq!(serde_json::to_string(&code(text)).unwrap(), json);
        }
        for number in [0, 7, 110, 1213, u16::MAX] {
            assert_eq!(Code::of_number(number), code(&number.to_string()));
            assert_eq!(Code::of_number(number).number(), Some(number));
        }
        assert_eq!((code("40P01").number(), code("99999").number()), (None, None));
    }

    #[test]
    fn a_state_is_the_code_of_its_text() {
        for state in [b"40P01", b"08006", b"00000", b"57014"] {
            let text = std::str::from_utf8(state).unwrap();
            assert_eq!(Code::of_state(state), Some(code(text)));
        }
        for state in [b"40p01", b"4000\0", b"\x1b[31m", b"     "] {
            assert_eq!(Code::of_state(state), None);
        }
    }

    #[test]
    fn numbers_are_in_the_order_of_numbers() {
        let mut codes: Vec<Code> = [2013, 0, 110, 65535, 1213, 9].map(Code::of_number).to_vec();
        codes.sort_unstable();
        assert_eq!(codes, [0, 9, 110, 1213, 2013, 65535].map(Code::of_number));
        assert!(code("40001") < code("40P01") && code("40P01") < code("57P01"));
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for text in ["", "012", "-1", "+1", "40p01", "1 2", "123456789", "é"] {
            assert!(Code::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Code>("1213").is_err());
    }

    #[test]
    fn an_error_code_is_shown_without_its_family_and_kept_with_it() {
        let deadlock = ErrorCode { family: Family::new("mysql"), code: code("1213") };
        assert_eq!(format!("{deadlock:>6}"), "  1213");
        let json = r#"{"family":"mysql","code":"1213"}"#;
        assert_eq!(serde_json::to_string(&deadlock).unwrap(), json);
        assert_eq!(serde_json::from_str::<ErrorCode>(json).unwrap(), deadlock);
    }
}
