//! The Authentication messages of the server.

use loadstone_protocol::sanitize::{NAME, plain};

use crate::WireError;
use crate::cursor::Cursor;

/// What the server wants, or that it is content.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-AUTHENTICATIONOK>
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    Ok,
    ClearText,
    Md5 {
        salt: [u8; 4],
    },
    /// Names of mechanisms, each after the other with a NUL behind it, and a NUL at the end.
    Sasl {
        mechanisms: &'a [u8],
    },
    SaslContinue {
        data: &'a [u8],
    },
    SaslFinal {
        data: &'a [u8],
    },
}

impl<'a> Request<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(body, "an authentication request");
        Ok(match cursor.i32()? {
            0 => Self::Ok,
            3 => Self::ClearText,
            5 => Self::Md5 { salt: cursor.array()? },
            10 => Self::Sasl { mechanisms: cursor.rest() },
            11 => Self::SaslContinue { data: cursor.rest() },
            12 => Self::SaslFinal { data: cursor.rest() },
            other => return Err(not_supported(other)),
        })
    }

    /// For the error that says what came at the wrong time.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ok => "the end of the authentication",
            Self::ClearText | Self::Md5 { .. } => "a request for a password",
            Self::Sasl { .. } | Self::SaslContinue { .. } | Self::SaslFinal { .. } => "SASL",
        }
    }
}

fn not_supported(number: i32) -> WireError {
    let method = match number {
        2 => "Kerberos V5".to_owned(),
        6 => "SCM credentials".to_owned(),
        7 | 8 => "GSSAPI".to_owned(),
        9 => "SSPI".to_owned(),
        _ => format!("number {number}"),
    };
    WireError::AuthNotSupported { method }
}

/// The mechanisms that a server offers and this client does not know.
pub(super) fn no_known_mechanism(mechanisms: &[u8]) -> WireError {
    let names = mechanisms.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let names: Vec<&[u8]> = names.collect();
    WireError::AuthNotSupported { method: plain(&names.join(b", ".as_slice()), NAME) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_read() {
        let cases: [(&[u8], Request<'_>); 6] = [
            (b"\0\0\0\0", Request::Ok),
            (b"\0\0\0\x03", Request::ClearText),
            (b"\0\0\0\x05abcd", Request::Md5 { salt: *b"abcd" }),
            (b"\0\0\0\x0aSCRAM-SHA-256\0\0", Request::Sasl { mechanisms: b"SCRAM-SHA-256\0\0" }),
            (b"\0\0\0\x0br=", Request::SaslContinue { data: b"r=" }),
            (b"\0\0\0\x0cv=", Request::SaslFinal { data: b"v=" }),
        ];
        for (body, expected) in cases {
            assert_eq!(Request::parse(body), Ok(expected));
        }
        assert!(Request::parse(b"\0\0\0").is_err() && Request::parse(b"\0\0\0\x05abc").is_err());
    }

    #[test]
    fn a_method_that_is_not_known_is_named() {
        for (body, name) in [
            (b"\0\0\0\x07", "GSSAPI"),
            (b"\0\0\0\x09", "SSPI"),
            (b"\0\0\0\x02", "Kerberos V5"),
            (b"\0\0\0\x63", "number 99"),
        ] {
            let expected = WireError::AuthNotSupported { method: name.to_owned() };
            assert_eq!(Request::parse(body), Err(expected));
        }
        let unknown = no_known_mechanism(b"OAUTHBEARER\0SCRAM-\x1b[2J\0\0");
        let expected = "OAUTHBEARER, SCRAM-\u{fffd}[2J".to_owned();
        assert_eq!(unknown, WireError::AuthNotSupported { method: expected });
    }
}
