//! The kind of failure reported for a protocol error that did not come from the server.

use crate::error::FailureKind;
use loadstone_wire::WireError;

pub(crate) fn failure_kind(error: &WireError) -> FailureKind {
    match error {
        WireError::NulByte { .. } | WireError::BadPublicKey { .. } => FailureKind::Plan,
        WireError::TlsNotOffered => FailureKind::TlsRefused,
        WireError::CompressionNotOffered { .. } => FailureKind::CompressionRefused,
        WireError::PublicKeyNeeded { .. } => FailureKind::PublicKeyNeeded,
        WireError::PasswordWithheld { .. } => FailureKind::PasswordWithheld,
        WireError::AuthNotSupported { .. } | WireError::OldServer { .. } => {
            FailureKind::NotSupported
        }
        _ => FailureKind::Protocol,
    }
}
