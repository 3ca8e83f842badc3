//! Errors of the protocol: bytes that it does not allow, refusals, and what this client does not support.

use loadstone_protocol::ServerError;

/// Why a connection cannot go on. After any of these the connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server refused the login, or ended the connection by itself (shut down, killed, idle for
    /// too long).
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
    /// Something is longer than this crate is willing to hold.
    #[error("protocol: {what} of {length} is above the limit of {limit}")]
    TooLarge {
        /// What is too long.
        what: &'static str,
        /// Its length.
        length: u64,
        /// The limit it breaks.
        limit: u64,
    },
    /// A packet is missing, repeated, or of another conversation.
    #[error("protocol: packet number {got} came where {expected} was expected")]
    OutOfSequence {
        /// The number that was due.
        expected: u8,
        /// The number that came.
        got: u8,
    },
    /// A compressed packet whose content is not what its header says.
    #[error("protocol: a compressed packet cannot be read: {what}")]
    Compressed {
        /// What is wrong.
        what: &'static str,
    },
    /// Compression is asked for and the server has none of the kinds.
    #[error("compression: {wanted} is asked for, and the server offers {offered}")]
    CompressionNotOffered {
        /// Names of the kinds that would do.
        wanted: String,
        /// Names of what the server has, or `none`.
        offered: String,
    },
    /// Bytes arrived in clear before the TLS handshake: somebody may be injecting them.
    #[error("tls: bytes arrived in clear before the TLS handshake; they are refused")]
    EarlyBytes,
    /// The server asked for a file although no statement of ours offers one.
    #[error("protocol: the server asked for the local file {name:?} although none was offered")]
    UnexpectedLocalInfile {
        /// The name that the server asked for.
        name: String,
    },
    /// The account uses a login method that this program does not know.
    #[error("login: the account uses the authentication plugin {plugin}, which is not supported")]
    AuthNotSupported {
        /// The plugin's name as the server gave it.
        plugin: String,
    },
    /// The login needs the password itself, and somebody else could get it.
    #[error("login: {plugin} asks for the password itself, and {why}")]
    PasswordWithheld {
        /// The authentication plugin.
        plugin: &'static str,
        /// Who else could get it.
        why: &'static str,
    },
    /// The server asks for one more answer again and again.
    #[error("login: the server has not decided after {packets} packets")]
    EndlessLogin {
        /// How many it has sent behind its greeting.
        packets: u8,
    },
    /// The login needs the server's RSA key, which is neither given nor allowed to be fetched.
    #[error(
        "login: {plugin} over an unencrypted connection needs the server's public key; \
         use TLS that verifies the server, a unix socket, or give the key"
    )]
    PublicKeyNeeded {
        /// The authentication plugin.
        plugin: &'static str,
    },
    /// The RSA key is no key, or not one that can be used.
    #[error("login: the server's public key is unusable: {reason}")]
    BadPublicKey {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The nonce that the server sent is not of the plugin's length.
    #[error("login: the server's nonce for {plugin} has {length} bytes")]
    BadNonce {
        /// The authentication plugin.
        plugin: &'static str,
        /// The length that came.
        length: usize,
    },
    /// TLS is required and the server has none.
    #[error("tls: the server does not offer TLS, and it is required")]
    TlsNotOffered,
    /// The server speaks a protocol from before MySQL 4.1.
    #[error("login: the server {version:?} is too old: it lacks {lacks}")]
    OldServer {
        /// The version that the server claims.
        version: String,
        /// What it does not have.
        lacks: &'static str,
    },
    /// A user, database or attribute that the login packet cannot carry.
    #[error("login: the {field} holds a NUL byte")]
    NulByte {
        /// Which one it is.
        field: &'static str,
    },
    /// A call that does not belong to the phase that the login is in.
    #[error("login: {call} was called out of turn")]
    OutOfTurn {
        /// The call.
        call: &'static str,
    },
}
