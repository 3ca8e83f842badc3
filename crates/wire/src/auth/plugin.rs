//! The plugins that this crate knows, by their names.

use loadstone_protocol::sanitize::{NAME, plain};

use crate::WireError;

/// The plugins that this crate can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// MySQL 4.1 to 8, and MariaDB's default.
    Native,
    /// The default since MySQL 8.
    CachingSha2,
    /// MariaDB's elliptic curves.
    Ed25519,
    /// The plain password.
    Clear,
    /// MySQL 5.6 and 5.7.
    Sha256,
    /// MariaDB's salted elliptic curves, since 11.6.
    Parsec,
}

impl Plugin {
    const ALL: [Self; 6] =
        [Self::Native, Self::CachingSha2, Self::Ed25519, Self::Clear, Self::Sha256, Self::Parsec];

    pub(crate) fn by_name(name: &[u8]) -> Result<Self, WireError> {
        let known = Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name);
        known.ok_or_else(|| WireError::AuthNotSupported { plugin: plain(name, NAME) })
    }

    /// The plugin to start with. Only plugins that reveal nothing may start; for the others, and
    /// for unknown ones, the server asks by name.
    pub(crate) fn for_greeting(name: &[u8]) -> Self {
        match Self::by_name(name) {
            Ok(Self::CachingSha2) => Self::CachingSha2,
            _ => Self::Native,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
            Self::Sha256 => "sha256_password",
            Self::Parsec => "parsec",
        }
    }
}
