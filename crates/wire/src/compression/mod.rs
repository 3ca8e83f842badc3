//! Compression of the whole conversation after the login: a layer between the packets and the
//! socket (or TLS) that carries them.
//!
//! A compressed packet has a header of seven bytes and holds a string of the bytes that would
//! otherwise be sent: a part of a packet, or many of them. Each is compressed separately, so
//! [`Codec`], the working memory, is shared by all connections of a thread, and a connection's own
//! [`CompressionLayer`] is empty between a reply and the next command.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression.html>

mod codec;
mod header;
mod layer;
#[cfg(test)]
mod tests;

pub use codec::Codec;
pub(crate) use codec::ZSTD_LEVEL;
pub use layer::CompressionLayer;

use crate::Capabilities;
use std::fmt;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// RFC 1950; all servers of the family.
    Zlib,
    /// RFC 8878; MySQL from 8.0.18 on.
    Zstd,
}

impl Compression {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Zlib, Self::Zstd];

    /// The flag by which a server offers it, and a client accepts it.
    pub const fn capability(self) -> Capabilities {
        match self {
            Self::Zlib => Capabilities::COMPRESS,
            Self::Zstd => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        }
    }

    /// Its name on command lines and in the server's `protocol_compression_algorithms`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
