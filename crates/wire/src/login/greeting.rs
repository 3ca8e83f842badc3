//! Protocol::HandshakeV10, the server's greeting.

use loadstone_protocol::sanitize::{NAME, plain};

use crate::cursor::Cursor;
use crate::reply::{ERR, parse_error};
use crate::{Capabilities, WireError};

const PROTOCOL_VERSION: u8 = 10;
const NONCE: usize = 20;
/// Older MariaDB servers put this in front, for replicas that take the first digit for the
/// protocol's age.
const MARIADB_PREFIX: &str = "5.5.5-";

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) server_version: String,
    pub(super) connection_id: u32,
    pub(super) capabilities: Capabilities,
    pub(super) mariadb: bool,
    pub(super) nonce: [u8; NONCE],
    pub(super) plugin: Vec<u8>,
}

impl Greeting {
    /// Parses the greeting, or the error that a full or blocking server sends instead.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload, "the server's greeting");
        match cursor.u8()? {
            PROTOCOL_VERSION => {} // int<1>
            ERR => return Err(WireError::Server(parse_error(payload)?)),
            1..PROTOCOL_VERSION => {
                let version = text(cursor.until_nul_or_end());
                return Err(WireError::OldServer { version, lacks: "protocol version 10" });
            }
            first_byte => {
                let expected = "the server's greeting";
                return Err(WireError::UnexpectedPacket { expected, first_byte });
            }
        }
        let version = text(cursor.until_nul()?); // string<NUL>
        let connection_id = cursor.u32()?; // int<4>
        let nonce_start: [u8; 8] = cursor.array()?; // string[8]
        cursor.u8()?; // int<1> filler
        let low = cursor.u16()?; // int<2> capabilities, lower half
        if cursor.is_empty() {
            return Err(WireError::OldServer { version, lacks: "the 4.1 protocol" });
        }
        cursor.u8()?; // int<1> character set
        cursor.u16()?; // int<2> status
        let high = cursor.u16()?; // int<2> capabilities, upper half
        let capabilities = Capabilities::from_bits(u64::from(high) << 16 | u64::from(low));
        require_modern(&version, capabilities)?;
        let mariadb = is_mariadb(&version);
        let nonce_length = usize::from(cursor.u8()?); // int<1>, 0 without PLUGIN_AUTH
        cursor.take(6)?; // string[6] reserved
        let own = cursor.u32()?; // int<4> MariaDB's own capabilities, elsewhere reserved
        // string[max(13, length - 8)]
        let nonce_end = cursor.take(nonce_length.saturating_sub(8).max(13))?;
        let plugin = match capabilities.contains(Capabilities::PLUGIN_AUTH) {
            true => cursor.until_nul_or_end().to_vec(), // string<NUL>
            false => Vec::new(),
        };
        Ok(Self {
            server_version: without_prefix(version, mariadb),
            connection_id,
            capabilities: with_own(capabilities, own, mariadb),
            mariadb,
            nonce: join_nonce(nonce_start, nonce_end),
            plugin,
        })
    }
}

/// MariaDB's own count if the flag is clear that all of MySQL's servers set.
fn with_own(capabilities: Capabilities, own: u32, mariadb: bool) -> Capabilities {
    if !mariadb || capabilities.contains(Capabilities::LONG_PASSWORD) {
        return capabilities;
    }
    capabilities | Capabilities::from_bits(u64::from(own) << 32)
}

fn text(bytes: &[u8]) -> String {
    plain(bytes, NAME)
}

fn require_modern(version: &str, capabilities: Capabilities) -> Result<(), WireError> {
    let needed = [
        (Capabilities::PROTOCOL_41, "the 4.1 protocol"),
        (Capabilities::SECURE_CONNECTION, "the 4.1 authentication"),
    ];
    match needed.iter().find(|(capability, _)| !capabilities.contains(*capability)) {
        Some(&(_, lacks)) => Err(WireError::OldServer { version: version.to_owned(), lacks }),
        None => Ok(()),
    }
}

fn is_mariadb(version: &str) -> bool {
    version.to_ascii_lowercase().contains("mariadb")
}

fn without_prefix(version: String, mariadb: bool) -> String {
    match version.strip_prefix(MARIADB_PREFIX) {
        Some(rest) if mariadb => rest.to_owned(),
        _ => version,
    }
}

