//! Authentication plugins: what to answer to which nonce. One file each.

mod caching_sha2_password;
mod client_ed25519;
mod mysql_clear_password;
mod mysql_native_password;
mod public_key;
mod sha256_password;

use crate::said::{NAME, plain};
use crate::{LoginOptions, WireError};

/// What a plugin knows of the login it is used in.
pub(crate) struct Conversation<'a> {
    pub(crate) password: &'a [u8],
    /// Random bytes of the server.
    pub(crate) nonce: &'a [u8],
    pub(crate) line: Line,
    pub(crate) server_public_key: Option<&'a str>,
    pub(crate) allow_public_key_retrieval: bool,
    pub(crate) allow_clear_password: bool,
}

/// Who can read what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Whoever is on the way.
    Open,
    /// TLS with whoever answered: nothing proves which server that is.
    Unproven,
    /// TLS with the server that is meant.
    Proven,
    /// A unix socket without TLS: it does not leave the host.
    Socket,
}

impl Line {
    pub(crate) fn of(options: &LoginOptions, encrypted: bool) -> Self {
        match (encrypted, options.transport_secure) {
            (true, true) => Self::Proven,
            (true, false) if options.server_proven => Self::Proven,
            (true, false) => Self::Unproven,
            (false, true) => Self::Socket,
            (false, false) => Self::Open,
        }
    }
}

impl Conversation<'_> {
    /// The nonce as an array of the length that the plugin needs. A NUL may follow it, but it may
    /// also end with one.
    fn nonce<const N: usize>(&self, plugin: Plugin) -> Result<[u8; N], WireError> {
        match self.nonce.split_first_chunk::<N>() {
            Some((nonce, [] | [0])) => Ok(*nonce),
            _ => Err(WireError::BadNonce { plugin: plugin.name(), length: self.nonce.len() }),
        }
    }

    /// Why a plugin that asks for the password itself does not get it.
    fn withheld(&self, plugin: Plugin) -> WireError {
        let why = match self.line {
            Line::Unproven => "nothing proves whose certificate this is",
            Line::Open | Line::Proven | Line::Socket => "others could read it on this line",
        };
        WireError::PasswordWithheld { plugin: plugin.name(), why }
    }
}

/// The plugins that this crate can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// MySQL 4.1 to 8, and MariaDB's default.
    Native,
    /// The default since MySQL 8.
    CachingSha2,
    /// MariaDB's elliptic curves.
    Ed25519,
    /// The password as it is.
    Clear,
    /// MySQL 5.6 and 5.7.
    Sha256,
}

impl Plugin {
    const ALL: [Self; 5] =
        [Self::Native, Self::CachingSha2, Self::Ed25519, Self::Clear, Self::Sha256];

    pub(crate) fn by_name(name: &[u8]) -> Result<Self, WireError> {
        let known = Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name);
        known.ok_or_else(|| WireError::AuthNotSupported { plugin: plain(name, NAME) })
    }

    /// The plugin to begin with. Only those begin that give nothing away; for the others, and for
    /// those that are not known, the server asks by name.
    pub(crate) fn for_greeting(name: &[u8]) -> Self {
        match Self::by_name(name) {
            Ok(Self::CachingSha2) => Self::CachingSha2,
            _ => Self::Native,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
            Self::Sha256 => "sha256_password",
        }
    }

    /// The first answer to the server's nonce.
    pub(crate) fn answer(self, conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
        match self {
            Self::Native => mysql_native_password::answer(conversation),
            Self::CachingSha2 => caching_sha2_password::answer(conversation),
            Self::Ed25519 => client_ed25519::answer(conversation),
            Self::Clear => mysql_clear_password::answer(conversation),
            Self::Sha256 => sha256_password::answer(conversation),
        }
    }

    /// The answer to data that follow the first answer, if they need one.
    pub(crate) fn more_data(
        self,
        conversation: &Conversation<'_>,
        data: &[u8],
    ) -> Result<Option<Vec<u8>>, WireError> {
        match self {
            Self::CachingSha2 => caching_sha2_password::more_data(conversation, data),
            Self::Sha256 => sha256_password::more_data(conversation, data).map(Some),
            Self::Native | Self::Ed25519 | Self::Clear => Err(WireError::UnexpectedPacket {
                expected: "the server's verdict",
                first_byte: 0x01,
            }),
        }
    }
}

/// The bytes of both, each with the other's exclusive or.
fn xor<const N: usize>(mut left: [u8; N], right: [u8; N]) -> [u8; N] {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

/// The password as a `string<NUL>`.
fn with_nul(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A conversation that others could read, without any key.
    pub(crate) fn conversation<'a>(password: &'a [u8], nonce: &'a [u8]) -> Conversation<'a> {
        Conversation {
            password,
            nonce,
            line: Line::Open,
            server_public_key: None,
            allow_public_key_retrieval: false,
            allow_clear_password: false,
        }
    }

    #[test]
    fn a_plugin_that_is_not_known_is_named() {
        let expected = WireError::AuthNotSupported { plugin: "parsec".to_owned() };
        assert_eq!(Plugin::by_name(b"parsec"), Err(expected));
    }

    #[test]
    fn a_nonce_may_be_followed_by_a_nul_and_may_end_with_one() {
        let nonce = |nonce: &[u8]| conversation(b"secret", nonce).nonce::<2>(Plugin::Ed25519);
        assert_eq!(nonce(b"ab"), Ok(*b"ab"));
        assert_eq!(nonce(b"ab\0"), Ok(*b"ab"));
        assert_eq!(nonce(b"a\0"), Ok(*b"a\0"));
        for bad in [&b""[..], b"a", b"abc", b"ab\0\0"] {
            assert!(nonce(bad).is_err());
        }
    }

    #[test]
    fn a_greeting_never_makes_the_password_go_in_clear() {
        assert_eq!(Plugin::for_greeting(b"mysql_clear_password"), Plugin::Native);
        assert_eq!(Plugin::for_greeting(b"caching_sha2_password"), Plugin::CachingSha2);
        assert_eq!(Plugin::for_greeting(b""), Plugin::Native);
    }
}
