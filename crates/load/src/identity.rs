//! What a table is known by.

use serde::{Deserialize, Serialize};

/// Rows that the server has answered, as text.
pub(super) type Answer = Vec<Vec<Option<String>>>;

/// What the server says of a table, so that another one of the same name is told from it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// When it was made. Making an index counts, rows do not.
    pub(super) made: Answer,
    /// Its columns in order and its comment, as the server has them.
    pub(super) definition: Answer,
}

/// A table as the stage [`Make`](crate::Stage::Make) left it, for the stages that follow elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// Its number in the layout, from 1.
    pub table: u32,
    /// It was just made, and has no row.
    pub is_new: bool,
    /// The ids of one that was there that have to be loaded, as the first and the last of each run; `None`: of one
    /// that is new all, of any other nobody has looked.
    #[serde(default)]
    pub missing: Option<Vec<(u64, u64)>>,
    /// What tells it from another one of its name.
    pub identity: Identity,
}
