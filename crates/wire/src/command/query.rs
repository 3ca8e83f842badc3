//! COM_QUERY: SQL as text.

use crate::frame::{HEADER, seal_message};

const COM_QUERY: u8 = 0x03;

/// The start of a command whose text is still being written. Pass it to [`end`].
#[must_use = "the packet has no length until `end` is called"]
#[derive(Debug)]
pub struct CommandMark {
    start: usize,
}

/// Appends a query. The reply is read with [`Expect::Query`](crate::Expect::Query).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>
pub fn write_query(out: &mut Vec<u8>, sql: &[u8]) {
    out.reserve(HEADER + 1 + sql.len());
    let mark = begin_query(out);
    out.extend_from_slice(sql); // string<EOF>
    end(out, mark);
}

/// Starts a query whose SQL the caller then appends to `out` itself.
pub fn begin_query(out: &mut Vec<u8>) -> CommandMark {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]); // header, int<1>
    CommandMark { start }
}

/// Finishes the command that started at `mark`: its length is filled in, and it is split if it is
/// 16 MiB or longer.
pub fn end(out: &mut Vec<u8>, mark: CommandMark) {
    debug_assert!(out.len() > mark.start + HEADER, "the mark is of another buffer");
    seal_message(out, mark.start, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_its_text_behind_a_header() {
        let mut out = Vec::new();
        write_query(&mut out, b"SELECT 1");
        assert_eq!(out, b"\x09\0\0\0\x03SELECT 1");
    }

    #[test]
    fn text_rendered_in_place_gives_the_same_packet() {
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
