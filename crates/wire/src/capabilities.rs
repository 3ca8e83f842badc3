//! The capability flags of client and server.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// Capability flags of the handshake: MySQL's 32, and above them MariaDB's own.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html>,
/// <https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection#capabilities>
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Capabilities(u64);

impl Capabilities {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Always set by MySQL; MariaDB calls it `CLIENT_MYSQL` and clears it to announce capabilities
    /// of its own.
    pub const LONG_PASSWORD: Self = Self(1);
    /// More flags in column definitions.
    pub const LONG_FLAG: Self = Self(1 << 2);
    /// The login names a database.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// The conversation after the login is compressed with zlib.
    pub const COMPRESS: Self = Self(1 << 5);
    /// The client will send local files.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    /// The protocol since MySQL 4.1.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// The client will switch to TLS.
    pub const SSL: Self = Self(1 << 11);
    /// Transaction state in OK and EOF packets.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// Authentication with a nonce.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// Several statements in one query.
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    /// Several results for one query.
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// Several results for one prepared statement.
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    /// Authentication plugins by name.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// Connection attributes in the login.
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// The login's authentication data may be long.
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    /// Changes of the session's state in OK packets.
    pub const SESSION_TRACK: Self = Self(1 << 23);
    /// Result sets end with an OK packet, not with EOF.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    /// The conversation after the login is compressed with zstd.
    pub const ZSTD_COMPRESSION_ALGORITHM: Self = Self(1 << 26);
    /// MariaDB, since 10.6: the results of a prepared statement come without the definitions of
    /// their columns, unless these have changed since the statement was prepared.
    pub const CACHE_METADATA: Self = Self(1 << 36);

    /// From MySQL's number, with MariaDB's own in the upper half.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The same number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// MySQL's flags, and MariaDB's own: two numbers on the wire.
    pub(crate) const fn halves(self) -> (u32, u32) {
        (self.0 as u32, (self.0 >> 32) as u32)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOrAssign for Capabilities {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Capabilities({:#010x})", self.0)
    }
}
