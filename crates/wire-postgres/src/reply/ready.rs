//! ReadyForQuery: the state of the transaction.

use crate::{WireError, status};

/// The state's flags: see [`status`].
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-READYFORQUERY>
#[inline]
pub(crate) fn parse_ready(body: &[u8]) -> Result<u16, WireError> {
    match body {
        b"I" => Ok(0),
        b"T" => Ok(status::IN_TRANSACTION),
        b"E" => Ok(status::IN_TRANSACTION | status::FAILED),
        _ => Err(WireError::BadField { message: "the end of a reply", field: "a state" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_three_states() {
        assert_eq!(parse_ready(b"I"), Ok(0));
        assert_eq!(parse_ready(b"T"), Ok(status::IN_TRANSACTION));
        assert_eq!(parse_ready(b"E"), Ok(status::IN_TRANSACTION | status::FAILED));
        for bad in [b"".as_slice(), b"X", b"II"] {
            assert!(parse_ready(bad).is_err());
        }
    }
}
