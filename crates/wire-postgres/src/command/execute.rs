//! Describe and Execute of a portal.

use crate::frame::write_message;
use crate::message::client::{DESCRIBE, EXECUTE};

/// No limit of the rows that an execution returns.
pub const ALL_ROWS: u32 = 0;

/// Appends a Describe of the unnamed portal: the server answers with the result's columns.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DESCRIBE>
pub fn write_describe_portal(out: &mut Vec<u8>) {
    write_message(out, DESCRIBE, |out| out.extend_from_slice(b"P\0")); // Byte1, String
}

/// Appends an Execute of the unnamed portal. After `most_rows` the portal is suspended, see
/// [`status::SUSPENDED`](crate::status::SUSPENDED), and another Execute in the same transaction goes
/// on with it.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-EXECUTE>
pub fn write_execute_portal(out: &mut Vec<u8>, most_rows: u32) {
    write_message(out, EXECUTE, |out| {
        out.push(0); // String: the portal
        out.extend_from_slice(&most_rows.to_be_bytes()); // Int32
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_name_the_unnamed_portal() {
        let mut out = Vec::new();
        write_describe_portal(&mut out);
        write_execute_portal(&mut out, ALL_ROWS);
        write_execute_portal(&mut out, 100);
        let expected = b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0E\0\0\0\x09\0\0\0\0\x64";
        assert_eq!(out, expected);
    }
}
