//! COM_STMT_PREPARE: a statement to be executed later.

use crate::frame::write_message;

const COM_STMT_PREPARE: u8 = 0x16;

/// Appends a prepare. The reply is read with [`Expect::Prepare`](crate::Expect::Prepare).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>
pub fn write_prepare(out: &mut Vec<u8>, sql: &[u8]) {
    write_message(out, 0, |out| {
        out.push(COM_STMT_PREPARE); // int<1>
        out.extend_from_slice(sql); // string<EOF>
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepare_is_its_text_behind_a_header() {
        let mut out = Vec::new();
        write_prepare(&mut out, b"SELECT ?");
        assert_eq!(out, b"\x09\0\0\0\x16SELECT ?");
    }
}
