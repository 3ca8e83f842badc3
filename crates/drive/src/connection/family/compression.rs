//! What lies between a conversation and the socket, or TLS, that carries it.

use super::mysql;
use super::protocol_error::ProtocolError;

/// Compression of one connection, from its login's end on. Families without any have no variant.
pub(crate) enum CompressionLayer {
    MySql(mysql::CompressionLayer),
}

impl CompressionLayer {
    /// A command comes next.
    pub(crate) fn begin_command(&mut self) {
        match self {
            Self::MySql(own) => own.begin_command(),
        }
    }

    /// Packs any part of the conversation; `send` is given what goes over the wire.
    pub(crate) fn pack<T>(&mut self, plain: &[u8], send: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::MySql(own) => own.pack(plain, send),
        }
    }

    /// Takes what the socket gave. What was fed before is to be read first.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::MySql(own) => own.feed(bytes),
        }
    }

    /// Writes the conversation's next bytes into `out`; how many there were. None: more must be fed.
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
