//! caching_sha2_password: a hash that a server with a warm cache accepts, else the password itself,
//! either within the TLS session of a server that proved its identity, or encrypted with its RSA
//! key.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use sha2::{Digest, Sha256};

use super::conversation::{Conversation, xor};
use super::plugin::Plugin;
use super::public_key::{self, Key};
use crate::WireError;

const NONCE: usize = 20;
const FAST_SUCCESS: &[u8] = &[3];
const FULL_AUTHENTICATION: &[u8] = &[4];
const REQUEST_PUBLIC_KEY: u8 = 2;

/// `SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce)`
pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    if conversation.password.is_empty() {
        return Ok(Vec::new());
    }
    let nonce: [u8; NONCE] = conversation.nonce(Plugin::CachingSha2)?;
    let once: [u8; 32] = Sha256::digest(conversation.password).into();
    let twice = Sha256::digest(once);
    let with_nonce = Sha256::new().chain_update(twice).chain_update(nonce).finalize().into();
    Ok(xor(once, with_nonce).to_vec())
}

pub(super) fn more_data(
    conversation: &Conversation<'_>,
    data: &[u8],
) -> Result<Option<Vec<u8>>, WireError> {
    match data {
        FAST_SUCCESS => Ok(None),
        FULL_AUTHENTICATION => {
            let key = Key { plugin: Plugin::CachingSha2, request: REQUEST_PUBLIC_KEY };
            public_key::send_password(conversation, key).map(Some)
        }
        pem => public_key::received(conversation, Plugin::CachingSha2, pem).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Line;
    use super::super::tests::conversation;
    use super::*;

    const NONCE_MYSQL_9_7_4: &[u8] = b"S\x12:V>NK\x13\x1cm\x0a\x05\x05v\x19#T<\\]\0";

    #[test]
    fn the_answer_is_the_one_that_mysql_9_7_took() {
        let answer = answer(&conversation(b"secret", NONCE_MYSQL_9_7_4)).unwrap();
        let taken = b"\xa9\x91\x9d\x44\x48\x86\x16\xd6\xd1\x38\x86\xa7\x6d\x49\x74\x98\
                      \x91\x9e\x18\xbc\xc6\x0c\x04\x1c\xb7\xd4\x80\xf6\x08\xe0\x71\xdd";
        assert_eq!(answer, taken);
        assert_eq!(super::answer(&conversation(b"", NONCE_MYSQL_9_7_4)), Ok(Vec::new()));
    }

    #[test]
    fn the_password_goes_as_it_is_only_where_nobody_else_gets_it() {
        let mut conversation = conversation(b"secret", NONCE_MYSQL_9_7_4);
        let needed = WireError::PublicKeyNeeded { plugin: "caching_sha2_password" };
        assert_eq!(more_data(&conversation, &[4]), Err(needed));
        conversation.line = Line::Unproven;
        let withheld = more_data(&conversation, &[4]);
        assert!(matches!(withheld, Err(WireError::PasswordWithheld { .. })));
        for line in [Line::Proven, Line::Socket] {
            conversation.line = line;
            assert_eq!(more_data(&conversation, &[4]), Ok(Some(b"secret\0".to_vec())));
        }
    }

    #[test]
    fn whoever_is_believed_or_allowed_by_name_gets_it_within_tls() {
        let mut believed = conversation(b"secret", NONCE_MYSQL_9_7_4);
        (believed.line, believed.allow_public_key_retrieval) = (Line::Unproven, true);
        assert_eq!(more_data(&believed, &[4]), Ok(Some(b"secret\0".to_vec())));
        let mut allowed = conversation(b"secret", NONCE_MYSQL_9_7_4);
        (allowed.line, allowed.allow_clear_password) = (Line::Unproven, true);
        assert_eq!(more_data(&allowed, &[4]), Ok(Some(b"secret\0".to_vec())));
    }

    #[test]
    fn a_hit_in_the_servers_cache_needs_no_answer() {
        assert_eq!(more_data(&conversation(b"secret", NONCE_MYSQL_9_7_4), &[3]), Ok(None));
    }

    #[test]
    fn the_key_is_asked_for_only_when_allowed() {
        let mut conversation = conversation(b"secret", NONCE_MYSQL_9_7_4);
        conversation.allow_public_key_retrieval = true;
        assert_eq!(more_data(&conversation, &[4]), Ok(Some(vec![2])));
    }
}
