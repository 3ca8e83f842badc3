//! The options of a login: account, password, TLS and compression.

use crate::Compression;
use std::fmt;

/// Which compression is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionWish {
    /// In the order in which they are liked; the first that the server has is taken. None: the
    /// conversation is not compressed.
    pub any_of: Vec<Compression>,
    /// Give up where the server has none of them.
    pub must: bool,
}

/// Whether to switch to TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// Stay in clear.
    Never,
    /// Switch when the server can.
    #[default]
    IfOffered,
    /// Switch, or give up.
    Must,
}

/// Who logs in, and how. Shared by all connections of a target.
#[derive(Clone)]
pub struct LoginOptions {
    /// The account's name.
    pub user: String,
    /// The account's password, empty for none. Never shown by `Debug`.
    pub password: Vec<u8>,
    /// The default database.
    pub database: Option<String>,
    /// The id of a collation, which sets the connection's character set.
    pub charset: u8,
    /// Whether to switch to TLS.
    pub tls: TlsWish,
    /// Whether what follows the login is compressed.
    pub compression: CompressionWish,
    /// Nobody can read along on this transport (a unix socket): passwords may go in clear.
    pub transport_secure: bool,
    /// Where there is TLS it proves which server it is with: an authority's word, or a fingerprint
    /// that was given. Else the handshake has failed.
    pub server_proven: bool,
    /// Offer to send local files.
    pub local_infile: bool,
    /// The server's RSA key as PEM, for passwords over an unencrypted connection.
    pub server_public_key: Option<String>,
    /// Ask the server for its RSA key. Whoever can change the traffic can then learn the password.
    /// Within TLS such a server is believed without a proof, too.
    pub allow_public_key_retrieval: bool,
    /// Send the password itself, where a server asks for it, to whoever is at the other end of TLS.
    pub allow_clear_password: bool,
    /// Names and values for the server's `session_connect_attrs`.
    pub attributes: Vec<(String, String)>,
}

impl LoginOptions {
    /// The collation utf8mb4_general_ci, which every server since 5.5 knows.
    pub const UTF8MB4_GENERAL_CI: u8 = 45;
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self {
            user: String::new(),
            password: Vec::new(),
            database: None,
            charset: Self::UTF8MB4_GENERAL_CI,
            tls: TlsWish::default(),
            compression: CompressionWish::default(),
            transport_secure: false,
            server_proven: false,
            local_infile: false,
            server_public_key: None,
            allow_public_key_retrieval: false,
            allow_clear_password: false,
            attributes: Vec::new(),
        }
    }
}

impl fmt::Debug for LoginOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginOptions")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("charset", &self.charset)
            .field("tls", &self.tls)
            .field("compression", &self.compression)
            .field("transport_secure", &self.transport_secure)
            .field("server_proven", &self.server_proven)
            .field("local_infile", &self.local_infile)
            .field("allow_public_key_retrieval", &self.allow_public_key_retrieval)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_the_password() {
        let options = LoginOptions { password: b"hunter2".to_vec(), ..LoginOptions::default() };
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("password"));
        assert!(!shown.contains(&format!("{:?}", b"hunter2")));
    }
}
