//! ERR_Packet.

use loadstone_protocol::sanitize::{MESSAGE, plain};

use crate::cursor::Cursor;
use crate::{ServerError, WireError, error_code};

/// Before the login the server does not know our protocol and may omit the SQL state.
const UNKNOWN_STATE: [u8; 5] = *b"HY000";

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_err_packet.html>
#[cold]
pub(crate) fn parse_error(payload: &[u8]) -> Result<ServerError, WireError> {
    let mut cursor = Cursor::new(payload, "an error packet");
    cursor.u8()?; // int<1>, 0xff
    let code = error_code(cursor.u16()?); // int<2>
    let mut sql_state = UNKNOWN_STATE;
    if cursor.peek() == Some(b'#') {
        cursor.u8()?; // string[1]
        let said: [u8; 5] = cursor.array()?; // string[5]
        // It is shown to users, and servers only send such characters.
        if said.iter().all(u8::is_ascii_alphanumeric) {
            sql_state = said;
        }
    }
    let message = plain(cursor.rest(), MESSAGE); // string<EOF>
    Ok(ServerError { code, sql_state, message, position: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mariadbd 10.11.19, `SELECT * FROM missing`.
    const NO_SUCH_TABLE_MARIADB_10_11_19: &[u8] =
        b"\xff\x7a\x04#42S02Table 'test.missing' doesn't exist";

    #[test]
    fn an_error_of_mariadb_10_11_is_read() {
        let error = parse_error(NO_SUCH_TABLE_MARIADB_10_11_19).unwrap();
        assert_eq!((error.code, &error.sql_state), (error_code(1146), b"42S02"));
        assert_eq!(error.message, "Table 'test.missing' doesn't exist");
        assert_eq!(error.to_string(), "Table 'test.missing' doesn't exist (1146, 42S02)");
    }

    #[test]
    fn an_error_without_a_state_has_the_general_one() {
        let error = parse_error(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((error.code, &error.sql_state), (error_code(1040), b"HY000"));
        assert_eq!(error.message, "Too many connections");
    }

    #[test]
    fn a_state_that_would_drive_a_terminal_is_the_general_one() {
        let error = parse_error(b"\xff\x7a\x04#\x1b[31mred").unwrap();
        assert_eq!((error.sql_state_text(), error.message.as_str()), ("HY000", "red"));
    }

    #[test]
    fn a_truncated_error_is_an_error_of_the_protocol() {
        for length in [0, 1, 2, 4, 8] {
            assert!(parse_error(&NO_SUCH_TABLE_MARIADB_10_11_19[..length]).is_err());
        }
    }
}
