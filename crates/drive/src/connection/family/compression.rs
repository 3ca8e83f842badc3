//! The compression layer between a conversation and its socket or TLS session.

use super::mysql;
use super::protocol_error::ProtocolError;

/// Compression of one connection, from its login's end on. Families without any have no variant.
pub(crate) enum CompressionLayer {
    MySql(mysql::CompressionLayer),
}

impl CompressionLayer {
    /// Starts a new command.
    pub(crate) fn begin_command(&mut self) {
        match self {
            Self::MySql(own) => own.begin_command(),
        }
    }

    /// Packs any part of the conversation; `send` receives the bytes for the wire.
    pub(crate) fn pack<T>(&mut self, plain: &[u8], send: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::MySql(own) => own.pack(plain, send),
        }
    }

    /// Takes bytes from the socket. Everything fed before must have been read.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::MySql(own) => own.feed(bytes),
        }
    }

    /// Writes the conversation's next bytes into `out` and returns their number; at 0 more must be fed.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, ProtocolError> {
        match self {
            Self::MySql(own) => own.read(out).map_err(ProtocolError::MySql),
        }
    }

    /// Whether [`read`](Self::read) would give something.
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Self::MySql(own) => own.has_more(),
        }
    }
}
