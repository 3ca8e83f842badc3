//! Why connections are lost.

use super::family::{ProtocolError, ServerFamily, verdict};
use super::stream::protocol_error;
use crate::error::{Failure, FailureKind, os_text};
use loadstone_protocol::{ErrorCode, Fault, ServerError, Verdict};

/// Why a connection was lost, with a code of its server's family.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Loss {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn closed(family: ServerFamily) -> Self {
        Self::new(family.code_of(Fault::ConnectionLost), "the server closed the connection")
    }

    pub(crate) fn from_io(family: ServerFamily, error: &std::io::Error) -> Self {
        match protocol_error(error) {
            Some(error) => Self::from_protocol(error),
            None => Self::new(family.code_of(Fault::ConnectionLost), os_text(error)),
        }
    }

    pub(crate) fn from_server(error: &ServerError) -> Self {
        Self::new(error.code, error.message.clone())
    }

    /// The server sent an answer that nothing had asked for.
    pub(crate) fn out_of_turn(family: ServerFamily) -> Self {
        Self::new(family.code_of(Fault::Garbled), "an answer to something else")
    }

    /// A server that shuts down, or kills a session, says so without being asked.
    pub(crate) fn from_protocol(error: &ProtocolError) -> Self {
        Self::new(error.code(), error.message())
    }

    /// The failure to report when the loss ends an attempt or the step.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match verdict(self.code) {
            Verdict::Garbled => FailureKind::Protocol,
            _ => FailureKind::Unreachable,
        };
        Failure::new(kind, Some(self.code), self.message.clone())
    }
}

/// Whether the server closes the connection after this error.
pub(crate) fn ends_connection(code: ErrorCode) -> bool {
    matches!(verdict(code), Verdict::ConnectionEnds { .. })
}
