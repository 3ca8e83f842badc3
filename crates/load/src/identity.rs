//! What identifies a table.

use serde::{Deserialize, Serialize};

/// Rows of an answer, as text.
pub(super) type Answer = Vec<Vec<Option<String>>>;

/// What the server says of a table, to distinguish it from another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// When it was created. Creating an index changes this, adding rows does not.
    pub(super) made: Answer,
    /// Its columns in order and its comment, as the server shows them.
    pub(super) definition: Answer,
}

/// A table as the stage [`Make`](crate::Stage::Make) left it, for later stages on other machines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// Its number in the layout, from 1.
    pub table: u32,
    /// It was just created, and has no rows.
    pub is_new: bool,
    /// The ids to load into an existing table, as the first and the last of each run; `None`: all
    /// of them if it is new, otherwise not determined yet.
    #[serde(default)]
    pub missing: Option<Vec<(u64, u64)>>,
    /// Distinguishes it from another table of the same name.
    pub identity: Identity,
}
