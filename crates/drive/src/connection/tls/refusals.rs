//! Why TLS is not possible: a plan that cannot be meant, or a handshake that failed.

use crate::error::{Failure, FailureKind};
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
