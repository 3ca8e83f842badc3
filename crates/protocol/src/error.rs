//! Errors as reported by the server.

use std::fmt;

use crate::{Code, ErrorCode};

/// A server's error. Shown as its message, its code, and the SQL state where that is another one.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its code, such as 1213 for a deadlock in MySQL. In PostgreSQL it is the SQL state.
    pub code: ErrorCode,
    /// The five characters of the SQL state, `HY000` when the server sent none.
    pub sql_state: [u8; 5],
    /// The server's message.
    pub message: String,
    /// Where in the statement the error is: which of its characters, from 1, if the server says so.
    pub position: Option<u32>,
}

impl ServerError {
    /// The SQL state as text.
    pub fn sql_state_text(&self) -> &str {
        std::str::from_utf8(&self.sql_state).unwrap_or("HY000")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if Code::of_state(&self.sql_state) == Some(self.code.code) {
            return write!(f, "{} ({})", self.message, self.code);
        }
        write!(f, "{} ({}, {})", self.message, self.code, self.sql_state_text())
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerError({self})")
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    #[test]
    fn a_state_that_is_the_code_is_shown_once() {
        let code = Code::of_state(b"40P01").unwrap();
        let family = Family::new("postgresql");
        let message = "deadlock detected".to_owned();
        let error = ServerError {
            code: ErrorCode { family, code },
            sql_state: *b"40P01",
            message,
            position: None,
        };
        assert_eq!(error.to_string(), "deadlock detected (40P01)");
        let code = ErrorCode { family: Family::new("mysql"), code: Code::of_number(1213) };
        let error = ServerError { code, sql_state: *b"40001", ..error };
        assert_eq!(error.to_string(), "deadlock detected (1213, 40001)");
    }
}
