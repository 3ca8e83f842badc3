//! What a script is resumed with once a request is finished.

use crate::connection::Loss;
use loadstone_protocol::{ErrorCode, ServerError};

/// The value that the script continues with.
pub(super) enum Resume {
    /// The user's current part starts.
    Begin,
    /// The request is done.
    Done,
    /// The results of the connection at this place.
    Results { place: usize },
    /// An error, with a code of the server's family.
    Refused { code: ErrorCode, sql_state: [u8; 5], message: String },
    /// There is no next event.
    NoMore,
}

impl Resume {
    pub(super) fn refusal(error: &ServerError) -> Self {
        let message = error.message.clone();
        Self::Refused { code: error.code, sql_state: error.sql_state, message }
    }

    pub(super) fn failure(code: ErrorCode, message: String) -> Self {
        Self::Refused { code, sql_state: *b"HY000", message }
    }

    pub(super) fn loss(loss: &Loss) -> Self {
        Self::failure(loss.code, loss.message.clone())
    }
}
