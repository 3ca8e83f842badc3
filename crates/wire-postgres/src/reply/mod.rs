//! Replies: what the server answers to a command.

mod columns;
mod command_tag;
mod description;
mod error_fields;
mod exchange;
mod progress;
mod reader;
mod ready;
mod row;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use error_fields::{Report, old_error};
pub use exchange::Exchange;
pub(crate) use exchange::Unit;
pub use reader::ReplyReader;
pub(crate) use ready::parse_ready;
