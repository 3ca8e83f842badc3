//! The options of a login: account, password, TLS and compression.

use crate::Compression;
use std::fmt;

/// The requested compression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionWish {
    /// In order of preference; the first one that the server supports is used. Empty: no
    /// compression.
    pub any_of: Vec<Compression>,
    /// Fail if the server supports none of them.
    pub must: bool,
}

/// Whether to switch to TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// Never use TLS.
    Never,
    /// Use TLS if the server supports it.
    #[default]
    IfOffered,
    /// Use TLS, or fail.
    Must,
}

/// The account and the options of its login. Shared by all connections of a target.
#[derive(Clone)]
pub struct LoginOptions {
    /// The account's name.
    pub user: String,
    /// The account's password; empty for none. Never shown by `Debug`.
    pub password: Vec<u8>,
    /// The default database.
    pub database: Option<String>,
    /// The id of a collation, which sets the connection's character set.
    pub charset: u8,
    /// Whether to switch to TLS.
    pub tls: TlsWish,
    /// The compression after the login.
    pub compression: CompressionWish,
    /// Nobody can eavesdrop on this transport (a unix socket): passwords may be sent in plaintext.
    pub transport_secure: bool,
    /// TLS, if used, proves the server's identity, by a certificate authority or a given
    /// fingerprint; otherwise the handshake fails.
    pub server_proven: bool,
    /// Offer to send local files.
    pub local_infile: bool,
    /// Send texts of several statements, separated by semicolons. A server refuses them otherwise,
    /// which stops what an attacker appends to a statement.
    pub multi_statements: bool,
    /// Let MariaDB leave out what it said of a statement's columns when it prepared it: for
    /// connections that keep no rows of prepared statements.
    pub cache_metadata: bool,
    /// The server's RSA key as PEM, for passwords over an unencrypted connection.
    pub server_public_key: Option<String>,
    /// Ask the server for its RSA key. An attacker who can change the traffic can then learn the
    /// password. Within TLS such a server is trusted without a proof, too.
    pub allow_public_key_retrieval: bool,
    /// Send the password itself, if a server asks for it, to any server at the other end of TLS.
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
            multi_statements: false,
            cache_metadata: false,
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
            .field("multi_statements", &self.multi_statements)
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
