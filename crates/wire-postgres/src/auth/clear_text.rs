//! AuthenticationCleartextPassword: the password itself, for PAM, LDAP and RADIUS. Only for a
//! server that proved its identity, within this host, or if explicitly allowed; never over an
//! unencrypted line.
//!
//! <https://www.postgresql.org/docs/current/auth-password.html>

use super::line::Line;
use crate::WireError;

/// The content of the PasswordMessage. `allowed`: to any server at the other end of TLS.
pub(crate) fn answer(password: &[u8], line: Line, allowed: bool) -> Result<Vec<u8>, WireError> {
    match line {
        Line::Proven | Line::Socket => Ok(password.to_vec()),
        Line::Unproven if allowed => Ok(password.to_vec()),
        Line::Unproven => {
            Err(WireError::PasswordWithheld { why: "nothing proves whose certificate this is" })
        }
        Line::Open => Err(WireError::PasswordWithheld { why: "others could read it on this line" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_goes_to_a_server_that_proved_itself_or_where_that_is_allowed_by_name() {
        let goes = |line, allowed| answer(b"secret", line, allowed).is_ok();
        for allowed in [false, true] {
            assert!(goes(Line::Proven, allowed) && goes(Line::Socket, allowed));
            assert!(!goes(Line::Open, allowed));
            assert_eq!(goes(Line::Unproven, allowed), allowed);
        }
        assert_eq!(answer(b"secret", Line::Socket, false), Ok(b"secret".to_vec()));
    }
}
