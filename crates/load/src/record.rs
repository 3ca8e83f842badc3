//! The records that a load writes; the format is documented in `docs/engine.md`.

use crate::identity::KnownTable;
use crate::method::Method;
use loadstone_drive::Failure;
use loadstone_drive::record::EndReason;
use serde::Serialize;

/// A record; each is one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The load makes progress.
    Progress(Progress),
    /// A statement makes no progress.
    Stalled(Stalled),
    /// The last record.
    End(LoadEnd),
}

/// The phase of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPhase {
    /// Tables are created, or inspected if they exist.
    Tables,
    /// Rows are loaded.
    Rows,
    /// Secondary indexes are created.
    Indexes,
    /// Foreign keys are added and checked, where they come after the rows.
    Keys,
    /// Rows are counted.
    Verify,
}

/// See [`Record::Progress`].
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Seconds since the start of the load.
    pub seconds: f64,
    /// Rows that exist, including those found at the start.
    pub rows: u64,
    /// Rows that will exist at the end.
    pub rows_total: u64,
    /// The current phase.
    pub phase: LoadPhase,
    /// Tables for which this phase is done.
    pub tables_done: u64,
    /// The statement that loads rows.
    pub method: Method,
}

/// The last record of a load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadEnd {
    /// How it ended.
    pub reason: EndReason,
    /// Why, when it failed.
    pub error: Option<Failure>,
    /// How long it took.
    pub seconds: f64,
    /// Rows that exist.
    pub rows: u64,
    /// Rows that this load added.
    pub rows_loaded: u64,
    /// The statement that loaded rows.
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

/// An incomplete range.
#[derive(Clone, Debug, Serialize)]
pub struct Missing {
    /// The table's name.
    pub table: String,
    /// The range, as an SQL condition.
    pub condition: String,
    /// How many rows it lacks.
    pub rows: u64,
}

/// A statement that makes no progress.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stalled {
    /// Seconds since the start of the load.
    pub seconds: f64,
    /// The server's connection id; `None` while the connection is being opened.
    pub connection: Option<u32>,
    /// The start of the statement.
    pub statement: String,
    /// How long it has made no progress, in seconds.
    pub silent_s: f64,
    /// What it waits for, in words, and what could not be determined.
    pub waits_for: String,
    /// Who holds what it waits for, if known.
    pub holder: Option<Holder>,
    /// How many other connections of the load are silent as well.
    pub others: usize,
    /// The action taken.
    pub deed: StallDeed,
}

/// The session that holds what a statement waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The server's connection id.
    pub connection: u64,
    /// `user@host`.
    pub user: Option<String>,
    /// The age of the transaction, or how long the statement has run, in seconds.
    pub seconds: Option<u64>,
    /// The statement without its quoted parts; `None` between two statements.
    pub statement: Option<String>,
}

/// What was done about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallDeed {
    /// Nothing yet.
    Watched,
    /// The statement was killed at the server; the work is then retried in another way.
    Ended,
    /// The connection was given up, as the statement did not end; the work is then retried on
    /// another one.
    GivenUp,
}
