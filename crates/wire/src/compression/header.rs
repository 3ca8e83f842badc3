//! The header of a compressed packet.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html>

/// Bytes of the header.
pub(super) const HEADER: usize = 7;

/// A compressed packet's header. Its three-byte lengths cannot exceed 16 MiB, and nothing is
/// allocated because of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// `int<3>`: bytes after the header.
    pub(super) length: usize,
    /// `int<1>`: counted separately from the packets inside.
    pub(super) sequence: u8,
    /// `int<3>`: bytes after decompression; `None` (0 on the wire) if they are sent uncompressed.
    pub(super) plain_length: Option<usize>,
}

impl Header {
    pub(super) fn parse(bytes: [u8; HEADER]) -> Self {
        let [a, b, c, sequence, d, e, f] = bytes;
        let int3 = |low, middle, high| u32::from_le_bytes([low, middle, high, 0]) as usize;
        let plain_length = Some(int3(d, e, f)).filter(|&length| length > 0);
        Self { length: int3(a, b, c), sequence, plain_length }
    }

    pub(super) fn bytes(self) -> [u8; HEADER] {
        let [a, b, c, ..] = self.length.to_le_bytes();
        let [d, e, f, ..] = self.plain_length.unwrap_or(0).to_le_bytes();
        [a, b, c, self.sequence, d, e, f]
    }
}
