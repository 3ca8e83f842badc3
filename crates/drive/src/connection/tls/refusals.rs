//! Why TLS is not possible: a plan that cannot be meant, or a handshake that failed.

use crate::error::{Failure, FailureKind};
use rustls::{AlertDescription, Error};
use std::io;
use std::path::Path;

/// A handshake that failed by what the two sides say to each other.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Refused {
    pub(crate) text: String,
    /// They have no version or cipher that both speak: other versions and ciphers may help.
    pub(crate) nothing_in_common: bool,
}

impl Refused {
    pub(super) fn into_io(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }
}

pub(super) fn plan_failure(text: String) -> Failure {
    Failure::new(FailureKind::Plan, None, text)
}

pub(super) fn file_failure(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Failure {
    plan_failure(format!("{what} {}: {error}", path.display()))
}

/// What a failed handshake means; an error of the connection stays what it is.
pub(super) fn judged(error: io::Error) -> io::Error {
    match error.downcast::<Error>() {
        Ok(said) => refusal(&said).into_io(),
        Err(broke) => broke,
    }
}

fn refusal(error: &Error) -> Refused {
    let (text, nothing_in_common) = match error {
        // Older versions answer with records that rustls does not know.
        Error::PeerIncompatible(_)
        | Error::InvalidMessage(_)
        | Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            (format!("the server speaks neither TLS 1.2 nor 1.3 ({error})"), true)
        }
        Error::AlertReceived(
            AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity,
        ) => (format!("the server has no TLS cipher in common with this program ({error})"), true),
        Error::General(ours) => (ours.clone(), false),
        _ => (error.to_string(), false),
    };
    Refused { text, nothing_in_common }
}
