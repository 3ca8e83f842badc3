//! AuthenticationMD5Password: a hash of the password, the user's name and a salt.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use md5::{Digest, Md5};

/// The content of the PasswordMessage: `md5` and `md5(md5(password + user) + salt)`, each hash as
/// hexadecimal digits.
pub(crate) fn answer(user: &[u8], password: &[u8], salt: [u8; 4]) -> Vec<u8> {
    let stored = hexadecimal(&Md5::new().chain_update(password).chain_update(user).finalize());
    let salted = Md5::new().chain_update(stored).chain_update(salt).finalize();
    [b"md5".as_slice(), &hexadecimal(&salted)].concat()
}

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default() as u8;
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postgres_protocol::authentication::md5_hash;

    #[test]
    fn the_answer_is_that_of_postgres_protocol() {
        for (user, password, salt) in [
            ("bench", "secret", [1, 2, 3, 4]),
            ("", "", [0; 4]),
            ("benutzer", "pässword with spaces", [255; 4]),
        ] {
            let theirs = md5_hash(user.as_bytes(), password.as_bytes(), salt);
            let ours = answer(user.as_bytes(), password.as_bytes(), salt);
            assert_eq!(String::from_utf8(ours).unwrap(), theirs);
        }
    }
}
