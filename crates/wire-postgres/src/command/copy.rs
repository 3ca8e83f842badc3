//! The client's side of COPY FROM STDIN: pieces of rows, and their end.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

use crate::frame::{HEADER, begin_message, put_string, seal_message, write_message};
use crate::message::client::{COPY_DATA, COPY_DONE, COPY_FAIL};

/// Appends a piece of the rows, which `body` writes directly into the send buffer: a load is
/// hundreds of megabytes, and one more copy of them would be a good part of its cost. Pieces may end
/// anywhere, also within a row. Returns whether there was a piece: if `body` wrote nothing, nothing
/// is appended.
pub fn write_copy_data(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) -> bool {
    let start = begin_message(out, COPY_DATA);
    body(out);
    if out.len() == start + HEADER {
        out.truncate(start);
        return false;
    }
    seal_message(out, start);
    true
}

/// Appends the end of the rows. The server then answers the statement.
pub fn write_copy_done(out: &mut Vec<u8>) {
    write_message(out, COPY_DONE, |_| {});
}

/// Appends the end of the rows where they could not be made: the statement fails, with `reason` in
/// the server's message.
pub fn write_copy_fail(out: &mut Vec<u8>, reason: &[u8]) {
    write_message(out, COPY_FAIL, |out| put_string(out, reason)); // String
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_data_and_an_end_has_none() {
        let mut out = Vec::new();
        assert!(write_copy_data(&mut out, |out| out.extend_from_slice(b"1\ta\n")));
        assert!(!write_copy_data(&mut out, |_| {}));
        write_copy_done(&mut out);
        write_copy_fail(&mut out, b"disk");
        assert_eq!(out, b"d\0\0\0\x081\ta\nc\0\0\0\x04f\0\0\0\x09disk\0");
    }
}
