//! ParameterDescription: how many parameters a statement has.

use crate::WireError;
use crate::cursor::Cursor;

/// The number of parameters; their types are not read.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARAMETERDESCRIPTION>
pub(super) fn parse_parameter_count(body: &[u8]) -> Result<u16, WireError> {
    let mut cursor = Cursor::new(body, "a statement's parameters");
    let count = cursor.u16()?; // Int16
    cursor.take(usize::from(count) * size_of::<u32>())?; // Int32 each
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_and_must_be_there() {
        assert_eq!(parse_parameter_count(b"\0\0"), Ok(0));
        assert_eq!(parse_parameter_count(b"\0\x02\0\0\0\x17\0\0\0\x19"), Ok(2));
        assert!(parse_parameter_count(b"\0\x02\0\0\0\x17\0\0\0").is_err());
        assert!(parse_parameter_count(b"\0").is_err());
    }
}
