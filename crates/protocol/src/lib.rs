//! What a client and its server say to each other, in words that belong to no family of servers.
//!
//! A family's protocol is a crate of its own: `loadstone-wire` is that of MySQL and MariaDB. Whoever drives
//! load, runs scripts or keeps figures knows the words in here and none of the family's. Its parts:
//!
//! - [`Param`] goes to the server; [`Reply`], [`Completion`] and [`ResultSet`] come back.
//! - [`ServerError`] is what it refuses, with an [`ErrorCode`] of a [`Family`]. A [`Verdict`] says what that
//!   means, and a [`Fault`] what went wrong without a word of the server.
//!
//! The crate knows no socket, no clock and no thread.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod code;
mod error;
mod family;
mod param;
mod reply;
mod rows;
mod verdict;

pub use code::{Code, ErrorCode};
pub use error::ServerError;
pub use family::Family;
pub use param::Param;
pub use reply::{Completion, Expect, Prepared, Reply};
pub use rows::{ColumnType, ResultSet, Row, UnreadableRow, Value, Values};
pub use verdict::{Fault, Usual, Verdict};

/// A text that is no name of a family, or no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}")]
pub struct NotAName {
    text: String,
    what: &'static str,
}
