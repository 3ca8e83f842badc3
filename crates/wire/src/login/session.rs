//! An authenticated session: the results of the login.

use crate::{Capabilities, Compression};

/// An authenticated connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The server's version, without the `5.5.5-` that older MariaDB servers put in front of it.
    pub server_version: String,
    /// The server's connection id, as in its process list.
    pub connection_id: u32,
    /// The capabilities of both sides: for [`ReplyReader::new`](crate::ReplyReader::new).
    pub capabilities: Capabilities,
    /// The session's state: see [`status`](crate::status).
    pub status: u16,
    /// Whether the server is MariaDB.
    pub mariadb: bool,
    /// Whether the connection is encrypted by TLS.
    pub encrypted: bool,
    /// How everything that follows is compressed, by a
    /// [`CompressionLayer`](crate::CompressionLayer).
    pub compression: Option<Compression>,
    /// The authentication plugin that the account uses.
    pub auth_plugin: &'static str,
}
