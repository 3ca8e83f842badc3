//! PostgreSQL's protocol, version 3: bytes in, messages out.
//!
//! This crate knows no socket, no clock and no thread, so the event loop decides when bytes move
//! and tests need nothing but byte strings. The parts:
//!
//! - [`Login`] makes an authenticated [`Session`] of a connected socket, with a pause for the TLS
//!   handshake.
//! - The `write_…` functions append complete messages to a buffer; [`copy`] has the rows of COPY.
//! - [`ReplyReader`] reads the server's answers, straight from the buffer that the socket was read
//!   into. Rows are counted and skipped, never buffered; the ordinary reply does not allocate.
//! - [`Conversation`] combines the two on a connection that is logged in.
//! - [`verdict`] says what SQLSTATEs mean, and [`code_of_fault`] which of them clients report.
//!
//! The server is not trusted: no byte sequence panics, no length field makes this crate allocate, a
//! login ends after some messages and hashes only so often, and texts of the server are truncated
//! and cannot control a terminal.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod auth;
mod codes;
mod command;
mod conversation;
pub mod copy;
mod cursor;
mod error;
mod format;
mod frame;
mod literal;
mod login;
mod message;
mod reply;
pub mod status;

pub use auth::{ChannelBinding, KeyCache};
pub use codes::{FAMILY, USUAL, code_of_fault, conflict, error_code, silent_rollback, verdict};
pub use command::{
    ALL_ROWS, Bind, CancelKey, CommandMark, StatementName, begin_query, end, write_bind,
    write_cancel, write_close_statement, write_copy_data, write_copy_done, write_copy_fail,
    write_describe_portal, write_describe_statement, write_execute_portal, write_flush,
    write_parse, write_query, write_sync, write_terminate,
};
pub use conversation::Conversation;
pub use error::WireError;
pub use format::{Format, oid};
pub use frame::MAX_WHOLE_MESSAGE;
pub use literal::escape_text;
pub use login::{ALPN, Login, LoginOptions, LoginProgress, ProtocolVersion, Session, TlsWish};
pub use reply::{Exchange, ReplyReader};
// The types in this crate's interface, so that its users need no other crate.
pub use loadstone_protocol::{
    ColumnType, Completion, Expect, Param, Prepared, Reply, ResultSet, Row, ServerError, Value,
    Values,
};
