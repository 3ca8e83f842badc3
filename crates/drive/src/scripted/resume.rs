//! What a script is resumed with, once something that it asked for has come to an end.

use crate::connection::Loss;
use loadstone_protocol::{ErrorCode, ServerError};

/// What the script goes on with.
pub(super) enum Resume {
    /// The part that the user is in begins.
    Begin,
    /// What it asked for is done.
    Done,
    /// The results that the connection at this place has.
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
