//! What a plugin knows of its login, and what several plugins need.

use super::plugin::Plugin;
use crate::WireError;

/// What a plugin knows of its login.
pub(crate) struct Conversation<'a> {
    pub(crate) password: &'a [u8],
    /// The server's random bytes.
    pub(crate) nonce: &'a [u8],
    pub(crate) line: Line,
    pub(crate) server_public_key: Option<&'a str>,
    pub(crate) allow_public_key_retrieval: bool,
    pub(crate) allow_clear_password: bool,
}

/// Who can read what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Anyone on the network path.
    Open,
    /// TLS with whichever server answered: nothing proves its identity.
    Unproven,
    /// TLS with a server that proved its identity.
    Proven,
    /// A unix socket without TLS: the data does not leave the host.
    Socket,
}

impl Conversation<'_> {
    /// The nonce as an array of the length that the plugin needs. A NUL may follow it, but it may
    /// also end with one.
    pub(super) fn nonce<const N: usize>(&self, plugin: Plugin) -> Result<[u8; N], WireError> {
        match self.nonce.split_first_chunk::<N>() {
            Some((nonce, [] | [0])) => Ok(*nonce),
            _ => Err(WireError::BadNonce { plugin: plugin.name(), length: self.nonce.len() }),
        }
    }

    /// Why a plugin that asks for the password itself does not get it.
    pub(super) fn withheld(&self, plugin: Plugin) -> WireError {
        let why = match self.line {
            Line::Unproven => "nothing proves whose certificate this is",
            Line::Open | Line::Proven | Line::Socket => "others could read it on this line",
        };
        WireError::PasswordWithheld { plugin: plugin.name(), why }
    }
}

/// The bitwise exclusive or of both.
pub(super) fn xor<const N: usize>(mut left: [u8; N], right: [u8; N]) -> [u8; N] {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

/// The password as a `string<NUL>`.
pub(super) fn with_nul(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}
