//! Replies: what the server answers to a command.

use crate::ServerError;

/// The kind of reply that a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A query's reply: done, result sets as text, or a request for a file. Also that of a ping or
    /// a reset.
    Query,
    /// A prepare's reply.
    Prepare,
    /// An execution's reply: done, or result sets with typed values.
    Execute,
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command was executed.
    Done(Completion),
    /// The statement can be executed.
    Prepared(Prepared),
    /// The command failed; the connection is fine. Rows may have been received before.
    Failed(Box<ServerError>),
    /// The server waits for a file: after its pieces and its end are sent, the reply to the
    /// statement follows.
    WantsFile {
        /// The name in the statement. The server chooses it: never open it without having chosen it
        /// yourself.
        name: String,
    },
}

/// The effect of a command, summed over its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows in all result sets.
    pub rows: u64,
    /// Rows that the statements changed.
    pub affected_rows: u64,
    /// The last id that a statement generated, or 0.
    pub last_insert_id: u64,
    /// The session's state after the last result, in the family's own flags.
    pub status: u16,
    /// Warnings of all results.
    pub warnings: u16,
    /// Whether there was a result set, even an empty one.
    pub has_result_set: bool,
}

/// A prepared statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The connection's id for it.
    pub statement_id: u32,
    /// The number of parameters.
    pub params: u16,
    /// The number of columns of its result, 0 if it has no result set.
    pub columns: u16,
}
