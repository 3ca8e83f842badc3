//! Errors of the protocol: invalid bytes, refusals, and what this client does not support.

use loadstone_protocol::ServerError;

/// Why a connection cannot continue. After any of these the connection must be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server refused the login, or ended the connection (shut down, killed, idle for too
    /// long).
    #[error("{0}")]
    Server(ServerError),
    /// A packet that the protocol does not allow at this point.
    #[error(
        "protocol: a packet that starts with {first_byte:#04x} came where {expected} was expected"
    )]
    UnexpectedPacket {
        /// What the reader was waiting for.
        expected: &'static str,
        /// How the packet started.
        first_byte: u8,
    },
    /// A packet without content where content is needed.
    #[error("protocol: an empty packet came where {expected} was expected")]
    EmptyPacket {
        /// What the reader was waiting for.
        expected: &'static str,
    },
    /// Bytes arrived while no command was outstanding.
    #[error("protocol: the server sent bytes while nothing was asked of it")]
    Unasked,
    /// A packet ended in the middle of a field.
    #[error("protocol: {packet} ends in the middle of a field")]
    Truncated {
        /// The packet's name.
        packet: &'static str,
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
    /// A packet is missing, repeated, or belongs to another conversation.
    #[error("protocol: packet number {got} came where {expected} was expected")]
    OutOfSequence {
        /// The expected number.
        expected: u8,
        /// The received number.
        got: u8,
    },
    /// A compressed packet whose content is not what its header says.
    #[error("protocol: a compressed packet cannot be read: {what}")]
    Compressed {
        /// What is wrong.
        what: &'static str,
    },
    /// Compression is required and the server supports none of the kinds.
    #[error("compression: {wanted} is asked for, and the server offers {offered}")]
    CompressionNotOffered {
        /// Names of the acceptable kinds.
        wanted: String,
        /// Names of the server's kinds, or `none`.
        offered: String,
    },
    /// Plaintext bytes arrived before the TLS handshake: somebody may be injecting them.
    #[error("tls: bytes arrived in clear before the TLS handshake; they are refused")]
    EarlyBytes,
    /// The server asked for a file although no statement of ours offers one.
    #[error("protocol: the server asked for the local file {name:?} although none was offered")]
    UnexpectedLocalInfile {
        /// The requested name.
        name: String,
    },
    /// The account uses a login method that this program does not support.
    #[error("login: the account uses the authentication plugin {plugin}, which is not supported")]
    AuthNotSupported {
        /// The plugin's name as the server sent it.
        plugin: String,
    },
    /// The login needs the password itself, and somebody else could read it.
    #[error("login: {plugin} asks for the password itself, and {why}")]
    PasswordWithheld {
        /// The authentication plugin.
        plugin: &'static str,
        /// Who else could read it.
        why: &'static str,
    },
    /// The server keeps asking for another answer.
    #[error("login: the server has not decided after {packets} packets")]
    EndlessLogin {
        /// How many packets it has sent after its greeting.
        packets: u8,
    },
    /// The login needs the server's RSA key, which is neither configured nor allowed to be fetched.
    #[error(
        "login: {plugin} over an unencrypted connection needs the server's public key; \
         use TLS that verifies the server, a unix socket, or give the key"
    )]
    PublicKeyNeeded {
        /// The authentication plugin.
        plugin: &'static str,
    },
    /// The RSA key is invalid or cannot be used.
    #[error("login: the server's public key is unusable: {reason}")]
    BadPublicKey {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The server's nonce does not have the plugin's length.
    #[error("login: the server's nonce for {plugin} has {length} bytes")]
    BadNonce {
        /// The authentication plugin.
        plugin: &'static str,
        /// Its length.
        length: usize,
    },
    /// This machine gives no random numbers, which a login needs.
    #[error("login: this machine gives no random numbers")]
    NoRandomNumbers,
    /// What the server says of the password's salt cannot be used.
    #[error("login: the server's salt for parsec is unusable: {reason}")]
    BadSalt {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// TLS is required and the server does not support it.
    #[error("tls: the server does not offer TLS, and it is required")]
    TlsNotOffered,
    /// The server speaks a protocol from before MySQL 4.1.
    #[error("login: the server {version:?} is too old: it lacks {lacks}")]
    OldServer {
        /// The version that the server claims.
        version: String,
        /// The missing feature.
        lacks: &'static str,
    },
    /// A user, database or attribute that the login packet cannot carry.
    #[error("login: the {field} holds a NUL byte")]
    NulByte {
        /// The field's name.
        field: &'static str,
    },
    /// A call that is not allowed in the login's current phase.
    #[error("login: {call} was called out of turn")]
    OutOfTurn {
        /// The call.
        call: &'static str,
    },
}
