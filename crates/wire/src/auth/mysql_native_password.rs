//! mysql_native_password: `SHA1(password) xor SHA1(nonce, SHA1(SHA1(password)))`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_native_password_authentication.html>

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use super::conversation::{Conversation, xor};
use super::plugin::Plugin;
use crate::WireError;

const LENGTH: usize = 20;

pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    if conversation.password.is_empty() {
        return Ok(Vec::new());
    }
    let nonce: [u8; LENGTH] = conversation.nonce(Plugin::Native)?;
    let once = sha1(&[conversation.password]);
    let twice = sha1(&[&once]);
    Ok(xor(once, sha1(&[&nonce, &twice])).to_vec())
}

fn sha1(parts: &[&[u8]]) -> [u8; LENGTH] {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for part in parts {
        context.update(part);
    }
    let mut sum = [0; LENGTH];
    for (place, &byte) in sum.iter_mut().zip(context.finish().as_ref()) {
        *place = byte;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;

    #[test]
    fn the_answer_is_the_one_that_mariadb_10_11_accepted() {
        let answer = answer(&conversation(b"secret", b"K#jmd0]how)c:5=o:pHW")).unwrap();
        let accepted =
            b"\xf9\x7e\xa2\x33\x92\x54\x5b\xf3\xe7\x47\x57\x95\x59\xca\xb3\x82\xc5\x83\xaa\xa5";
        assert_eq!(answer, accepted);
    }

    #[test]
    fn no_password_is_an_empty_answer_to_any_nonce() {
        assert_eq!(answer(&conversation(b"", b"")), Ok(Vec::new()));
        assert!(answer(&conversation(b"secret", b"short")).is_err());
    }
}
