//! sha256_password: always the password itself, either within the TLS session of a server that
//! proved its identity, or encrypted with its RSA key.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_sha256_password_authentication.html>

use super::conversation::Conversation;
use super::plugin::Plugin;
use super::public_key::{self, Key};
use crate::WireError;

const REQUEST_PUBLIC_KEY: u8 = 1;

pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    if conversation.password.is_empty() {
        return Ok(vec![0]);
    }
    public_key::send_password(
        conversation,
        Key { plugin: Plugin::Sha256, request: REQUEST_PUBLIC_KEY },
    )
}

pub(super) fn more_data(
    conversation: &Conversation<'_>,
    data: &[u8],
) -> Result<Vec<u8>, WireError> {
    public_key::received(conversation, Plugin::Sha256, data)
}

#[cfg(test)]
mod tests {
    use super::super::Line;
    use super::super::tests::conversation;
    use super::*;

    #[test]
    fn the_password_needs_a_channel_or_a_key() {
        let mut conversation = conversation(b"secret", b"12345678901234567890");
        let needed = WireError::PublicKeyNeeded { plugin: "sha256_password" };
        assert_eq!(answer(&conversation), Err(needed));
        conversation.allow_public_key_retrieval = true;
        assert_eq!(answer(&conversation), Ok(vec![1]));
        conversation.line = Line::Socket; // MySQL asks for the key there too
        assert_eq!(answer(&conversation), Ok(vec![1]));
        conversation.line = Line::Proven;
        assert_eq!(answer(&conversation), Ok(b"secret\0".to_vec()));
        conversation.line = Line::Unproven;
        conversation.allow_public_key_retrieval = false;
        let withheld = answer(&conversation);
        assert!(matches!(withheld, Err(WireError::PasswordWithheld { .. })));
    }

    #[test]
    fn no_password_is_a_nul() {
        assert_eq!(answer(&conversation(b"", b"")), Ok(vec![0]));
    }
}
