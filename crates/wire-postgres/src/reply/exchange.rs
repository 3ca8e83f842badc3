//! What was sent, for which a reply is due.

/// The kinds of commands that have a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A query as text, of one statement or several.
    Query,
    /// Parse and Describe of a statement.
    Prepare,
    /// Bind and Execute of a prepared statement, with or without a Describe between them.
    Execute,
    /// Parse, Bind and Execute of a statement.
    ParseAndExecute,
    /// A Sync alone.
    Sync,
}

/// One command whose reply is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) exchange: Exchange,
    /// The number of the statement that is prepared, otherwise 0.
    pub(crate) statement_id: u32,
    /// Whether a Sync follows it, or it is a query or a Sync: then the reply ends with the state of
    /// the transaction.
    pub(crate) is_synced: bool,
}

impl Unit {
    /// One that a Sync follows.
    pub(crate) fn synced(exchange: Exchange) -> Self {
        Self { exchange, statement_id: 0, is_synced: true }
    }
}
