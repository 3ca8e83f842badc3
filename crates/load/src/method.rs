//! By which statement rows travel.

use serde::{Deserialize, Serialize};

/// By which statement rows travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// LOAD DATA LOCAL.
    Infile,
    /// INSERT with many rows.
    Insert,
}

/// By which statement rows are wanted to travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodWish {
    /// LOAD DATA LOCAL when the server lets it, else INSERT.
    Auto,
    /// LOAD DATA LOCAL or nothing.
    Infile,
    /// INSERT with many rows.
    Insert,
}
