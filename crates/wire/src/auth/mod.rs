//! Authentication plugins: how to answer a nonce. One file each.

mod caching_sha2_password;
mod client_ed25519;
mod conversation;
mod mysql_clear_password;
mod mysql_native_password;
mod parsec;
mod plugin;
mod public_key;
mod sha256_password;

pub use client_ed25519::ed25519_answer;
pub(crate) use conversation::{Conversation, Line};
pub use parsec::parsec_answer;
pub(crate) use plugin::Plugin;

use crate::WireError;

impl Plugin {
    /// The first answer to the server's nonce.
    pub(crate) fn answer(self, conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
        match self {
            Self::Native => mysql_native_password::answer(conversation),
            Self::CachingSha2 => caching_sha2_password::answer(conversation),
            Self::Ed25519 => client_ed25519::answer(conversation),
            Self::Clear => mysql_clear_password::answer(conversation),
            Self::Sha256 => sha256_password::answer(conversation),
            Self::Parsec => Ok(parsec::answer()),
        }
    }

    /// Whether a packet that starts with this byte is data of this plugin, without a byte before
    /// it that says so.
    pub(crate) fn sends_bare(self, first_byte: u8) -> bool {
        self == Self::Parsec && first_byte == parsec::PBKDF2
    }

    /// The answer to data after the first answer, if they need one.
    pub(crate) fn more_data(
        self,
        conversation: &Conversation<'_>,
        data: &[u8],
    ) -> Result<Option<Vec<u8>>, WireError> {
        match self {
            Self::CachingSha2 => caching_sha2_password::more_data(conversation, data),
            Self::Sha256 => sha256_password::more_data(conversation, data).map(Some),
            Self::Parsec => parsec::more_data(conversation, data).map(Some),
            Self::Native | Self::Ed25519 | Self::Clear => Err(WireError::UnexpectedPacket {
                expected: "the server's verdict",
                first_byte: 0x01,
            }),
        }
    }
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
        let expected = WireError::AuthNotSupported { plugin: "dialog".to_owned() };
        assert_eq!(Plugin::by_name(b"dialog"), Err(expected));
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
