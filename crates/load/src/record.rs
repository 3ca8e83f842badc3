//! The records that a load writes; the format is documented in `docs/engine.md`.

use crate::identity::KnownTable;
use crate::method::Method;
use loadstone_drive::Failure;
use loadstone_drive::record::EndReason;
use serde::Serialize;

/// One line of JSON each.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// Loading goes on.
    Progress(Progress),
    /// A statement does not come on.
    Stalled(Stalled),
    /// The last record.
    End(LoadEnd),
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPhase {
    /// Tables are made, or looked at when they exist.
    Tables,
    /// Rows travel.
    Rows,
    /// Secondary indexes are made.
    Indexes,
    /// Rows are counted.
    Verify,
}

/// See [`Record::Progress`].
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Since the load's begin.
    pub seconds: f64,
    /// Rows that are there, those found there included.
    pub rows: u64,
    /// Rows that will be there.
    pub rows_total: u64,
    /// What is being done.
    pub phase: LoadPhase,
    /// Tables with which this phase is done.
    pub tables_done: u64,
    /// By which statement rows travel.
    pub method: Method,
}

/// The last record of a load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadEnd {
    /// How.
    pub reason: EndReason,
    /// Why, when it failed.
    pub error: Option<Failure>,
    /// How long it took.
    pub seconds: f64,
    /// Rows that are there.
    pub rows: u64,
    /// Rows that this load brought.
    pub rows_loaded: u64,
    /// By which statement.
    pub method: Method,
    /// CPU time of the loader's threads.
    pub cpu_us: u64,
    /// After the stage `make`: all tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<KnownTable>,
    /// After the stage `look`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// A range that is not there in full.
#[derive(Clone, Debug, Serialize)]
pub struct Missing {
    /// The table's name.
    pub table: String,
    /// The range, as SQL says it.
    pub condition: String,
    /// How many rows it lacks.
    pub rows: u64,
}

/// A statement that does not come on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stalled {
    /// Since the load's begin.
    pub seconds: f64,
    /// The server's number for the connection; `None` while it is opened.
    pub connection: Option<u32>,
    /// Its beginning.
    pub statement: String,
    /// For how long there has been no sign of it.
    pub silent_s: f64,
    /// In words, and what could not be seen.
    pub waits_for: String,
    /// Who has what it waits for, where that could be seen.
    pub holder: Option<Holder>,
    /// How many other connections of the load are silent as well.
    pub others: usize,
    /// What was done about it.
    pub deed: StallDeed,
}

/// Somebody who holds what a statement waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The server's number for the connection.
    pub connection: u64,
    /// `user@host`.
    pub user: Option<String>,
    /// How old the transaction is, or how long the statement has gone on.
    pub seconds: Option<u64>,
    /// Without what stood between quotes; `None` between two statements.
    pub statement: Option<String>,
}

/// What was done about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallDeed {
    /// Nothing so far.
    Watched,
    /// The server was told to end it; then it is tried in another way.
    Ended,
    /// The connection was given up, as the statement did not end; then it is tried on another one.
    GivenUp,
}
