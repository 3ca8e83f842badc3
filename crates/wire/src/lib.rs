//! The MySQL and MariaDB client protocol: bytes in, messages out.
//!
//! This crate knows no socket, no clock and no thread, so the event loop decides when bytes move
//! and tests need nothing but byte strings. The parts:
//!
//! - [`Login`] turns the server's greeting into an authenticated [`Session`], with a pause for the
//!   TLS handshake.
//! - The `write_…` functions append complete command packets to a buffer.
//! - [`ReplyReader`] reads the server's answers, straight from the buffer that the socket was read
//!   into. Rows are counted and skipped, never buffered; the ordinary reply does not allocate.
//! - [`Conversation`] combines the two on a connection that is logged in.
//! - [`verdict`] says what MySQL's error codes mean, and [`code_of_fault`] which of them clients
//!   report.
//! - [`CompressionLayer`], if the login negotiated one, is between those packets and the socket.
//!
//! The server is not trusted: no byte sequence panics, no length field makes this crate allocate, a
//! login ends after a few packets, and texts of the server are truncated and cannot control a
//! terminal.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod auth;
mod capabilities;
mod codes;
mod command;
mod compression;
mod conversation;
mod cursor;
mod error;
mod frame;
mod literal;
mod login;
mod reply;
pub mod status;

pub use auth::{ed25519_answer, parsec_answer};
pub use capabilities::Capabilities;
pub use codes::{FAMILY, USUAL, code_of_fault, conflict, error_code, verdict};
pub use command::{
    CommandMark, begin_query, end, write_close_statement, write_execute, write_local_infile_data,
    write_local_infile_end, write_ping, write_prepare, write_query, write_quit,
    write_reset_connection,
};
pub use compression::{Codec, Compression, CompressionLayer};
pub use conversation::Conversation;
pub use error::WireError;
pub use frame::{MAX_PACKET_PAYLOAD, MAX_WHOLE_PACKET};
pub use literal::escape_text;
pub use login::{CompressionWish, Login, LoginOptions, LoginProgress, Session, TlsWish};
pub use reply::ReplyReader;
// The types in this crate's interface, so that its users need no other crate.
pub use loadstone_protocol::{
    ColumnType, Completion, Expect, Param, Prepared, Reply, ResultSet, Row, ServerError, Value,
    Values,
};
