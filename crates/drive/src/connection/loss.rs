//! Why connections are lost, and the error numbers that say so.

use super::stream::wire_error;
use crate::error::{FailureKind, os_text};
use loadstone_wire::{ServerError, WireError};

/// CR_SERVER_GONE_ERROR.
pub(crate) const SERVER_GONE: u16 = 2006;
/// CR_SERVER_LOST.
pub(crate) const LOST: u16 = 2013;
/// ER_UNSUPPORTED_PS: the server cannot prepare this statement.
pub(crate) const CANNOT_PREPARE: u16 = 1295;

/// Why a connection was lost, in the field's numbers.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) errno: u16,
    pub(crate) message: String,
}

impl Loss {
    pub(crate) fn closed() -> Self {
        Self { errno: LOST, message: "the server closed the connection".to_owned() }
    }

    pub(crate) fn from_io(error: &std::io::Error) -> Self {
        if let Some(error) = wire_error(error) {
            return Self::from_wire(error);
        }
        Self { errno: LOST, message: os_text(error) }
    }

    pub(crate) fn from_server(error: &ServerError) -> Self {
        Self { errno: error.errno, message: error.message.clone() }
    }

    pub(crate) fn garbled(message: String) -> Self {
        Self { errno: 2027, message }
    }

    /// A server that shuts down, or kills a session, says so without being asked.
    pub(crate) fn from_wire(error: &WireError) -> Self {
        match error {
            WireError::Server(server) => Self::from_server(server),
            other => Self::garbled(other.to_string()),
        }
    }

    pub(crate) fn kind(&self) -> FailureKind {
        match self.errno {
            2027 => FailureKind::Protocol,
            _ => FailureKind::Unreachable,
        }
    }
}

/// After these the server closes the connection: shutdown in progress, connection killed,
/// disconnected for inactivity (MySQL 8.0.24+), aborted by the network. Not 1153, a statement above
/// `max_allowed_packet`: the server closes after it, but it is the statement that failed.
pub(crate) fn ends_connection(errno: u16) -> bool {
    matches!(errno, 1053 | 1927 | 4031 | 1152 | 1154..=1161 | 1184)
}
