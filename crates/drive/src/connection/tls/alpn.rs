//! The application protocol that a handshake names (RFC 7301).

use super::refusals::Refused;
use std::io;

/// The protocol that our side names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alpn {
    pub(super) name: &'static [u8],
    /// The server must name it too: without that, a server of another protocol could be made to
    /// take these bytes for its own.
    pub(super) must: bool,
}

impl Alpn {
    /// As a list of this one: its length, then its name.
    pub(super) fn as_list(self) -> Vec<u8> {
        let length = u8::try_from(self.name.len()).expect("a protocol's name is short");
        [&[length], self.name].concat()
    }

    /// Judges what the server has chosen.
    pub(super) fn check(self, chosen: Option<&[u8]>) -> io::Result<()> {
        if !self.must || chosen == Some(self.name) {
            return Ok(());
        }
        let name = String::from_utf8_lossy(self.name);
        let text = format!("the server does not name the protocol {name}, as direct TLS needs");
        Err(Refused { text, nothing_in_common: false }.into_io())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_name_the_protocol_only_where_the_handshake_comes_first() {
        let asked = Alpn { name: b"postgresql", must: false };
        assert!(asked.check(None).is_ok(), "servers before PostgreSQL 17 name none");
        assert_eq!(asked.as_list(), b"\x0apostgresql");
        let direct = Alpn { must: true, ..asked };
        assert!(direct.check(Some(b"postgresql")).is_ok());
        for other in [None, Some(&b"http/1.1"[..])] {
            let refused = direct.check(other).unwrap_err().to_string();
            assert!(refused.contains("does not name the protocol postgresql"), "{refused}");
        }
    }
}
