//! What errors mean to whoever drives a server. Which code means what is each family's to say.

use crate::Code;

/// What an error means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The statement has failed, and nothing else. The connection and its transaction are still there.
    #[default]
    Refused,
    /// The server has rolled the transaction back by itself.
    RolledBack,
    /// As an answer to COMMIT: the transaction is certainly not carried out.
    NotCommitted,
    /// This statement cannot be prepared, and may be sent as text.
    CannotPrepare,
    /// The server closes the connection after it.
    ConnectionEnds {
        /// Another attempt to connect may do better.
        passes: bool,
    },
    /// The connection is gone, as the client has noticed.
    ConnectionLost,
    /// The server said something that its protocol does not allow.
    Garbled,
    /// Nobody listens at the address, where another one of the same name may do.
    NobodyListens,
    /// There is no room for another connection.
    TooManyConnections,
    /// Wrong user, password or host.
    LoginRefused,
    /// The schema does not exist or may not be used.
    UnknownDatabase,
    /// An authentication method that the client does not have.
    NotSupported,
    /// The server does not go on without encryption.
    TlsRefused,
}

/// What goes wrong without a word of the server. Each family has a code for it: that of its own clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operating system gives no socket.
    NoSocket {
        /// Of a unix socket's address.
        unix: bool,
    },
    /// The operating system makes no connection.
    CannotConnect {
        /// To a unix socket.
        unix: bool,
    },
    /// The name has no address.
    UnknownHost,
    /// No answer in time.
    TimedOut,
    /// There is no connection to send the statement on.
    ConnectionGone,
    /// The connection broke while it was used.
    ConnectionLost,
    /// Encryption came to nothing.
    Tls,
    /// The server said something that its protocol does not allow.
    Garbled,
    /// The statement was not prepared.
    NotPrepared,
    /// A row is missing from the answer.
    NoData,
}

/// What is usual in a family, where nobody says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// Errors that begin an event anew.
    pub restarts: &'static [Code],
    /// What a client says where there is no connection to send a statement on.
    pub connection_gone: Code,
}
