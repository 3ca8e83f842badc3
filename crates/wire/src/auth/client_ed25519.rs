//! client_ed25519: MariaDB's nonce, signed with the key derived from the password's hash.
//!
//! MariaDB takes SHA-512 of the password where Ed25519 takes SHA-512 of a secret key, so the
//! password acts as the key. It can have any length, and the expanded key is therefore built by
//! hand.
//!
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection#client_ed25519-plugin>

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha2::{Digest, Sha512};

use super::conversation::Conversation;
use super::plugin::Plugin;
use crate::WireError;

const NONCE: usize = 32;
const SIGNATURE: usize = 64;

pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    if conversation.password.is_empty() {
        return Ok(Vec::new());
    }
    let nonce = conversation.nonce(Plugin::Ed25519)?;
    Ok(ed25519_answer(conversation.password, &nonce).to_vec())
}

/// The answer to a nonce of `client_ed25519`: its signature under the password's key.
pub fn ed25519_answer(password: &[u8], nonce: &[u8; NONCE]) -> [u8; SIGNATURE] {
    let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key)).to_bytes()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use ed25519_dalek::Signature;

    use super::super::tests::conversation;
    use super::*;

    /// `mysql.user.authentication_string` of an account created with `USING PASSWORD('secret')`.
    const STORED_MARIADB_10_11_19: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";

    #[test]
    fn the_answer_is_a_signature_of_the_nonce_under_the_stored_key() {
        let nonce = [7; NONCE];
        let answer = answer(&conversation(b"secret", &nonce)).unwrap();
        let expanded = ExpandedSecretKey::from_bytes(&Sha512::digest(b"secret").into());
        let key = VerifyingKey::from(&expanded);
        assert_eq!(STANDARD_NO_PAD.encode(key.to_bytes()), STORED_MARIADB_10_11_19);
        let signature = Signature::from_slice(&answer).unwrap();
        assert!(key.verify_strict(&nonce, &signature).is_ok());
    }

    #[test]
    fn no_password_is_an_empty_answer_and_a_short_nonce_an_error() {
        assert_eq!(answer(&conversation(b"", b"")), Ok(Vec::new()));
        assert!(answer(&conversation(b"secret", b"short")).is_err());
    }
}
