//! Replies: what the server answers to a command.

use crate::ServerError;

/// What kind of reply a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A query's: done, result sets as text, a wish for a file. Also that of a ping or a reset.
    Query,
    /// A prepare's.
    Prepare,
    /// An execution's: done, result sets with typed values.
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
    /// The server waits for a file: when its pieces and its end are sent, the reply to the statement comes.
    WantsFile {
        /// The name in the statement. It is the server's word: never open it without having chosen it.
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
    /// The session's state after the last result, in flags of the family's own.
    pub status: u16,
    /// Warnings of all results.
    pub warnings: u16,
    /// Whether there was a result set, be it empty.
    pub has_result_set: bool,
}

/// A prepared statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The connection's name for it.
    pub statement_id: u32,
    /// How many parameters it has.
    pub params: u16,
    /// How many columns its result has, 0 if it has no result set.
    pub columns: u16,
}
