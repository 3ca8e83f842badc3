//! Names of prepared statements: the client chooses them.

/// A prepared statement of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementName {
    /// The one without a name, which the next one replaces.
    Unnamed,
    /// One that is kept, by its number: `s1`, `s2` and so on.
    Numbered(u32),
}

impl StatementName {
    /// Appends the name as a String.
    #[inline]
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        if let Self::Numbered(number) = self {
            out.push(b's');
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_letter_and_the_number() {
        for number in [0, 1, 9, 10, 999, 1_000_000_007, u32::MAX] {
            let mut out = Vec::new();
            StatementName::Numbered(number).put(&mut out);
            assert_eq!(out, format!("s{number}\0").as_bytes());
        }
        let mut out = Vec::new();
        StatementName::Unnamed.put(&mut out);
        assert_eq!(out, b"\0");
    }
}
