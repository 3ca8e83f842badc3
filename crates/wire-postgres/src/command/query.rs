//! Query: SQL as text.

use crate::frame::{HEADER, begin_message, seal_message};
use crate::message::client::QUERY;

/// The start of a command whose text is still being written. Pass it to [`end`].
#[must_use = "the message has no length until `end` is called"]
#[derive(Debug)]
pub struct CommandMark {
    start: usize,
}

/// Appends a query. The reply is read with [`Exchange::Query`](crate::Exchange::Query).
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-QUERY>
pub fn write_query(out: &mut Vec<u8>, sql: &[u8]) {
    out.reserve(HEADER + sql.len() + 1);
    let mark = begin_query(out);
    out.extend_from_slice(sql); // String
    end(out, mark);
}

/// Starts a query whose SQL the caller then appends to `out` itself.
pub fn begin_query(out: &mut Vec<u8>) -> CommandMark {
    CommandMark { start: begin_message(out, QUERY) }
}

/// Finishes the query that started at `mark`.
pub fn end(out: &mut Vec<u8>, mark: CommandMark) {
    debug_assert!(out.len() >= mark.start + HEADER, "the mark is of another buffer");
    out.push(0);
    seal_message(out, mark.start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_its_text_behind_a_header() {
        let mut out = Vec::new();
        write_query(&mut out, b"SELECT 1");
        assert_eq!(out, b"Q\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn text_rendered_in_place_gives_the_same_message() {
        let mut rendered = b"x".to_vec();
        let mark = begin_query(&mut rendered);
        rendered.extend_from_slice(b"SELECT ");
        rendered.extend_from_slice(b"1");
        end(&mut rendered, mark);
        let mut written = b"x".to_vec();
        write_query(&mut written, b"SELECT 1");
        assert_eq!(rendered, written);
    }
}
