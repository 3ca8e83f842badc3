//! What errors mean to code that drives a server. Each family decides which of its codes means
//! what.

use crate::Code;

/// What an error means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The statement has failed, nothing else. The connection and its transaction still exist.
    #[default]
    Refused,
    /// The server has rolled back the transaction.
    RolledBack,
    /// As an answer to COMMIT: the transaction was certainly not committed.
    NotCommitted,
    /// This statement cannot be prepared, but may be sent as text.
    CannotPrepare,
    /// The server does not know the prepared statement, nor others of this connection: the session
    /// behind a proxy is another one now, for example.
    HandleUnknown,
    /// The server closes the connection after it.
    ConnectionEnds {
        /// Another attempt to connect may succeed.
        passes: bool,
    },
    /// The connection is gone, as the client has noticed.
    ConnectionLost,
    /// The server's answer violates its protocol.
    Garbled,
    /// Nobody listens at the address, but another address of the same name may work.
    NobodyListens,
    /// There is no room for another connection.
    TooManyConnections,
    /// Wrong user, password or host.
    LoginRefused,
    /// The schema does not exist or may not be used.
    UnknownDatabase,
    /// The client does not support the authentication method.
    NotSupported,
    /// The server requires encryption.
    TlsRefused,
}

/// Why a server made a transaction give way to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// No order of the transactions has the same result.
    Serialization,
    /// They waited for each other.
    Deadlock,
}

/// A failure without a message from the server. Each family has a code for it: that of its own
/// clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operating system cannot create a socket.
    NoSocket {
        /// Whether it is for a unix socket's address.
        unix: bool,
    },
    /// The operating system cannot connect.
    CannotConnect {
        /// Whether it is a unix socket.
        unix: bool,
    },
    /// The name has no address.
    UnknownHost,
    /// No answer in time.
    TimedOut,
    /// There is no connection to send the statement on.
    ConnectionGone,
    /// The connection broke during use.
    ConnectionLost,
    /// Encryption failed.
    Tls,
    /// The server's answer violates its protocol.
    Garbled,
    /// The statement was not prepared.
    NotPrepared,
    /// A row is missing from the answer.
    NoData,
}

/// A family's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// Errors after which an event restarts.
    pub restarts: &'static [Code],
    /// The code that a client reports if there is no connection for a statement.
    pub connection_gone: Code,
}
