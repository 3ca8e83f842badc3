//! EOF_Packet, of servers and proxies that have not deprecated it.

use super::EOF;
use super::ok::OkPacket;
use crate::WireError;
use crate::cursor::Cursor;

/// A longer packet that starts with 0xfe is no EOF.
const LONGEST: usize = 8;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_eof_packet.html>
pub(super) fn parse_eof(payload: &[u8]) -> Result<OkPacket, WireError> {
    let mut cursor = Cursor::new(payload, "an EOF packet");
    let first_byte = cursor.u8()?; // int<1>, 0xfe
    if first_byte != EOF || payload.len() > LONGEST {
        return Err(WireError::UnexpectedPacket { expected: "an EOF packet", first_byte });
    }
    let warnings = cursor.u16()?; // int<2>
    let status = cursor.u16()?; // int<2>
    Ok(OkPacket { status, warnings, ..OkPacket::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eof_gives_status_and_warnings() {
        let expected = OkPacket { status: 0x22, warnings: 1, ..OkPacket::default() };
        assert_eq!(parse_eof(b"\xfe\x01\x00\x22\x00"), Ok(expected));
    }

    #[test]
    fn a_short_long_or_other_packet_is_no_eof() {
        for length in 0..5 {
            assert!(parse_eof(&b"\xfe\x01\x00\x22\x00"[..length]).is_err());
        }
        assert!(parse_eof(b"\xfe\x01\x00\x22\x00\x00\x00\x00\x00").is_err());
        assert!(parse_eof(b"\x00\x01\x00\x22\x00").is_err());
    }
}
