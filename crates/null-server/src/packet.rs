//! The server's side of the packets. Written independently of `loadstone-wire`, so that a mistake
//! there is not repeated here.

/// Bytes of a packet's header.
pub(crate) const HEADER: usize = 4;
/// The most that one packet carries; a message of this length continues in the next packet.
pub(crate) const MAX_PAYLOAD: usize = 0xff_ffff;

const AUTOCOMMIT: u16 = 0x0002;
const IN_TRANSACTION: u16 = 0x0001;

/// The connection's state that affects an answer's encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Result sets end with an OK packet, not with EOF.
    pub(crate) deprecate_eof: bool,
    /// A transaction is open.
    pub(crate) in_transaction: bool,
}

impl Shape {
    /// Every shape, at its `index`.
    pub(crate) const ALL: [Self; 4] = [
        Self { deprecate_eof: false, in_transaction: false },
        Self { deprecate_eof: true, in_transaction: false },
        Self { deprecate_eof: false, in_transaction: true },
        Self { deprecate_eof: true, in_transaction: true },
    ];

    pub(crate) fn index(self) -> usize {
        usize::from(self.deprecate_eof) | usize::from(self.in_transaction) << 1
    }

    fn status(self) -> u16 {
        AUTOCOMMIT | if self.in_transaction { IN_TRANSACTION } else { 0 }
    }
}

/// Appends a packet that `body` writes, and increments the sequence number.
pub(crate) fn put_packet(out: &mut Vec<u8>, sequence: &mut u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    body(out);
    let length = out.len() - start - HEADER;
    debug_assert!(length < MAX_PAYLOAD, "answers are short");
    let [low, middle, high, ..] = length.to_le_bytes();
    out[start..start + HEADER].copy_from_slice(&[low, middle, high, *sequence]);
    *sequence = sequence.wrapping_add(1);
}

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html>
pub(crate) fn put_ok(out: &mut Vec<u8>, sequence: &mut u8, affected: u64, shape: Shape) {
    put_packet(out, sequence, |out| put_ok_body(out, 0x00, affected, shape));
}

/// The end of a result set's rows.
pub(crate) fn put_rows_end(out: &mut Vec<u8>, sequence: &mut u8, shape: Shape) {
    if shape.deprecate_eof {
        put_packet(out, sequence, |out| put_ok_body(out, 0xfe, 0, shape));
    } else {
        put_eof(out, sequence, shape);
    }
}

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_eof_packet.html>
pub(crate) fn put_eof(out: &mut Vec<u8>, sequence: &mut u8, shape: Shape) {
    put_packet(out, sequence, |out| {
        out.push(0xfe); // int<1>
        out.extend_from_slice(&0_u16.to_le_bytes()); // int<2> warnings
        out.extend_from_slice(&shape.status().to_le_bytes()); // int<2>
    });
}

fn put_ok_body(out: &mut Vec<u8>, first: u8, affected: u64, shape: Shape) {
    out.push(first); // int<1>
    put_length(out, affected); // int<lenenc>
    put_length(out, 0); // int<lenenc> last insert id
    out.extend_from_slice(&shape.status().to_le_bytes()); // int<2>
    out.extend_from_slice(&0_u16.to_le_bytes()); // int<2> warnings
}

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_err_packet.html>
pub(crate) fn put_error(
    out: &mut Vec<u8>,
    sequence: &mut u8,
    errno: u16,
    sql_state: &str,
    message: &str,
) {
    put_packet(out, sequence, |out| {
        out.push(0xff); // int<1>
        out.extend_from_slice(&errno.to_le_bytes()); // int<2>
        // A server that refuses a connection does not know yet what the client can read, and omits
        // the state.
        if !sql_state.is_empty() {
            out.push(b'#'); // string[1]
            out.extend_from_slice(sql_state.as_bytes()); // string[5]
        }
        out.extend_from_slice(message.as_bytes()); // string<EOF>
    });
}

/// Appends `int<lenenc>`.
pub(crate) fn put_length(out: &mut Vec<u8>, value: u64) {
    let [a, b, c, ..] = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(a),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, a, b, c]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends `string<lenenc>`.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_length(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Numbers the packets in `bytes` from `first` on: answers are prebuilt for commands of one packet.
pub(crate) fn renumber(bytes: &mut [u8], first: u8) {
    let (mut at, mut sequence) = (0, first);
    while let Some(&[low, middle, high, _]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        bytes[at + 3] = sequence;
        sequence = sequence.wrapping_add(1);
        at += HEADER + u32::from_le_bytes([low, middle, high, 0]) as usize;
    }
}

/// A complete message at the start of `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The payload of its first packet.
    pub(crate) payload: &'a [u8],
    /// The sequence number of the answer's first packet.
    pub(crate) answer_sequence: u8,
    /// Its size in bytes, including headers and further packets.
    pub(crate) length: usize,
}

/// The message at the start of `bytes`; `None`: more bytes are needed.
pub(crate) fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let mut at = 0;
    loop {
        let &[low, middle, high, sequence] = bytes.get(at..)?.first_chunk()?;
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        at += HEADER;
        let end = at + length;
        if bytes.len() < end {
            return None;
        }
        at = end;
        if length < MAX_PAYLOAD {
            let first = bytes[..end].first_chunk::<HEADER>()?;
            let first = u32::from_le_bytes([first[0], first[1], first[2], 0]) as usize;
            let payload = &bytes[HEADER..HEADER + first];
            return Some(Message {
                payload,
                answer_sequence: sequence.wrapping_add(1),
                length: end,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_only_with_its_last_byte() {
        let bytes = b"\x03\0\0\0abcrest";
        for length in 0..7 {
            assert_eq!(message(&bytes[..length]), None);
        }
        let whole = message(bytes).unwrap();
        assert_eq!((whole.payload, whole.answer_sequence, whole.length), (&b"abc"[..], 1, 7));
    }

    #[test]
    fn a_message_of_two_packets_is_answered_with_the_third_number() {
        let mut bytes = vec![0xff, 0xff, 0xff, 0];
        bytes.resize(HEADER + MAX_PAYLOAD, b'x');
        assert_eq!(message(&bytes), None);
        bytes.extend_from_slice(b"\x01\0\0\x01y");
        let whole = message(&bytes).unwrap();
        assert_eq!((whole.payload.len(), whole.answer_sequence), (MAX_PAYLOAD, 2));
        assert_eq!(whole.length, bytes.len());
    }

    #[test]
    fn renumbering_goes_through_all_packets() {
        let (mut out, mut sequence) = (Vec::new(), 1);
        put_ok(&mut out, &mut sequence, 300, Shape::ALL[0]);
        put_eof(&mut out, &mut sequence, Shape::ALL[3]);
        assert_eq!(sequence, 3);
        let second = out.len() - 9;
        renumber(&mut out, 255);
        assert_eq!((out[3], out[second + 3]), (255, 0));
    }
}
