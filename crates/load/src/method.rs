//! The statements that can load rows.

use serde::{Deserialize, Serialize};

/// The statement that loads rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// LOAD DATA LOCAL.
    Infile,
    /// INSERT with many rows.
    Insert,
}

/// The requested way to load rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodWish {
    /// LOAD DATA LOCAL if the server allows it, otherwise INSERT.
    Auto,
    /// LOAD DATA LOCAL only.
    Infile,
    /// INSERT with many rows.
    Insert,
}
