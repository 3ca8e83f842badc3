//! Commands of a single byte, such as COM_PING and COM_QUIT.

use crate::frame::write_message;

const COM_QUIT: u8 = 0x01;
const COM_PING: u8 = 0x0e;
const COM_RESET_CONNECTION: u8 = 0x1f;

/// Appends the end of the conversation. The server closes the connection without an answer.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_quit.html>
pub fn write_quit(out: &mut Vec<u8>) {
    write_plain(out, COM_QUIT);
}

/// Appends a ping. The reply is an OK, read with [`Expect::Query`](crate::Expect::Query).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_ping.html>
pub fn write_ping(out: &mut Vec<u8>) {
    write_plain(out, COM_PING);
}

/// Appends a reset of the session: open transaction, variables, temporary tables and prepared
/// statements are dropped. The reply is an OK, read with [`Expect::Query`](crate::Expect::Query).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_reset_connection.html>
pub fn write_reset_connection(out: &mut Vec<u8>) {
    write_plain(out, COM_RESET_CONNECTION);
}

fn write_plain(out: &mut Vec<u8>, command: u8) {
    write_message(out, 0, |out| out.push(command)); // int<1>
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_byte_behind_a_header() {
        let mut out = Vec::new();
        write_quit(&mut out);
        write_ping(&mut out);
        write_reset_connection(&mut out);
        assert_eq!(out, [1, 0, 0, 0, 1, 1, 0, 0, 0, 14, 1, 0, 0, 0, 31]);
    }
}
