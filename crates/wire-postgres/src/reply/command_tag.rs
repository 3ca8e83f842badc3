//! CommandComplete: which statement has ended, and how many rows it was about.

use crate::WireError;
use crate::cursor::Cursor;

/// What a command's tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) verb: Verb,
    /// What follows it.
    numbers: &'a [u8],
}

/// The statements that count rows, and the one that is the answer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// INSERT, UPDATE, DELETE, MERGE and COPY.
    Write,
    /// SELECT, which is also the tag of CREATE TABLE AS, and FETCH.
    Read,
    Rollback,
    Other,
}

impl<'a> Tag<'a> {
    /// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COMMANDCOMPLETE>
    #[inline]
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let tag = Cursor::new(body, "the end of a command").string()?; // String
        let end = tag.iter().position(|&byte| byte == b' ').unwrap_or(tag.len());
        let (verb, numbers) = tag.split_at(end);
        let verb = match verb {
            b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY" => Verb::Write,
            b"SELECT" | b"FETCH" => Verb::Read,
            b"ROLLBACK" => Verb::Rollback,
            _ => Verb::Other,
        };
        Ok(Self { verb, numbers })
    }

    /// The number at its end, or 0. INSERT has an object's id, which is always 0, before the number of rows.
    #[inline]
    pub(super) fn rows(self) -> u64 {
        let place = self.numbers.iter().rposition(|&byte| byte == b' ');
        let start = place.map_or(0, |place| place + 1);
        let digits = self.numbers.get(start..).unwrap_or_default();
        digits.iter().filter(|byte| byte.is_ascii_digit()).fold(0_u64, |number, &byte| {
            number.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_verb_and_a_number() {
        for (body, verb, rows) in [
            (b"SELECT 1\0".as_slice(), Verb::Read, 1),
            (b"INSERT 0 42\0", Verb::Write, 42),
            (b"UPDATE 0\0", Verb::Write, 0),
            (b"DELETE 18446744073709551615\0", Verb::Write, u64::MAX),
            (b"MERGE 3\0", Verb::Write, 3),
            (b"COPY 7\0", Verb::Write, 7),
            (b"COPY\0", Verb::Write, 0),
            (b"FETCH 5\0", Verb::Read, 5),
            (b"BEGIN\0", Verb::Other, 0),
            (b"COMMIT\0", Verb::Other, 0),
            (b"ROLLBACK\0", Verb::Rollback, 0),
            (b"CREATE TABLE\0", Verb::Other, 0),
            (b"\0", Verb::Other, 0),
        ] {
            let tag = Tag::parse(body).unwrap();
            assert_eq!((tag.verb, tag.rows()), (verb, rows), "{body:?}");
        }
    }

    #[test]
    fn a_tag_without_an_end_is_an_error_and_a_huge_number_is_the_largest() {
        assert!(Tag::parse(b"SELECT 1").is_err() && Tag::parse(b"").is_err());
        let huge = Tag::parse(b"UPDATE 99999999999999999999999\0").unwrap();
        assert_eq!(huge.rows(), u64::MAX);
    }
}
