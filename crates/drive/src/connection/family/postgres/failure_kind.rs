//! The kind of failure reported for a protocol error that did not come from the server.

use crate::error::FailureKind;
use loadstone_wire_postgres::WireError;

pub(crate) fn failure_kind(error: &WireError) -> FailureKind {
    match error {
        WireError::UnsendableText { .. } => FailureKind::Plan,
        WireError::TlsNotOffered | WireError::TlsRequestRefused => FailureKind::TlsRefused,
        WireError::PasswordWithheld { .. } => FailureKind::PasswordWithheld,
        WireError::NoPassword | WireError::ServerNotProven { .. } | WireError::NotBound { .. } => {
            FailureKind::LoginRefused
        }
        WireError::AuthNotSupported { .. }
        | WireError::OtherVersion { .. }
        | WireError::UnknownOption { .. } => FailureKind::NotSupported,
        _ => FailureKind::Protocol,
    }
}
