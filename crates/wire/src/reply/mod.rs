//! Replies: what the server answers to a command.

mod eof;
mod err;
mod local_infile;
mod ok;
mod prepare_ok;
mod progress;
mod reader;
mod result_head;
mod rows;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use err::parse_error;
pub(crate) use ok::OkPacket;
pub use reader::ReplyReader;
pub use rows::{ResultSet, Row};
pub use values::{ColumnType, Value, Values};

use crate::ServerError;

/// How a packet starts that is an OK.
pub(crate) const OK: u8 = 0x00;
/// How a packet starts that is an EOF, or the OK at the end of a result set.
pub(crate) const EOF: u8 = 0xfe;
/// How a packet starts that is an error.
pub(crate) const ERR: u8 = 0xff;

/// What kind of reply a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A query's: OK, text result sets, a request for a local file. Also the OK of a ping or a
    /// reset.
    Query,
    /// A prepare's.
    Prepare,
    /// An execution's: OK, binary result sets.
    Execute,
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command was carried out.
    Done(Completion),
    /// The statement can be executed.
    Prepared(Prepared),
    /// The command failed; the connection is fine. Rows may have come before.
    Failed(Box<ServerError>),
    /// The server waits for a file: send it with
    /// [`write_local_infile_data`](crate::write_local_infile_data) and end it with
    /// [`write_local_infile_end`](crate::write_local_infile_end); then the reply to the statement
    /// comes.
    LocalInfile {
        /// The name in the statement. It is the server's word: never open it without having chosen
        /// it.
        name: String,
    },
}

/// What a command did, summed over its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows in all result sets.
    pub rows: u64,
    /// Rows that statements changed.
    pub affected_rows: u64,
    /// The last id that a statement generated, or 0.
    pub last_insert_id: u64,
    /// The session's state after the last result: see [`status`](crate::status).
    pub status: u16,
    /// Warnings of all results.
    pub warnings: u16,
    /// Whether there was a result set, be it empty.
    pub has_result_set: bool,
}

/// A prepared statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The server's name for it.
    pub statement_id: u32,
    /// How many parameters it has.
    pub params: u16,
    /// How many columns its result has, 0 if it has no result set.
    pub columns: u16,
}
