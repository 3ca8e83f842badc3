//! Which of the server's SASL mechanisms is used, and whether it is bound to the TLS session.
//!
//! <https://www.postgresql.org/docs/current/sasl-authentication.html>

use super::request::no_known_mechanism;
use crate::WireError;

const SCRAM: &[u8] = b"SCRAM-SHA-256";
const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

/// Whether a login is bound to its TLS session, so that nobody can pass it on to another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server offers it and there is a TLS session.
    #[default]
    Prefer,
    /// Always, or the login fails: also where the server would ask for no password at all.
    Require,
}

/// The mechanism of one login, with what its first message says about binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// Without binding, since this client cannot.
    Plain,
    /// Without binding, since the server does not offer it. It will notice if someone has removed
    /// its offer.
    NotOffered,
    /// Bound to the session with this data: the hash of the server's certificate.
    Bound { data: Vec<u8> },
}

impl Mechanism {
    /// Chooses from the server's list. `binding_data` is there within TLS.
    pub(crate) fn choose(
        mechanisms: &[u8],
        wish: ChannelBinding,
        binding_data: Option<&[u8]>,
    ) -> Result<Self, WireError> {
        let offers = |name: &[u8]| mechanisms.split(|&byte| byte == 0).any(|other| other == name);
        let wanted = binding_data.filter(|_| wish != ChannelBinding::Disable);
        match (offers(SCRAM_PLUS), wanted) {
            (true, Some(data)) => return Ok(Self::Bound { data: data.to_vec() }),
            _ if wish == ChannelBinding::Require => return Err(not_bound(wanted.is_some())),
            _ => {}
        }
        match (offers(SCRAM), wanted) {
            (true, Some(_)) => Ok(Self::NotOffered),
            (true, None) => Ok(Self::Plain),
            (false, _) => Err(no_known_mechanism(mechanisms)),
        }
    }

    /// As the server names it.
    pub(crate) fn name(&self) -> &'static [u8] {
        match self {
            Self::Plain | Self::NotOffered => SCRAM,
            Self::Bound { .. } => SCRAM_PLUS,
        }
    }

    /// As people know it.
    pub(crate) fn shown(&self) -> &'static str {
        match self {
            Self::Plain | Self::NotOffered => "scram-sha-256",
            Self::Bound { .. } => "scram-sha-256-plus",
        }
    }

    /// `gs2-header`: <https://www.rfc-editor.org/rfc/rfc5802#section-7>
    pub(super) fn header(&self) -> &'static [u8] {
        match self {
            Self::Plain => b"n,,",
            Self::NotOffered => b"y,,",
            Self::Bound { .. } => b"p=tls-server-end-point,,",
        }
    }

    /// `cbind-input`: the header and the data, which the server compares with its own.
    pub(super) fn binding_input(&self) -> Vec<u8> {
        match self {
            Self::Plain | Self::NotOffered => self.header().to_vec(),
            Self::Bound { data } => [self.header(), data].concat(),
        }
    }
}

fn not_bound(has_data: bool) -> WireError {
    WireError::NotBound {
        why: if has_data { "the server does not offer it" } else { "there is no TLS session" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChannelBinding::{Disable, Prefer, Require};

    const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    const ONE: &[u8] = b"SCRAM-SHA-256\0\0";

    fn header(
        mechanisms: &[u8],
        wish: ChannelBinding,
        data: Option<&[u8]>,
    ) -> Option<&'static [u8]> {
        Mechanism::choose(mechanisms, wish, data).ok().map(|mechanism| mechanism.header())
    }

    #[test]
    fn a_login_is_bound_where_both_sides_can_and_says_so_where_one_cannot() {
        let data = Some(b"hash".as_slice());
        let bound = Some(b"p=tls-server-end-point,,".as_slice());
        let (not_offered, cannot) = (Some(b"y,,".as_slice()), Some(b"n,,".as_slice()));
        for (mechanisms, wish, data, expected) in [
            (BOTH, Prefer, data, bound),
            (BOTH, Require, data, bound),
            (BOTH, Disable, data, cannot),
            (BOTH, Prefer, None, cannot),
            (BOTH, Require, None, None),
            (ONE, Prefer, data, not_offered),
            (ONE, Prefer, None, cannot),
            (ONE, Disable, data, cannot),
            (ONE, Require, data, None),
            (b"SCRAM-SHA-512\0\0", Prefer, data, None),
            (b"", Prefer, None, None),
        ] {
            assert_eq!(header(mechanisms, wish, data), expected, "{wish:?} {data:?}");
        }
    }
}
