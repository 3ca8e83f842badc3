//! The options of a login: account, password, TLS and what the session starts with.

use std::fmt;

use crate::WireError;
use crate::auth::{ChannelBinding, KeyCache};

/// Whether to switch to TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// Never use TLS.
    Never,
    /// Use TLS if the server supports it.
    #[default]
    IfOffered,
    /// Use TLS, or fail.
    Must,
    /// Start with the handshake, without asking first; servers take that since PostgreSQL 17. It
    /// must name [`ALPN`](crate::ALPN), and there is no way back to a connection in clear.
    Direct,
}

/// The version of the protocol to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolVersion {
    /// 3.0, which every server since PostgreSQL 7.4 speaks.
    #[default]
    V3_0,
    /// 3.2, with longer cancel keys, if the server speaks it (PostgreSQL 18), else 3.0. Some
    /// poolers and proxies end a connection that asks for it.
    V3_2,
}

impl ProtocolVersion {
    /// The number after the point.
    pub(super) fn minor(self) -> u16 {
        match self {
            Self::V3_0 => 0,
            Self::V3_2 => 2,
        }
    }
}

/// The account and the options of its login. Shared by all connections of a target.
#[derive(Clone, Default)]
pub struct LoginOptions {
    /// The account's name.
    pub user: String,
    /// The account's password; empty for none. Never shown by `Debug`.
    pub password: Vec<u8>,
    /// The database; the server takes the user's name if there is none.
    pub database: Option<String>,
    /// Whether to switch to TLS.
    pub tls: TlsWish,
    /// The version of the protocol.
    pub version: ProtocolVersion,
    /// Nobody can eavesdrop on this transport (a unix socket): passwords may be sent in plaintext.
    pub transport_secure: bool,
    /// TLS, if used, proves the server's identity, by a certificate authority or a given
    /// fingerprint; otherwise the handshake fails.
    pub server_proven: bool,
    /// Whether the login is bound to the TLS session.
    pub channel_binding: ChannelBinding,
    /// Send the password itself, if a server asks for it, to any server at the other end of TLS.
    pub allow_clear_password: bool,
    /// Names and values of settings that the session starts with, such as `application_name` and
    /// `client_encoding`.
    pub parameters: Vec<(String, String)>,
    /// Keeps what is expensive to derive from the password, for all connections.
    pub key_cache: KeyCache,
}

impl LoginOptions {
    /// A NUL inside would end a field early and turn the rest into another field; an empty name
    /// would end the message.
    pub(super) fn check(&self) -> Result<(), WireError> {
        let texts = [("user", Some(self.user.as_str())), ("database", self.database.as_deref())];
        let names = self.parameters.iter().map(|(name, _)| ("name of a parameter", name.as_str()));
        let mut filled = texts
            .into_iter()
            .filter_map(|(field, text)| text.map(|text| (field, text)))
            .chain(names);
        if let Some((field, _)) = filled.find(|(_, text)| text.is_empty() || text.contains('\0')) {
            return Err(WireError::UnsendableText { field });
        }
        if self.parameters.iter().any(|(_, value)| value.contains('\0')) {
            return Err(WireError::UnsendableText { field: "value of a parameter" });
        }
        if self.password.contains(&0) {
            return Err(WireError::UnsendableText { field: "password" });
        }
        Ok(())
    }
}

impl fmt::Debug for LoginOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginOptions")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .field("version", &self.version)
            .field("transport_secure", &self.transport_secure)
            .field("server_proven", &self.server_proven)
            .field("channel_binding", &self.channel_binding)
            .field("allow_clear_password", &self.allow_clear_password)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_the_password() {
        let options = LoginOptions { password: b"hunter2".to_vec(), ..LoginOptions::default() };
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter2") && !shown.contains(" password"));
        assert!(!shown.contains(&format!("{:?}", b"hunter2")));
    }

    #[test]
    fn texts_that_would_become_other_fields_are_refused() {
        let good = LoginOptions { user: "bench".to_owned(), ..LoginOptions::default() };
        assert_eq!(good.check(), Ok(()));
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let bad = [
            LoginOptions::default(),
            LoginOptions { user: "a\0b".to_owned(), ..good.clone() },
            LoginOptions { database: Some(String::new()), ..good.clone() },
            LoginOptions { database: Some("a\0replication\0true".to_owned()), ..good.clone() },
            LoginOptions { parameters: pair("", "x"), ..good.clone() },
            LoginOptions { parameters: pair("a\0b", "x"), ..good.clone() },
            LoginOptions { parameters: pair("a", "x\0b"), ..good.clone() },
            LoginOptions { password: b"a\0b".to_vec(), ..good.clone() },
        ];
        for options in bad {
            let refused = options.check();
            assert!(matches!(refused, Err(WireError::UnsendableText { .. })), "{options:?}");
        }
        assert_eq!(LoginOptions { parameters: pair("options", ""), ..good }.check(), Ok(()));
    }
}
