//! Errors of the protocol: invalid bytes, refusals, and what this client does not support.

use loadstone_protocol::ServerError;

/// Why a connection cannot continue. After any of these the connection must be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server refused the login, or ended the connection (shut down, terminated, idle for too
    /// long).
    #[error("{0}")]
    Server(ServerError),
    /// A message that the protocol does not allow at this point.
    #[error("protocol: a message {kind:#04x} came where {expected} was expected")]
    UnexpectedMessage {
        /// What the reader was waiting for.
        expected: &'static str,
        /// The message's first byte.
        kind: u8,
    },
    /// Bytes arrived while no command was outstanding.
    #[error("protocol: the server sent bytes while nothing was asked of it")]
    Unasked,
    /// A message whose length cannot be one.
    #[error("protocol: a message {kind:#04x} has the length {length:#x}")]
    BadLength {
        /// The message's first byte.
        kind: u8,
        /// The length that it claims.
        length: u32,
    },
    /// A message ended in the middle of a field.
    #[error("protocol: {message} ends in the middle of a field")]
    Truncated {
        /// The message's name.
        message: &'static str,
    },
    /// A field with a value that the protocol does not have.
    #[error("protocol: {message} has {field} that cannot be")]
    BadField {
        /// The message's name.
        message: &'static str,
        /// What is wrong in it.
        field: &'static str,
    },
    /// Something is longer than this crate accepts.
    #[error("protocol: {what} of {length} is above the limit of {limit}")]
    TooLarge {
        /// What is too long.
        what: &'static str,
        /// Its length.
        length: u64,
        /// The exceeded limit.
        limit: u64,
    },
    /// Plaintext bytes arrived before the TLS handshake: somebody may be injecting them.
    #[error("tls: bytes arrived in clear before the TLS handshake; they are refused")]
    EarlyBytes,
    /// The server answered the request for TLS with an error, whose text anybody could have sent.
    #[error("tls: the server answered the request for TLS with an error")]
    TlsRequestRefused,
    /// TLS is required and the server does not support it.
    #[error("tls: the server does not offer TLS, and it is required")]
    TlsNotOffered,
    /// The server asked for rows although no statement of ours offers any.
    #[error("protocol: the server asked for rows to copy although none were offered")]
    UnexpectedCopyIn,
    /// The account uses a login method that this program does not support.
    #[error(
        "login: the server asks for the authentication method {method}, which is not supported"
    )]
    AuthNotSupported {
        /// The method's name.
        method: String,
    },
    /// The login needs the password itself, and somebody else could read it.
    #[error("login: the server asks for the password itself, and {why}")]
    PasswordWithheld {
        /// Who else could read it.
        why: &'static str,
    },
    /// The login needs a password and there is none.
    #[error("login: the server asks for a password, and none is given")]
    NoPassword,
    /// Binding the login to the TLS session is required, and the server does without.
    #[error("login: channel binding is required, and {why}")]
    NotBound {
        /// Why there is none.
        why: &'static str,
    },
    /// The server accepts the login without having proved that it knows the account's password.
    #[error("login: {what}: this may not be the server that it claims to be")]
    ServerNotProven {
        /// What it did instead.
        what: &'static str,
    },
    /// The server asks for more work than a login is worth.
    #[error("login: the server asks for {iterations} rounds of hashing; the limit is {limit}")]
    TooManyIterations {
        /// The rounds that it asks for.
        iterations: u64,
        /// The limit.
        limit: u32,
    },
    /// The server does not decide.
    #[error("login: the server has not decided after {messages} messages")]
    EndlessLogin {
        /// How many messages it has sent.
        messages: u16,
    },
    /// The server speaks no version of the protocol that was asked for.
    #[error(
        "login: the server speaks version {major}.{minor} of the protocol, which was not asked for"
    )]
    OtherVersion {
        /// The first number.
        major: u16,
        /// The second number.
        minor: u16,
    },
    /// The server does not know options that the login needs.
    #[error("login: the server does not know the option {name}")]
    UnknownOption {
        /// The first of them.
        name: String,
    },
    /// A user, database or parameter that the startup message cannot carry.
    #[error("login: the {field} is empty or holds a NUL byte")]
    UnsendableText {
        /// The field's name.
        field: &'static str,
    },
    /// No random numbers are to be had.
    #[error("login: the system gives no random numbers")]
    NoRandomNumbers,
    /// A call that is not allowed in the login's current phase.
    #[error("login: {call} was called out of turn")]
    OutOfTurn {
        /// The call.
        call: &'static str,
    },
}
