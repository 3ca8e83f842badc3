//! The keys that SCRAM derives from a password: thousands of rounds of hashing, once for all
//! connections of an account.
//!
//! <https://www.rfc-editor.org/rfc/rfc5802#section-3>

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::{hmac, pbkdf2};

use super::saslprep::prepared;

const SHA_256: usize = 32;

/// ClientKey and ServerKey.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) client: [u8; SHA_256],
    pub(super) server: [u8; SHA_256],
}

impl Keys {
    fn derive(password: &[u8], salt: &[u8], iterations: NonZeroU32) -> Self {
        let mut salted = [0; SHA_256];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, iterations, salt, &prepared(password), &mut salted);
        Self { client: mac(&salted, b"Client Key"), server: mac(&salted, b"Server Key") }
    }
}

/// HMAC with SHA-256.
pub(super) fn mac(key: &[u8], text: &[u8]) -> [u8; SHA_256] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    tag.as_ref().first_chunk().copied().unwrap_or_default()
}

struct Entry {
    password: Vec<u8>,
    salt: Vec<u8>,
    iterations: NonZeroU32,
    keys: Keys,
}

/// Keeps the keys of the last password and salt, since an account has one salt: a server tells it
/// to every connection. Clones share it.
#[derive(Clone, Default)]
pub struct KeyCache(Arc<Mutex<Option<Entry>>>);

impl KeyCache {
    /// The keys. Connections that log in at the same time wait for the first one.
    pub(super) fn keys(&self, password: &[u8], salt: &[u8], iterations: NonZeroU32) -> Keys {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = |entry: &&Entry| {
            entry.password == password && entry.salt == salt && entry.iterations == iterations
        };
        if let Some(entry) = kept.as_ref().filter(is_kept) {
            return entry.keys.clone();
        }
        let keys = Keys::derive(password, salt, iterations);
        let (password, salt) = (password.to_vec(), salt.to_vec());
        *kept = Some(Entry { password, salt, iterations, keys: keys.clone() });
        keys
    }
}

/// Shows nothing: it holds a password.
impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_for_one_password_salt_and_number_of_rounds() {
        let cache = KeyCache::default();
        let rounds = |number| NonZeroU32::new(number).unwrap();
        let first = cache.keys(b"secret", b"salt", rounds(2));
        assert_eq!(cache.clone().keys(b"secret", b"salt", rounds(2)).client, first.client);
        for (password, salt, iterations) in
            [("other", "salt", 2), ("secret", "other", 2), ("secret", "salt", 3)]
        {
            let (password, salt) = (password.as_bytes(), salt.as_bytes());
            let keys = cache.keys(password, salt, rounds(iterations));
            assert_ne!(keys.client, first.client);
            let fresh = Keys::derive(password, salt, rounds(iterations));
            assert_eq!((keys.client, keys.server), (fresh.client, fresh.server));
        }
        assert!(!format!("{cache:?}").contains("secret"));
    }
}