/// Twelve bytes of the second part belong to the nonce; the thirteenth is a NUL.
fn join_nonce(start: [u8; 8], end: &[u8]) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    for (place, &byte) in nonce.iter_mut().zip(start.iter().chain(end)) {
        *place = byte;
    }
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_code;

    const MARIADB_10_11_19: &[u8] = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0K#jmd0]h\0\
        \xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0mysql_native_password\0";
    const MYSQL_9_7_4: &[u8] = b"\x0a9.7.4-2\0\x09\0\0\0S\x12:V>NK\x13\0\xff\xff\xff\x02\0\
        \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\x1cm\x0a\x05\x05v\x19#T<\\]\0caching_sha2_password\0";

    #[test]
    fn the_greeting_of_mariadb_10_11_is_read() {
        let greeting = Greeting::parse(MARIADB_10_11_19).unwrap();
        assert_eq!(greeting.server_version, "10.11.19-MariaDB-0+deb12u1");
        assert!(greeting.mariadb);
        assert_eq!(greeting.connection_id, 5);
        assert_eq!(greeting.capabilities, Capabilities::from_bits(0x1d_81ff_f7fe));
        assert_eq!(&greeting.nonce, b"K#jmd0]how)c:5=o:pHW");
        assert_eq!(greeting.plugin, b"mysql_native_password");
    }

    #[test]
    fn what_another_server_has_in_mariadbs_place_is_no_capability() {
        let own = |greeting: &[u8]| Greeting::parse(greeting).unwrap().capabilities.halves().1;
        let place = MARIADB_10_11_19.iter().position(|&byte| byte == 0x1d).unwrap();
        assert_eq!(own(MARIADB_10_11_19), 0x1d);
        let mut knows_none = MARIADB_10_11_19.to_vec();
        knows_none[place - 14] |= 1;
        assert_eq!(own(&knows_none), 0);
        let name = MARIADB_10_11_19.windows(7).position(|part| part == b"MariaDB").unwrap();
        let mut another = MARIADB_10_11_19.to_vec();
        another[name..name + 7].copy_from_slice(b"Another");
        assert_eq!(own(&another), 0);
    }

    #[test]
    fn the_greeting_of_mysql_9_7_is_read() {
        let greeting = Greeting::parse(MYSQL_9_7_4).unwrap();
        assert_eq!(greeting.server_version, "9.7.4-2");
        assert!(!greeting.mariadb);
        assert_eq!(greeting.connection_id, 9);
        assert_eq!(&greeting.nonce, b"S\x12:V>NK\x13\x1cm\x0a\x05\x05v\x19#T<\\]");
        assert_eq!(greeting.plugin, b"caching_sha2_password");
    }

    #[test]
    fn a_truncated_greeting_is_an_error() {
        for whole in [MARIADB_10_11_19, MYSQL_9_7_4] {
            // The plugin's name may lack its end: some servers omitted its NUL.
            let needed = whole.len() - "mysql_native_password\0".len();
            for length in 0..needed {
                assert!(Greeting::parse(&whole[..length]).is_err(), "at {length}");
            }
        }
    }

    #[test]
    fn an_error_in_its_place_is_the_servers() {
        let full = Greeting::parse(b"\xff\x10\x04Too many connections");
        assert!(matches!(full, Err(WireError::Server(error)) if error.code == error_code(1040)));
        let blocked = Greeting::parse(b"\xff\x69\x04Host '10.0.0.1' is blocked");
        assert!(matches!(blocked, Err(WireError::Server(error)) if error.code == error_code(1129)));
    }

    #[test]
    fn old_servers_are_named() {
        let ancient = Greeting::parse(b"\x093.22.32\0");
        assert!(
            matches!(ancient, Err(WireError::OldServer { version, .. }) if version == "3.22.32")
        );
        let mut no_41 = MARIADB_10_11_19.to_vec();
        let low_half = no_41.iter().position(|&byte| byte == 0xf7).unwrap();
        no_41[low_half] &= !0x02;
        assert!(matches!(Greeting::parse(&no_41), Err(WireError::OldServer { .. })));
        assert!(matches!(
            Greeting::parse(b"HTTP/1.1 200 OK"),
            Err(WireError::UnexpectedPacket { first_byte: b'H', .. })
        ));
    }

    #[test]
    fn a_prefix_of_another_server_is_its_version() {
        assert!(!is_mariadb("5.5.5-log"));
        assert_eq!(without_prefix("5.5.5-log".to_owned(), false), "5.5.5-log");
    }
}
