//! The error of a family's protocol.

use super::{mysql, postgres};
use crate::error::Failure;
use loadstone_protocol::ErrorCode;
use std::fmt;

/// Bytes that the protocol does not allow, a refusal by our client, or the server's final error.
#[derive(Debug)]
pub(crate) enum ProtocolError {
    MySql(mysql::WireError),
    Postgres(postgres::WireError),
}

impl ProtocolError {
    /// The server's code, or the one that the family's clients give.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::MySql(error) => error.code(),
            Self::Postgres(error) => error.code(),
        }
    }

    /// The failure to report when this error ends a login or a step.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::MySql(mysql::WireError::Server(server))
            | Self::Postgres(postgres::WireError::Server(server)) => {
                return Failure::from_server(server);
            }
            Self::MySql(error) => mysql::failure_kind(error),
            Self::Postgres(error) => postgres::failure_kind(error),
        };
        Failure::new(kind, Some(self.code()), self.to_string())
    }

    /// The server's message alone, or a description of the error.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::MySql(mysql::WireError::Server(server))
            | Self::Postgres(postgres::WireError::Server(server)) => server.message.clone(),
            Self::MySql(error) => error.to_string(),
            Self::Postgres(error) => error.to_string(),
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(error) => error.fmt(f),
            Self::Postgres(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProtocolError {}
