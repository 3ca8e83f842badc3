//! What a family's protocol has to say when it cannot go on.

use super::mysql;
use crate::error::Failure;
use loadstone_protocol::ErrorCode;
use std::fmt;

/// Bytes that a family's protocol does not allow, a refusal that its client makes, or the server's last word.
#[derive(Debug)]
pub(crate) enum ProtocolError {
    MySql(mysql::WireError),
}

impl ProtocolError {
    /// The server's code, or the one that the family's clients give.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::MySql(error) => error.code(),
        }
    }

    /// Why a login, or a step, comes to nothing.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::MySql(mysql::WireError::Server(server)) => return Failure::from_server(server),
            Self::MySql(error) => mysql::failure_kind(error),
        };
        Failure::new(kind, Some(self.code()), self.to_string())
    }

    /// The server's words alone, or what is wrong.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::MySql(mysql::WireError::Server(server)) => server.message.clone(),
            Self::MySql(error) => error.to_string(),
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProtocolError {}
