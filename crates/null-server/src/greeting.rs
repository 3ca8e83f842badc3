//! The login's packets, on the server's side.

use crate::packet::put_packet;
use crate::settings::Settings;

const CONNECT_WITH_DB: u32 = 1 << 3;
const TLS: u32 = 1 << 11;
const PLUGIN_AUTH: u32 = 1 << 19;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;
/// LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB, IGNORE_SPACE, PROTOCOL_41, INTERACTIVE,
/// TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH,
/// CONNECT_ATTRS, PLUGIN_AUTH_LENENC and DEPRECATE_EOF. No local files, and TLS (CLIENT_SSL) only
/// with a certificate.
const OFFERED: u32 = 0x1
    | 0x2
    | 0x4
    | 0x8
    | 0x100
    | 0x200
    | 0x400
    | 0x2000
    | 0x8000
    | 0x1_0000
    | 0x2_0000
    | 0x4_0000
    | PLUGIN_AUTH
    | 0x10_0000
    | PLUGIN_AUTH_LENENC
    | DEPRECATE_EOF;
const UTF8MB4: u8 = 45;
const AUTOCOMMIT: u16 = 2;
const NONCE: usize = 20;
/// The bytes of a login before the user's name; a client that uses TLS first sends these alone.
const FIXED: usize = 32;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>
pub(crate) fn greeting(settings: &Settings, connection: u32, nonce: [u8; NONCE]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 0);
    let offered = OFFERED | if settings.tls.is_some() { TLS } else { 0 };
    put_packet(&mut out, &mut sequence, |out| {
        out.push(10); // int<1> protocol version
        out.extend_from_slice(settings.version().as_bytes()); // string<NUL>
        out.push(0);
        out.extend_from_slice(&connection.to_le_bytes()); // int<4>
        out.extend_from_slice(&nonce[..8]); // string[8]
        out.push(0); // int<1> filler
        out.extend_from_slice(&(offered as u16).to_le_bytes()); // int<2>
        out.push(UTF8MB4); // int<1>
        out.extend_from_slice(&AUTOCOMMIT.to_le_bytes()); // int<2>
        out.extend_from_slice(&((offered >> 16) as u16).to_le_bytes()); // int<2>
        out.push(NONCE as u8 + 1); // int<1>
        out.extend_from_slice(&[0; 10]); // string[10] reserved
        out.extend_from_slice(&nonce[8..]); // string[13], a NUL last
        out.push(0);
        out.extend_from_slice(settings.auth.name().as_bytes()); // string<NUL>
        out.push(0);
    });
    out
}

/// Whether a client asks for TLS before it logs in.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_ssl_request.html>
pub(crate) fn wants_tls(payload: &[u8]) -> bool {
    let capabilities = payload.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    payload.len() == FIXED && capabilities & TLS != 0
}

/// The parts of a client's login that affect its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) deprecate_eof: bool,
    /// It uses caching_sha2_password.
    pub(crate) caching_sha2: bool,
    /// It sent no password at all.
    pub(crate) no_password: bool,
}

/// Parses the login; `None`: it is invalid.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html>
pub(crate) fn wishes(payload: &[u8]) -> Option<Wishes> {
    let capabilities = u32::from_le_bytes(*payload.first_chunk()?) & OFFERED; // int<4>
    let rest = payload.get(FIXED..)?; // int<4> longest packet, int<1> character set, string[23]
    let (_user, rest) = until_nul(rest)?; // string<NUL>
    // string<lenenc>; an answer is always short enough for a length of one byte.
    let (&length, rest) = rest.split_first()?;
    let (answer, mut rest) = rest.split_at_checked(usize::from(length))?;
    if capabilities & CONNECT_WITH_DB != 0 {
        rest = until_nul(rest)?.1; // string<NUL>
    }
    let plugin = match capabilities & PLUGIN_AUTH {
        0 => &[],
        _ => rest.split(|&byte| byte == 0).next().unwrap_or_default(), // string<NUL>
    };
    Some(Wishes {
        deprecate_eof: capabilities & DEPRECATE_EOF != 0,
        caching_sha2: plugin == b"caching_sha2_password",
        no_password: answer.is_empty(),
    })
}

fn until_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_wire::{Login, LoginOptions, LoginProgress, TlsWish};
    use std::sync::Arc;

    fn login(options: LoginOptions, settings: &Settings) -> Wishes {
        let mut login = Login::new(Arc::new(options));
        let mut out = Vec::new();
        let fed = login.feed(&greeting(settings, 7, [b'n'; NONCE]), &mut out).unwrap();
        assert_eq!(fed.1, LoginProgress::NeedBytes);
        wishes(&out[4..]).unwrap()
    }

    #[test]
    fn the_wire_crates_login_is_understood() {
        for database in [None, Some("sbtest".to_owned())] {
            let options =
                LoginOptions { database, password: "p".into(), ..LoginOptions::default() };
            let wishes = login(options, &Settings::default());
            assert!(wishes.deprecate_eof && !wishes.caching_sha2 && !wishes.no_password);
        }
    }

    #[test]
    fn an_account_of_mysql_8_is_recognised_and_so_is_no_password() {
        let settings = Settings {
            auth: crate::Auth::CachingSha2Password,
            version: Some("8.4.0".into()),
            ..Settings::default()
        };
        let wishes = login(LoginOptions::default(), &settings);
        assert!(wishes.caching_sha2 && wishes.no_password);
    }

    #[test]
    fn tls_is_offered_where_there_is_a_certificate_and_a_wish_for_it_is_understood() {
        let files = crate::TlsFiles { cert: "c.pem".into(), key: "k.pem".into() };
        let settings = Settings { tls: Some(files), ..Settings::default() };
        let options = LoginOptions { tls: TlsWish::Must, ..LoginOptions::default() };
        let mut login = Login::new(Arc::new(options));
        let mut out = Vec::new();
        let fed = login.feed(&greeting(&settings, 7, [b'n'; NONCE]), &mut out).unwrap();
        assert_eq!(fed.1, LoginProgress::StartTls);
        assert!(wants_tls(&out[4..]));
        assert!(login.feed(&greeting(&Settings::default(), 7, [b'n'; NONCE]), &mut out).is_err());
        assert!(!wants_tls(&[0; FIXED]) && !wants_tls(&[0xff; FIXED + 1]) && !wants_tls(&[]));
    }

    #[test]
    fn half_a_login_is_none() {
        assert_eq!(wishes(&[0; 10]), None);
        assert_eq!(wishes(&[0xff; 40]), None);
    }
}
