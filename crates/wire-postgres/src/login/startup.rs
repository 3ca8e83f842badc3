//! What a client says first: a request for TLS, or who it is.

use super::options::LoginOptions;
use crate::frame::{put_string, write_first_message};

const SSL_REQUEST: u32 = 80_877_103;
const MAJOR: u16 = 3;

/// Appends an SSLRequest.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SSLREQUEST>
pub(super) fn write_ssl_request(out: &mut Vec<u8>) {
    write_first_message(out, |out| out.extend_from_slice(&SSL_REQUEST.to_be_bytes()));
}

/// Appends a StartupMessage.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-STARTUPMESSAGE>
pub(super) fn write_startup(out: &mut Vec<u8>, options: &LoginOptions) {
    write_first_message(out, |out| {
        let version = u32::from(MAJOR) << 16 | u32::from(options.version.minor());
        out.extend_from_slice(&version.to_be_bytes()); // Int32
        put_pair(out, "user", &options.user);
        if let Some(database) = &options.database {
            put_pair(out, "database", database);
        }
        for (name, value) in &options.parameters {
            put_pair(out, name, value);
        }
        out.push(0);
    });
}

fn put_pair(out: &mut Vec<u8>, name: &str, value: &str) {
    put_string(out, name.as_bytes()); // String
    put_string(out, value.as_bytes()); // String
}

#[cfg(test)]
mod tests {
    use super::super::options::ProtocolVersion;
    use super::*;

    #[test]
    fn the_request_for_tls_is_its_number() {
        let mut out = Vec::new();
        write_ssl_request(&mut out);
        assert_eq!(out, [0, 0, 0, 8, 4, 210, 22, 47]);
    }

    #[test]
    fn a_startup_message_has_the_version_and_pairs() {
        let options = LoginOptions {
            user: "bench".to_owned(),
            database: Some("shop".to_owned()),
            parameters: vec![("client_encoding".to_owned(), "UTF8".to_owned())],
            ..LoginOptions::default()
        };
        let mut out = Vec::new();
        write_startup(&mut out, &options);
        let expected =
            b"\0\0\0\x37\0\x03\0\0user\0bench\0database\0shop\0client_encoding\0UTF8\0\0";
        assert_eq!(out, expected);
        out.clear();
        write_startup(&mut out, &LoginOptions { version: ProtocolVersion::V3_2, ..options });
        assert_eq!(out[4..8], [0, 3, 0, 2]);
    }
}
