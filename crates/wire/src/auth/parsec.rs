//! parsec: the nonces of both sides, signed with the key that the salted password is. MariaDB 11.6
//! and newer.
//!
//! An empty answer asks the server for the salt; the server sends it as a packet of its own, without
//! the byte that starts such a packet elsewhere.
//!
//! <https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-parsec>

use std::cell::RefCell;
use std::num::NonZeroU32;

use aws_lc_rs::{pbkdf2, rand};
use ed25519_dalek::{Signer, SigningKey};

use super::conversation::Conversation;
use super::plugin::Plugin;
use crate::WireError;

/// The first byte of a salt: its key is derived by PBKDF2 with SHA-512.
pub(crate) const PBKDF2: u8 = b'P';

const NONCE: usize = 32;
const SIGNATURE: usize = 64;
const LEAST_ITERATIONS: NonZeroU32 = NonZeroU32::new(1024).expect("not zero");
const TWO: NonZeroU32 = NonZeroU32::new(2).expect("not zero");
/// 2^8 times the least, 0.12 s of a core: no server may take more from an event loop.
const MOST_DOUBLINGS: u8 = 8;

thread_local! {
    /// A key takes 0.6 ms of a core, and all users of an account have the same.
    static LAST: RefCell<Option<Derived>> = const { RefCell::new(None) };
}

struct Derived {
    password: Vec<u8>,
    salt: Vec<u8>,
    key: SigningKey,
}

/// Asks for the salt.
pub(super) fn answer() -> Vec<u8> {
    Vec::new()
}

pub(super) fn more_data(
    conversation: &Conversation<'_>,
    salt: &[u8],
) -> Result<Vec<u8>, WireError> {
    let nonce = conversation.nonce(Plugin::Parsec)?;
    parsec_answer(conversation.password, &nonce, salt)
}

/// The answer to a salt of `parsec`, as the server sent it (`P`, the doublings of 1024 iterations,
/// the salt itself): a nonce of our own, and the signature of the server's nonce followed by ours.
///
/// # Errors
/// [`WireError::BadSalt`]: it is not such a salt, or asks for too many iterations;
/// [`WireError::NoRandomNumbers`].
pub fn parsec_answer(
    password: &[u8],
    nonce: &[u8; NONCE],
    salt: &[u8],
) -> Result<Vec<u8>, WireError> {
    let mut own = [0; NONCE];
    rand::fill(&mut own).map_err(|_| WireError::NoRandomNumbers)?;
    answer_with(password, nonce, salt, &own)
}

fn answer_with(
    password: &[u8],
    nonce: &[u8; NONCE],
    salt: &[u8],
    own: &[u8; NONCE],
) -> Result<Vec<u8>, WireError> {
    let signed = [&nonce[..], own].concat();
    let signature: [u8; SIGNATURE] = key(password, salt)?.sign(&signed).to_bytes();
    Ok([&own[..], &signature].concat())
}

fn key(password: &[u8], salt: &[u8]) -> Result<SigningKey, WireError> {
    LAST.with_borrow_mut(|last| {
        if let Some(known) = last.as_ref()
            && known.password == password
            && known.salt == salt
        {
            return Ok(known.key.clone());
        }
        let key = derive(password, salt)?;
        let (password, salt) = (password.to_vec(), salt.to_vec());
        *last = Some(Derived { password, salt, key: key.clone() });
        Ok(key)
    })
}

fn derive(password: &[u8], salt: &[u8]) -> Result<SigningKey, WireError> {
    let [PBKDF2, doublings, salt @ ..] = salt else {
        return Err(WireError::BadSalt { reason: "not one for PBKDF2" });
    };
    if *doublings > MOST_DOUBLINGS {
        return Err(WireError::BadSalt { reason: "it asks for too many iterations" });
    }
    let iterations = LEAST_ITERATIONS.saturating_mul(TWO.saturating_pow(u32::from(*doublings)));
    let mut secret = [0; NONCE];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, iterations, salt, password, &mut secret);
    Ok(SigningKey::from_bytes(&secret))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::Signature;

    use super::super::tests::conversation;
    use super::*;

    const SERVER: [u8; NONCE] = [7; NONCE];
    const SALT: &[u8] = b"P\0eighteen bytes here";

    #[test]
    fn the_answer_is_a_nonce_and_a_signature_of_both() {
        let answer = more_data(&conversation(b"secret", &SERVER), SALT).unwrap();
        let (own, signature) = answer.split_at(NONCE);
        let signed = [&SERVER[..], own].concat();
        let public = derive(b"secret", SALT).unwrap().verifying_key();
        let signature = Signature::from_slice(signature).unwrap();
        assert!(public.verify_strict(&signed, &signature).is_ok());
        let again = more_data(&conversation(b"secret", &SERVER), SALT).unwrap();
        assert_ne!(answer[..NONCE], again[..NONCE]);
    }

    #[test]
    fn another_password_or_salt_is_another_key() {
        let keys = [
            (&b"secret"[..], SALT),
            (b"other", SALT),
            (b"secret", b"P\0other"),
            (b"secret", b"P\x01other"),
        ];
        let made: Vec<_> =
            keys.iter().map(|(one, salt)| key(one, salt).unwrap().to_bytes()).collect();
        for (number, one) in made.iter().enumerate() {
            assert!(!made[..number].contains(one));
        }
        assert_eq!(key(b"secret", SALT).unwrap().to_bytes(), made[0]);
    }

    #[test]
    fn what_is_no_salt_is_refused() {
        let asked = |salt: &[u8]| more_data(&conversation(b"secret", &SERVER), salt);
        for bad in [&b""[..], b"P", b"Q\0salt", b"P\x09salt", b"P\xffsalt"] {
            assert!(matches!(asked(bad), Err(WireError::BadSalt { .. })), "{bad:?}");
        }
        assert!(more_data(&conversation(b"secret", b"short"), SALT).is_err());
    }
}
