//! Close: forget a prepared statement.

use super::statement_name::StatementName;
use crate::frame::write_message;
use crate::message::client::CLOSE;

/// Appends the closing of a statement. The server confirms it, at the latest with what is answered
/// next; [`ReplyReader`](crate::ReplyReader) takes that for granted.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CLOSE>
pub fn write_close_statement(out: &mut Vec<u8>, name: StatementName) {
    write_message(out, CLOSE, |out| {
        out.push(b'S'); // Byte1
        name.put(out); // String
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_names_the_statement() {
        let mut out = Vec::new();
        write_close_statement(&mut out, StatementName::Numbered(12));
        assert_eq!(out, b"C\0\0\0\x09Ss12\0");
    }
}
