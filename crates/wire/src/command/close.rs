//! COM_STMT_CLOSE: forget a prepared statement.

use crate::frame::write_message;

const COM_STMT_CLOSE: u8 = 0x19;

/// Appends the closing of a statement. The server does not answer.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_close.html>
pub fn write_close_statement(out: &mut Vec<u8>, statement_id: u32) {
    write_message(out, 0, |out| {
        out.push(COM_STMT_CLOSE); // int<1>
        out.extend_from_slice(&statement_id.to_le_bytes()); // int<4>
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_names_the_statement() {
        let mut out = Vec::new();
        write_close_statement(&mut out, 0x0403_0201);
        assert_eq!(out, b"\x05\0\0\0\x19\x01\x02\x03\x04");
    }
}
