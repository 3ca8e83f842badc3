//! The statements that can load rows.

use serde::{Deserialize, Serialize};

/// The statement that loads rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// LOAD DATA LOCAL.
    Infile,
    /// COPY.
    Copy,
    /// INSERT with many rows.
    Insert,
}

/// The requested way to load rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodWish {
    /// COPY in PostgreSQL; LOAD DATA LOCAL in MySQL if the server allows it, otherwise INSERT.
    Auto,
    /// LOAD DATA LOCAL only.
    Infile,
    /// INSERT with many rows.
    Insert,
}
