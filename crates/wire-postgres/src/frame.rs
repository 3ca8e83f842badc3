//! Messages: a byte that says which one, four bytes of length that count themselves, a body.
//!
//! <https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS>

use crate::WireError;

/// The most that is held of a message, in bytes. Rows are skipped as they arrive, and so is the
/// part of an error that is beyond it.
pub const MAX_WHOLE_MESSAGE: usize = 1 << 20;

/// Bytes of a message's header.
pub(crate) const HEADER: usize = 5;
/// The length counts its own bytes.
const OWN_LENGTH: u32 = 4;

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Byte1
    pub(crate) kind: u8,
    /// The body's length in bytes: Int32, less its own four bytes.
    pub(crate) length: u32,
}

impl Header {
    #[inline]
    pub(crate) fn parse(bytes: [u8; HEADER]) -> Result<Self, WireError> {
        let [kind, a, b, c, d] = bytes;
        let length = u32::from_be_bytes([a, b, c, d]);
        match length.checked_sub(OWN_LENGTH) {
            Some(body) if length <= i32::MAX as u32 => Ok(Self { kind, length: body }),
            _ => Err(WireError::BadLength { kind, length }),
        }
    }

    /// The length of a body that must be held as a whole.
    #[inline]
    pub(crate) fn whole_length(self) -> Result<usize, WireError> {
        let length = self.length as usize;
        if length > MAX_WHOLE_MESSAGE {
            return Err(WireError::TooLarge {
                what: "a message",
                length: u64::from(self.length),
                limit: MAX_WHOLE_MESSAGE as u64,
            });
        }
        Ok(length)
    }
}

/// Appends a message with the body that `body` appends.
#[inline]
pub(crate) fn write_message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = begin_message(out, kind);
    body(out);
    seal_message(out, start);
}

/// Appends the header of a message whose body follows. Returns where the message starts.
#[inline]
pub(crate) fn begin_message(out: &mut Vec<u8>, kind: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    start
}

/// Fills in the length of the message that starts at `start` and extends to the end of `out`.
#[inline]
pub(crate) fn seal_message(out: &mut [u8], start: usize) {
    put_length(out, start + 1);
}

/// Appends a message without a first byte, as the first of a connection is.
pub(crate) fn write_first_message(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    put_length(out, start);
}

/// Writes at `at` how far it is from there to the end. A server takes less than 1 GiB at once and
/// refuses what is longer; the length is then not even counted further.
#[inline]
fn put_length(out: &mut [u8], at: usize) {
    let length = i32::try_from(out.len().saturating_sub(at)).unwrap_or(i32::MAX);
    if let Some(place) = out.get_mut(at..).and_then(|tail| tail.first_chunk_mut::<4>()) {
        *place = length.to_be_bytes();
    }
}

/// Appends a String: its bytes and a NUL.
#[inline]
pub(crate) fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_counts_itself_and_not_the_first_byte() {
        let mut out = b"before".to_vec();
        write_message(&mut out, b'Q', |out| put_string(out, b"SELECT 1"));
        assert_eq!(out, b"beforeQ\0\0\0\x0dSELECT 1\0");
        let header = Header::parse(*b"Q\0\0\0\x0d");
        assert_eq!(header, Ok(Header { kind: b'Q', length: 9 }));
        let mut first = Vec::new();
        write_first_message(&mut first, |out| out.extend_from_slice(&[4, 210, 22, 47]));
        assert_eq!(first, [0, 0, 0, 8, 4, 210, 22, 47]);
    }

    #[test]
    fn a_length_below_its_own_or_below_zero_is_refused() {
        for bytes in [*b"D\0\0\0\x03", *b"D\0\0\0\0", *b"D\x80\0\0\0", *b"D\xff\xff\xff\xff"] {
            assert!(matches!(Header::parse(bytes), Err(WireError::BadLength { kind: b'D', .. })));
        }
        assert_eq!(Header::parse(*b"D\x7f\xff\xff\xff").unwrap().length, i32::MAX as u32 - 4);
    }
}
