//! OK_Packet.

use crate::WireError;
use crate::cursor::Cursor;

/// The end of a statement, or of a result set if EOF packets are deprecated.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OkPacket {
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) status: u16,
    pub(crate) warnings: u16,
}

impl OkPacket {
    #[inline]
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload, "an OK packet");
        cursor.u8()?; // int<1>, 0x00 or 0xfe
        Ok(Self {
            affected_rows: cursor.lenenc()?,  // int<lenenc>
            last_insert_id: cursor.lenenc()?, // int<lenenc>
            status: cursor.u16()?,            // int<2>
            warnings: cursor.u16()?,          // int<2>
        }) // string<EOF> info, unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mariadbd 10.11.19, `UPDATE t SET c = 'y'` of one row.
    const UPDATE_MARIADB_10_11_19: &[u8] =
        b"\x00\x01\x00\x02\x00\x00\x00\x28Rows matched: 1  Changed: 1  Warnings: 0";

    #[test]
    fn an_ok_of_mariadb_10_11_is_read() {
        let ok = OkPacket::parse(UPDATE_MARIADB_10_11_19);
        let expected = OkPacket { affected_rows: 1, last_insert_id: 0, status: 2, warnings: 0 };
        assert_eq!(ok, Ok(expected));
    }

    #[test]
    fn a_truncated_ok_is_an_error() {
        for length in 0..7 {
            assert!(OkPacket::parse(&UPDATE_MARIADB_10_11_19[..length]).is_err());
        }
    }
}
