//! COM_STMT_PREPARE_OK.

use super::OK;
use crate::cursor::Cursor;
use crate::{Prepared, WireError};

/// The first packet after a prepare; the definitions of parameters and columns follow it.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>
pub(super) fn parse_prepare_ok(payload: &[u8]) -> Result<Prepared, WireError> {
    let mut cursor = Cursor::new(payload, "the reply to a prepare");
    let first_byte = cursor.u8()?; // int<1>, 0x00
    if first_byte != OK {
        let expected = "the reply to a prepare";
        return Err(WireError::UnexpectedPacket { expected, first_byte });
    }
    let statement_id = cursor.u32()?; // int<4>
    let columns = cursor.u16()?; // int<2>
    let params = cursor.u16()?; // int<2>
    Ok(Prepared { statement_id, params, columns }) // int<1> filler, int<2> warnings, unread
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mariadbd 10.11.19, `SELECT c FROM t WHERE id = ?`.
    const SELECT_MARIADB_10_11_19: &[u8] = b"\0\x01\0\0\0\x01\0\x01\0\0\0\0";

    #[test]
    fn the_reply_of_mariadb_10_11_is_read() {
        let expected = Prepared { statement_id: 1, params: 1, columns: 1 };
        assert_eq!(parse_prepare_ok(SELECT_MARIADB_10_11_19), Ok(expected));
    }

    #[test]
    fn a_truncated_or_other_packet_is_an_error() {
        for length in 0..9 {
            assert!(parse_prepare_ok(&SELECT_MARIADB_10_11_19[..length]).is_err());
        }
        assert!(parse_prepare_ok(b"\x01\x01\0\0\0\x01\0\x01\0\0\0\0").is_err());
    }
}
