//! One connection's side of the compression.

use super::header::{HEADER, Header};
use super::{Codec, Compression};
use crate::WireError;
use crate::frame::MAX_PACKET_PAYLOAD;

/// Shorter data is sent uncompressed, as other clients do: compression would hardly make it
/// shorter.
const LEAST_WORTH_IT: usize = 50;

/// Memory that may be kept between replies.
const KEPT_CAPACITY: usize = 16 * 1024;

/// The layer between the packets of one connection and what carries them, once the login is done.
///
/// Sending: [`begin_command`](Self::begin_command), then [`pack`](Self::pack) what is to be sent.
/// Receiving: [`feed`](Self::feed) the bytes from the socket, then [`read`](Self::read) until it
/// returns nothing more. After an error the connection must be closed.
#[derive(Debug)]
pub struct CompressionLayer {
    by: Compression,
    /// The next packet's number, in either direction.
    sequence: u8,
    /// Received and not unpacked; the first `unpacked` bytes are done with.
    wire: Vec<u8>,
    unpacked: usize,
    /// Unpacked and not read; the first `read` bytes are done with.
    plain: Vec<u8>,
    read: usize,
}

impl CompressionLayer {
    /// The layer of a connection whose login negotiated it.
    pub fn new(by: Compression) -> Self {
        Self { by, sequence: 0, wire: Vec::new(), unpacked: 0, plain: Vec::new(), read: 0 }
    }

    /// A command comes next: packets are numbered from 0 again, in step with those inside.
    pub fn begin_command(&mut self) {
        self.sequence = 0;
    }

    /// Appends `plain`, which is any part of the conversation, to `out` as compressed packets.
    pub fn pack(&mut self, codec: &mut Codec, plain: &[u8], out: &mut Vec<u8>) {
        for part in plain.chunks(MAX_PACKET_PAYLOAD) {
            self.pack_part(codec, part, out);
        }
    }

    fn pack_part(&mut self, codec: &mut Codec, part: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER]);
        let packed = if part.len() < LEAST_WORTH_IT {
            None
        } else {
            out.resize(start + HEADER + part.len() - 1, 0);
            codec.compress(self.by, part, out.get_mut(start + HEADER..).unwrap_or_default())
        };
        out.truncate(start + HEADER + packed.unwrap_or(0));
        if packed.is_none() {
            out.extend_from_slice(part);
        }
        let header = Header {
            length: packed.unwrap_or(part.len()),
            sequence: self.sequence,
            plain_length: packed.map(|_| part.len()),
        };
        if let Some(place) = out.get_mut(start..).and_then(|tail| tail.first_chunk_mut()) {
            *place = header.bytes();
        }
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Takes bytes from the socket. Read what was fed before first: then only a part of one packet,
    /// and these bytes, are held.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.wire.drain(..self.unpacked);
        self.unpacked = 0;
        self.wire.extend_from_slice(bytes);
    }

    /// Writes the conversation's next bytes into `out`; returns how many there were. None: more
    /// must be fed.
    pub fn read(&mut self, codec: &mut Codec, out: &mut [u8]) -> Result<usize, WireError> {
        while self.read == self.plain.len() {
            if !self.unpack(codec)? {
                return Ok(0);
            }
        }
        let unread = self.plain.get(self.read..).unwrap_or_default();
        let count = unread.len().min(out.len());
        if let (Some(place), Some(bytes)) = (out.get_mut(..count), unread.get(..count)) {
            place.copy_from_slice(bytes);
        }
        self.read += count;
        Ok(count)
    }

    /// Whether [`read`](Self::read) would return something.
    pub fn has_more(&self) -> bool {
        self.read < self.plain.len() || self.next_packet().is_some()
    }

    /// Unpacks the first packet of `wire`, all of whose earlier bytes were read. `false`: it is
    /// incomplete.
    fn unpack(&mut self, codec: &mut Codec) -> Result<bool, WireError> {
        self.release();
        let Some((header, content)) = self.next_packet() else { return Ok(false) };
        if header.sequence != self.sequence {
            let (expected, got) = (self.sequence, header.sequence);
            return Err(WireError::OutOfSequence { expected, got });
        }
        let mut plain = std::mem::take(&mut self.plain);
        let content = self.wire.get(content).unwrap_or_default();
        match header.plain_length {
            None => plain.extend_from_slice(content),
            Some(length) => codec.decompress(self.by, content, length, &mut plain)?,
        }
        self.plain = plain;
        self.sequence = header.sequence.wrapping_add(1);
        self.unpacked += HEADER + header.length;
        Ok(true)
    }

    /// The position of the content of the first packet in `wire`, if it is complete.
    fn next_packet(&self) -> Option<(Header, std::ops::Range<usize>)> {
        let head = self.wire.get(self.unpacked..)?.first_chunk::<HEADER>()?;
        let header = Header::parse(*head);
        let start = self.unpacked + HEADER;
        let content = start..start + header.length;
        (content.end <= self.wire.len()).then_some((header, content))
    }

    /// The memory held, in bytes.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.wire.capacity() + self.plain.capacity()
    }

    /// All unpacked bytes are read: drops them, and memory that only a long reply needs.
    fn release(&mut self) {
        self.read = 0;
        self.plain.clear();
        self.plain.shrink_to(KEPT_CAPACITY);
        if self.unpacked == self.wire.len() {
            self.unpacked = 0;
            self.wire.clear();
            self.wire.shrink_to(KEPT_CAPACITY);
        }
    }
}
