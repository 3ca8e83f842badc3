//! The client's side of LOAD DATA LOCAL INFILE.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_local_infile_request.html>

use crate::frame::{HEADER, write_message};

/// Appends a piece of the file. `body` writes it directly into the send buffer: a load is hundreds
/// of megabytes, and one more copy of them would be a good part of its cost. `sequence` starts as
/// [`ReplyReader::next_sequence`](crate::ReplyReader::next_sequence) and is passed from call to
/// call. Returns whether there was a piece: if `body` wrote nothing, nothing is appended, since an
/// empty packet would end the file. The server's `max_allowed_packet` limits a packet, so pieces
/// are best kept under a megabyte.
pub fn write_local_infile_data(
    out: &mut Vec<u8>,
    sequence: &mut u8,
    body: impl FnOnce(&mut Vec<u8>),
) -> bool {
    let start = out.len();
    let next = write_message(out, *sequence, body);
    if out.len() == start + HEADER {
        out.truncate(start);
        return false;
    }
    *sequence = next;
    true
}

/// Appends the end of the file: an empty packet. The server then answers the statement.
pub fn write_local_infile_end(out: &mut Vec<u8>, sequence: &mut u8) {
    *sequence = write_message(out, *sequence, |_| {});
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MAX_PACKET_PAYLOAD;

    fn write(out: &mut Vec<u8>, sequence: &mut u8, piece: &[u8]) -> bool {
        write_local_infile_data(out, sequence, |out| out.extend_from_slice(piece))
    }

    #[test]
    fn pieces_are_numbered_on_and_an_empty_packet_ends_them() {
        let (mut out, mut sequence) = (Vec::new(), 2);
        assert!(write(&mut out, &mut sequence, b"1\ta\n"));
        assert!(!write(&mut out, &mut sequence, b""));
        assert!(write(&mut out, &mut sequence, b"2\tb\n"));
        write_local_infile_end(&mut out, &mut sequence);
        assert_eq!(out, b"\x04\0\0\x021\ta\n\x04\0\0\x032\tb\n\0\0\0\x04");
        assert_eq!(sequence, 5);
    }

    #[test]
    fn numbers_wrap_after_255() {
        let (mut out, mut sequence) = (Vec::new(), 255);
        write(&mut out, &mut sequence, b"x");
        assert_eq!(sequence, 0);
    }

    #[test]
    fn a_huge_piece_goes_on_in_the_next_packet() {
        let (mut out, mut sequence) = (Vec::new(), 2);
        write(&mut out, &mut sequence, &vec![b'x'; MAX_PACKET_PAYLOAD + 1]);
        assert_eq!(out.len(), MAX_PACKET_PAYLOAD + 1 + 2 * HEADER);
        assert_eq!(out[..4], [0xff, 0xff, 0xff, 2]);
        assert_eq!(out[out.len() - 5..], [1, 0, 0, 3, b'x']);
        assert_eq!(sequence, 4);
    }
}
