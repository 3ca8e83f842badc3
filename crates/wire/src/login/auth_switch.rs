//! Protocol::AuthSwitchRequest: the account uses another plugin.

use crate::WireError;
use crate::cursor::Cursor;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_switch_request.html>
pub(super) struct AuthSwitch<'a> {
    pub(super) plugin: &'a [u8],
    /// As received: with a NUL at its end or, for client_ed25519, without one.
    pub(super) nonce: &'a [u8],
}

impl<'a> AuthSwitch<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload, "the request for another authentication");
        cursor.u8()?; // int<1>, 0xfe
        if cursor.is_empty() {
            // A lone 0xfe asks for the hash from before 4.1.
            return Ok(Self { plugin: b"mysql_old_password", nonce: &[] });
        }
        let plugin = cursor.until_nul_or_end(); // string<NUL>
        let nonce = cursor.rest(); // string<EOF>
        Ok(Self { plugin, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mysqld 9.7.4, to a client that started with mysql_native_password.
    const SWITCH_MYSQL_9_7_4: &[u8] =
        b"\xfecaching_sha2_password\0S\x12:V>NK\x13\x1cm\x0a\x05\x05v\x19#T<\\]\0";

    #[test]
    fn a_switch_of_mysql_9_7_is_read() {
        let switch = AuthSwitch::parse(SWITCH_MYSQL_9_7_4).unwrap();
        assert_eq!(switch.plugin, b"caching_sha2_password");
        assert_eq!(switch.nonce.len(), 21);
    }

    #[test]
    fn a_lone_marker_means_the_oldest_method() {
        assert_eq!(AuthSwitch::parse(b"\xfe").unwrap().plugin, b"mysql_old_password");
        assert!(AuthSwitch::parse(b"").is_err());
    }
}
