//! Parse and Describe of a statement: SQL to be executed later.

use super::statement_name::StatementName;
use crate::frame::write_message;
use crate::message::client::{DESCRIBE, PARSE};

/// Appends a Parse. `param_types` are those of the first parameters, as [`oid`](crate::oid)s; the
/// server decides on the others.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARSE>
pub fn write_parse(out: &mut Vec<u8>, name: StatementName, sql: &[u8], param_types: &[u32]) {
    write_parse_with(out, name, |out| out.extend_from_slice(sql), param_types);
}

/// Appends a Parse of the SQL that `write` appends.
pub(crate) fn write_parse_with(
    out: &mut Vec<u8>,
    name: StatementName,
    write: impl FnOnce(&mut Vec<u8>),
    param_types: &[u32],
) {
    debug_assert!(param_types.len() <= usize::from(u16::MAX));
    write_message(out, PARSE, |out| {
        name.put(out); // String
        write(out); // String
        out.push(0);
        let count = u16::try_from(param_types.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes()); // Int16
        for param_type in param_types {
            out.extend_from_slice(&param_type.to_be_bytes()); // Int32
        }
    });
}

/// Appends a Describe: the server answers with the parameters' types and the result's columns.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DESCRIBE>
pub fn write_describe_statement(out: &mut Vec<u8>, name: StatementName) {
    write_message(out, DESCRIBE, |out| {
        out.push(b'S'); // Byte1
        name.put(out); // String
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid;

    #[test]
    fn a_parse_has_a_name_a_text_and_types() {
        let mut out = Vec::new();
        write_parse(&mut out, StatementName::Numbered(7), b"SELECT $1", &[]);
        assert_eq!(out, b"P\0\0\0\x13s7\0SELECT $1\0\0\0");
        out.clear();
        write_parse(&mut out, StatementName::Unnamed, b"SELECT $1", &[oid::INT8]);
        assert_eq!(out, b"P\0\0\0\x15\0SELECT $1\0\0\x01\0\0\0\x14");
        out.clear();
        write_describe_statement(&mut out, StatementName::Numbered(7));
        assert_eq!(out, b"D\0\0\0\x08Ss7\0");
    }
}
