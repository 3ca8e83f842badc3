//! NegotiateProtocolVersion: the server speaks an older minor version, or lacks an option.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-NEGOTIATEPROTOCOLVERSION>

use loadstone_protocol::sanitize::{NAME, plain};

use crate::WireError;
use crate::cursor::Cursor;

const MAJOR: u16 = 3;

/// The minor version to go on with, which is at most `asked`.
pub(super) fn negotiated(body: &[u8], asked: u16) -> Result<u16, WireError> {
    let mut cursor = Cursor::new(body, "the negotiation of a version");
    // Documented as the minor version; servers send both, the major one in the upper half.
    let version = cursor.u32()?; // Int32
    let (major, minor) = match ((version >> 16) as u16, version as u16) {
        (0, minor) => (MAJOR, minor),
        both => both,
    };
    if major != MAJOR || minor > asked {
        return Err(WireError::OtherVersion { major, minor });
    }
    if cursor.u32()? > 0 {
        return Err(WireError::UnknownOption { name: plain(cursor.string()?, NAME) });
    }
    Ok(minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_be_older_and_never_newer_than_asked() {
        for (version, asked, expected) in [
            (0x3_0000_u32, 2, Some(0)),
            (0x3_0002, 2, Some(2)),
            (0, 2, Some(0)),
            (0x3_0002, 0, None),
            (0x2_0000, 2, None),
            (0x4_0000, 2, None),
            (9, 2, None),
        ] {
            let body = [version.to_be_bytes(), [0; 4]].concat();
            assert_eq!(negotiated(&body, asked).ok(), expected, "{version:#x}");
        }
    }

    #[test]
    fn an_option_that_a_server_does_not_know_is_named() {
        let body = b"\0\x03\0\0\0\0\0\x01_pq_.feature\0";
        let name = "_pq_.feature".to_owned();
        assert_eq!(negotiated(body, 0), Err(WireError::UnknownOption { name }));
        assert!(negotiated(b"\0\x03\0\0\0\0\0\x01_pq_", 0).is_err());
    }
}
