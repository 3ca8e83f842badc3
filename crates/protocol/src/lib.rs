//! The messages between a client and its server, in terms that belong to no family of servers.
//!
//! A family's protocol is a crate of its own: `loadstone-wire` is that of MySQL and MariaDB,
//! `loadstone-wire-postgres` that of PostgreSQL. Code
//! that drives load, runs scripts or keeps figures uses the terms in here and none of a family's.
//! The parts:
//!
//! - [`Param`] is sent to the server; [`Reply`], [`Completion`] and [`ResultSet`] are received.
//! - [`ServerError`] is a refusal, with an [`ErrorCode`] of a [`Family`]. A [`Verdict`] says what
//!   that means, and a [`Fault`] is a failure without a message from the server.
//! - [`sanitize`] makes texts of a server harmless for a terminal.
//!
//! The crate knows no socket, no clock and no thread.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod code;
mod error;
mod family;
mod param;
mod reply;
mod rows;
pub mod sanitize;
mod verdict;

pub use code::{Code, ErrorCode};
pub use error::ServerError;
pub use family::Family;
pub use param::Param;
pub use reply::{Completion, Expect, Prepared, Reply};
pub use rows::{ColumnType, ResultSet, Row, UnreadableRow, Value, Values};
pub use verdict::{Conflict, Fault, Usual, Verdict};

/// A text that is not a family's name, or not a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}")]
pub struct NotAName {
    text: String,
    what: &'static str,
}
