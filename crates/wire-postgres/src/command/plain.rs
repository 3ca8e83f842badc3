//! Commands without content.

use crate::frame::write_message;
use crate::message::client::{FLUSH, SYNC, TERMINATE};

/// Appends a Sync: the end of a series of extended commands. The server ends the transaction that
/// it began for them, answers with its state, and after an error takes commands again.
///
/// <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY>
pub fn write_sync(out: &mut Vec<u8>) {
    write_message(out, SYNC, |_| {});
}

/// Appends a Flush: the server sends what it has answered so far.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-FLUSH>
pub fn write_flush(out: &mut Vec<u8>) {
    write_message(out, FLUSH, |_| {});
}

/// Appends the end of the conversation. The server closes the connection without an answer.
///
/// <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-TERMINATION>
pub fn write_terminate(out: &mut Vec<u8>) {
    write_message(out, TERMINATE, |_| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_header_alone() {
        let mut out = Vec::new();
        write_sync(&mut out);
        write_flush(&mut out);
        write_terminate(&mut out);
        assert_eq!(out, b"S\0\0\0\x04H\0\0\0\x04X\0\0\0\x04");
    }
}
