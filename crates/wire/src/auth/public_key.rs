//! A password that only the server may read: plain within TLS or this host, otherwise encrypted
//! with the server's RSA key. Within TLS, servers accept only the plain password.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;

use super::conversation::{Conversation, Line, with_nul};
use super::plugin::Plugin;
use crate::WireError;

/// Bytes of the nonce that hides the password.
const NONCE: usize = 20;
/// The bytes that OAEP with SHA-1 adds to a message.
const OAEP_OVERHEAD: usize = 42;

/// How a plugin asks for the server's key.
pub(super) struct Key {
    pub(super) plugin: Plugin,
    pub(super) request: u8,
}

/// The password, or the request for the key that it needs.
pub(super) fn send_password(
    conversation: &Conversation<'_>,
    key: Key,
) -> Result<Vec<u8>, WireError> {
    if !takes_key(conversation.line, key.plugin) {
        return as_it_is(conversation, key.plugin);
    }
    match conversation.server_public_key {
        Some(pem) => encrypt_password(conversation, key.plugin, pem.as_bytes()),
        None if conversation.allow_public_key_retrieval => Ok(vec![key.request]),
        None => Err(WireError::PublicKeyNeeded { plugin: key.plugin.name() }),
    }
}

/// Whether this plugin needs the password encrypted with a key. The older one does so on a unix
/// socket, too.
fn takes_key(line: Line, plugin: Plugin) -> bool {
    match line {
        Line::Open => true,
        Line::Socket => plugin == Plugin::Sha256,
        Line::Unproven | Line::Proven => false,
    }
}

/// If the server's own key would be accepted from the other end, the other end is also trusted to
/// be the server.
fn as_it_is(conversation: &Conversation<'_>, plugin: Plugin) -> Result<Vec<u8>, WireError> {
    let may = conversation.line != Line::Unproven
        || conversation.allow_public_key_retrieval
        || conversation.allow_clear_password;
    if may { Ok(with_nul(conversation.password)) } else { Err(conversation.withheld(plugin)) }
}

/// The server sent its key. It is only accepted if it was requested.
pub(super) fn received(
    conversation: &Conversation<'_>,
    plugin: Plugin,
    pem: &[u8],
) -> Result<Vec<u8>, WireError> {
    let asked = takes_key(conversation.line, plugin)
        && conversation.server_public_key.is_none()
        && conversation.allow_public_key_retrieval;
    if !asked {
        return Err(WireError::PublicKeyNeeded { plugin: plugin.name() });
    }
    encrypt_password(conversation, plugin, pem)
}

/// The password with its NUL, XORed with the repeated nonce, encrypted with OAEP (SHA-1).
fn encrypt_password(
    conversation: &Conversation<'_>,
    plugin: Plugin,
    pem: &[u8],
) -> Result<Vec<u8>, WireError> {
    let nonce: [u8; NONCE] = conversation.nonce(plugin)?;
    let key = parse_key(pem)?;
    let mut hidden = with_nul(conversation.password);
    for (byte, mask) in hidden.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    if hidden.len() + OAEP_OVERHEAD > key.key_size_bytes() {
        return Err(WireError::BadPublicKey { reason: "it is too short for the password" });
    }
    let mut encrypted = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, &hidden, &mut encrypted, None)
        .map_err(|_| WireError::BadPublicKey { reason: "it does not encrypt" })?;
    Ok(encrypted)
}

fn parse_key(pem: &[u8]) -> Result<OaepPublicEncryptingKey, WireError> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem)
        .map_err(|_| WireError::BadPublicKey { reason: "it is no PEM of a public key" })?;
    PublicEncryptingKey::from_der(&der)
        .map_err(|_| WireError::BadPublicKey { reason: "it is no RSA key of 2048 to 8192 bits" })
        .and_then(|key| {
            OaepPublicEncryptingKey::new(key)
                .map_err(|_| WireError::BadPublicKey { reason: "it is no key for encryption" })
        })
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::tests::conversation;
    use super::*;

    const NONCE_BYTES: &[u8] = b"12345678901234567890";

    fn key_pair() -> (OaepPrivateDecryptingKey, String) {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der = private.public_key().as_der().unwrap();
        let text = STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n");
        (OaepPrivateDecryptingKey::new(private).unwrap(), pem)
    }

    fn opened(key: &OaepPrivateDecryptingKey, encrypted: &[u8]) -> Vec<u8> {
        let mut room = vec![0; key.min_output_size()];
        let hidden = key.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None).unwrap();
        hidden.iter().zip(NONCE_BYTES.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
    }

    #[test]
    fn the_server_can_open_what_is_sent_under_its_key() {
        let (private, pem) = key_pair();
        let key = || Key { plugin: Plugin::CachingSha2, request: 2 };
        let password = b"a password that is longer than the nonce";
        let mut given = conversation(password, NONCE_BYTES);
        given.server_public_key = Some(&pem);
        let sent = send_password(&given, key()).unwrap();
        assert_eq!(opened(&private, &sent), with_nul(password));

        let mut asking = conversation(password, NONCE_BYTES);
        asking.allow_public_key_retrieval = true;
        assert_eq!(send_password(&asking, key()), Ok(vec![2]));
        let sent = received(&asking, Plugin::CachingSha2, pem.as_bytes()).unwrap();
        assert_eq!(opened(&private, &sent), with_nul(password));
    }

    #[test]
    fn a_password_that_does_not_fit_is_said() {
        let (_, pem) = key_pair();
        let fits = [b'x'; 256 - OAEP_OVERHEAD - 1];
        for (password, works) in [(&fits[..], true), (&[b'x'; 256 - OAEP_OVERHEAD][..], false)] {
            let mut conversation = conversation(password, NONCE_BYTES);
            conversation.server_public_key = Some(&pem);
            let key = Key { plugin: Plugin::Sha256, request: 1 };
            assert_eq!(send_password(&conversation, key).is_ok(), works);
        }
    }

    #[test]
    fn a_key_that_was_not_asked_for_is_refused() {
        let (_, pem) = key_pair();
        let conversation = conversation(b"secret", NONCE_BYTES);
        let result = received(&conversation, Plugin::CachingSha2, pem.as_bytes());
        assert!(matches!(result, Err(WireError::PublicKeyNeeded { .. })));
    }

    #[test]
    fn what_is_no_key_is_said() {
        for pem in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            let mut conversation = conversation(b"secret", NONCE_BYTES);
            conversation.server_public_key = Some(pem);
            let key = Key { plugin: Plugin::Sha256, request: 1 };
            assert!(matches!(
                send_password(&conversation, key),
                Err(WireError::BadPublicKey { .. })
            ));
        }
    }
}
