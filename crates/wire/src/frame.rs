//! Packets: a header of four bytes, then up to 16 MiB - 1 of payload.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html>

use crate::WireError;

/// The most that one packet carries; a message of this length or more continues in the next packet.
pub const MAX_PACKET_PAYLOAD: usize = 0xff_ffff;

/// The most that is held of a packet that must be read as a whole. Rows are not: they are skipped
/// as they arrive.
pub const MAX_WHOLE_PACKET: usize = 1 << 20;

/// Bytes of a packet's header.
pub(crate) const HEADER: usize = 4;

/// A packet's header.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    /// `int<3>`
    pub(crate) length: u32,
    /// `int<1>`
    pub(crate) sequence: u8,
}

impl Header {
    #[inline]
    pub(crate) fn parse(bytes: [u8; HEADER]) -> Self {
        let [low, middle, high, sequence] = bytes;
        Self { length: u32::from_le_bytes([low, middle, high, 0]), sequence }
    }

    pub(crate) fn bytes(length: usize, sequence: u8) -> [u8; HEADER] {
        debug_assert!(length <= MAX_PACKET_PAYLOAD);
        let [low, middle, high, ..] = length.to_le_bytes();
        [low, middle, high, sequence]
    }

    /// The length of a packet that must be held as a whole.
    pub(crate) fn whole_length(self) -> Result<usize, WireError> {
        let length = self.length as usize;
        if length > MAX_WHOLE_PACKET {
            return Err(WireError::TooLarge {
                what: "a packet",
                length: u64::from(self.length),
                limit: MAX_WHOLE_PACKET as u64,
            });
        }
        Ok(length)
    }
}

/// Appends a message that `body` writes, numbered from `sequence` on. Returns the number after the
/// last packet's.
pub(crate) fn write_message(
    out: &mut Vec<u8>,
    sequence: u8,
    body: impl FnOnce(&mut Vec<u8>),
) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    body(out);
    seal_message(out, start, sequence)
}

/// Fills in the header at `start` of a message that extends to the end of `out`, with more headers
/// if it is long.
pub(crate) fn seal_message(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let length = out.len().saturating_sub(start + HEADER);
    if length >= MAX_PACKET_PAYLOAD {
        return split_message(out, start, sequence, length);
    }
    put_header(out, start, length, sequence);
    sequence.wrapping_add(1)
}

/// Moves the parts of a long message apart to make room for their headers. A length that is an
/// exact multiple needs an empty packet at the end.
#[cold]
fn split_message(out: &mut Vec<u8>, start: usize, sequence: u8, length: usize) -> u8 {
    let full_packets = length / MAX_PACKET_PAYLOAD;
    out.resize(out.len() + full_packets * HEADER, 0);
    for index in (1..=full_packets).rev() {
        let from = start + HEADER + index * MAX_PACKET_PAYLOAD;
        let part = MAX_PACKET_PAYLOAD.min(length - index * MAX_PACKET_PAYLOAD);
        let to = from + index * HEADER;
        out.copy_within(from..from + part, to);
        put_header(out, to - HEADER, part, sequence.wrapping_add(index as u8));
    }
    put_header(out, start, MAX_PACKET_PAYLOAD, sequence);
    sequence.wrapping_add(full_packets as u8).wrapping_add(1)
}

fn put_header(out: &mut [u8], at: usize, length: usize, sequence: u8) {
    if let Some(header) = out.get_mut(at..).and_then(|tail| tail.first_chunk_mut::<HEADER>()) {
        *header = Header::bytes(length, sequence);
    }
}

/// Appends `int<lenenc>`.
pub(crate) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
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
pub(crate) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(mut bytes: &[u8]) -> Vec<(usize, u8, Vec<u8>)> {
        let mut parts = Vec::new();
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
            let header = Header::parse(*header);
            let (payload, rest) = rest.split_at(header.length as usize);
            parts.push((payload.len(), header.sequence, payload.to_vec()));
            bytes = rest;
        }
        assert!(bytes.is_empty());
        parts
    }

    #[test]
    fn long_messages_are_split_and_exact_multiples_end_with_an_empty_packet() {
        for extra in [0, 1, 5] {
            for packets in 1..=2 {
                let length = packets * MAX_PACKET_PAYLOAD + extra;
                let body: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
                let mut out = b"before".to_vec();
                let next = write_message(&mut out, 0, |out| out.extend_from_slice(&body));
                let parts = parts(&out[6..]);
                assert_eq!(parts.len(), packets + 1);
                assert_eq!(usize::from(next), packets + 1);
                assert_eq!(parts.last().map(|part| part.0), Some(extra));
                for (index, part) in parts.iter().enumerate() {
                    assert_eq!(usize::from(part.1), index);
                }
                let joined: Vec<u8> = parts.into_iter().flat_map(|part| part.2).collect();
                assert!(joined == body, "the parts put together are the message");
            }
        }
    }

    #[test]
    fn lengths_are_written_as_they_are_read() {
        for value in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(crate::cursor::Cursor::new(&out, "test").lenenc(), Ok(value));
        }
    }
}
