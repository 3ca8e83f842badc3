//! An authenticated session: the results of the login.

use loadstone_protocol::sanitize::{NAME, plain};

use crate::WireError;
use crate::command::CancelKey;
use crate::cursor::Cursor;

/// More parameters than this are not kept; servers report fifteen.
const MOST_PARAMETERS: usize = 64;
/// A secret has four bytes; since protocol 3.2, up to 256.
const LONGEST_SECRET: usize = 256;

/// An authenticated connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Settings that the server reports by itself, such as `server_version`, `in_hot_standby` and
    /// `default_transaction_read_only`, as the session starts with them.
    pub parameters: Vec<(String, String)>,
    /// What allows to cancel the connection's statements, where the server has given it.
    pub cancel_key: Option<CancelKey>,
    /// The minor version of the protocol, 0 or 2.
    pub minor_version: u16,
    /// Whether the connection is encrypted by TLS.
    pub encrypted: bool,
    /// How the account has logged in: `trust` if no proof was asked for.
    pub auth_method: &'static str,
    /// The session's state: see [`status`](crate::status).
    pub status: u16,
}

impl Session {
    /// A setting that the server has reported.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The server's version, such as `15.18 (Debian 15.18-0+deb12u1)`; empty if it said none.
    #[must_use]
    pub fn server_version(&self) -> &str {
        self.parameter("server_version").unwrap_or_default()
    }

    /// The server's process that serves this connection, as in `pg_stat_activity`; 0 if it said
    /// none.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.cancel_key.as_ref().map_or(0, |key| key.process_id)
    }

    /// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARAMETERSTATUS>
    pub(super) fn take_parameter(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(body, "a parameter's status");
        let name = plain(cursor.string()?, NAME); // String
        let value = plain(cursor.string()?, NAME); // String
        match self.parameters.iter().position(|(known, _)| *known == name) {
            Some(place) => {
                self.parameters.swap_remove(place);
            }
            None if self.parameters.len() >= MOST_PARAMETERS => return Ok(()),
            None => {}
        }
        self.parameters.push((name, value));
        Ok(())
    }

    /// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BACKENDKEYDATA>
    pub(super) fn take_key(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(body, "the cancel key");
        let process_id = cursor.u32()?; // Int32
        let secret = cursor.rest().to_vec(); // Byten
        if !(4..=LONGEST_SECRET).contains(&secret.len()) {
            return Err(WireError::BadField { message: "the cancel key", field: "a length" });
        }
        self.cancel_key = Some(CancelKey { process_id, secret });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_what_was_said_last_and_their_number_has_a_limit() {
        let mut session = Session::default();
        session.take_parameter(b"server_version\x0015.18 (Debian)\0").unwrap();
        session.take_parameter(b"in_hot_standby\0on\0").unwrap();
        session.take_parameter(b"in_hot_standby\0off\0").unwrap();
        assert_eq!(session.server_version(), "15.18 (Debian)");
        assert_eq!(session.parameter("in_hot_standby"), Some("off"));
        assert_eq!(session.parameter("TimeZone"), None);
        for number in 0..1000 {
            session.take_parameter(format!("p{number}\0x\0").as_bytes()).unwrap();
        }
        assert_eq!(session.parameters.len(), MOST_PARAMETERS);
        assert!(session.take_parameter(b"name\0value").is_err());
    }

    #[test]
    fn a_key_has_four_bytes_or_more_up_to_256() {
        let mut session = Session::default();
        session.take_key(b"\0\0\x04\xd2abcd").unwrap();
        assert_eq!(session.process_id(), 1234);
        session.take_key(&[&[0, 0, 0, 1], [7; 256].as_slice()].concat()).unwrap();
        assert_eq!(session.process_id(), 1);
        for bad in [b"\0\0\0\x01abc".as_slice(), b"\0\0", &[0; 4 + 257]] {
            assert!(session.take_key(bad).is_err());
        }
    }
}
