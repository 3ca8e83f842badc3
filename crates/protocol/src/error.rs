//! Errors as reported by the server.

use std::fmt;

use crate::ErrorCode;

/// A server's error.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its code, such as 1213 for a deadlock in MySQL.
    pub code: ErrorCode,
    /// The five characters of the SQL state, `HY000` when the server sent none.
    pub sql_state: [u8; 5],
    /// The server's message.
    pub message: String,
}

impl ServerError {
    /// The SQL state as text.
    pub fn sql_state_text(&self) -> &str {
        std::str::from_utf8(&self.sql_state).unwrap_or("HY000")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.code, self.sql_state_text())
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerError({self})")
    }
}

impl std::error::Error for ServerError {}
