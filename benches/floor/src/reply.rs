//! Finds the end of a reply, from headers and first bytes only.

use loadstone_wire::Capabilities;

const HEADER: usize = 4;
const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
/// An EOF packet is shorter; a row that starts with 0xfe is far longer.
const EOF_SHORTER_THAN: usize = 9;

/// The state of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// More bytes are needed.
    Part,
    /// It is complete, and ends with these bytes.
    Whole,
    /// The server returned an error.
    Error,
}

/// Checks the bytes of one reply, from its start.
#[inline]
pub(crate) fn look(bytes: &[u8], capabilities: Capabilities) -> Seen {
    let Some((length, first)) = packet(bytes) else { return Seen::Part };
    match first {
        OK => whole_if(bytes.len() >= HEADER + length),
        ERR => Seen::Error,
        // Fewer than 251 columns: the first byte is their number.
        columns => {
            let eof = usize::from(!capabilities.contains(Capabilities::DEPRECATE_EOF));
            rows(&bytes[(HEADER + length).min(bytes.len())..], usize::from(columns) + eof)
        }
    }
}

fn rows(mut rest: &[u8], definitions: usize) -> Seen {
    let mut index = 0;
    while let Some((length, first)) = packet(rest) {
        let next = HEADER + length;
        if rest.len() < next {
            return Seen::Part;
        }
        if index >= definitions {
            match first {
                EOF if length < EOF_SHORTER_THAN => return Seen::Whole,
                ERR => return Seen::Error,
                _ => {}
            }
        }
        index += 1;
        rest = &rest[next..];
    }
    Seen::Part
}

fn packet(bytes: &[u8]) -> Option<(usize, u8)> {
    let [low, middle, high, _, first] = *bytes.first_chunk()?;
    Some((u32::from_le_bytes([low, middle, high, 0]) as usize, first))
}

fn whole_if(whole: bool) -> Seen {
    if whole { Seen::Whole } else { Seen::Part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_whole_with_its_last_byte_only() {
        let eof = b"\x01\0\0\x01\x01\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0\x03\0\0\x04\0\0x\
            \x05\0\0\x05\xfe\0\0\x02\0";
        let deprecated = b"\x01\0\0\x01\x01\x03\0\0\x02def\x03\0\0\x03\0\0x\x07\0\0\x04\xfe\0\0\
            \x02\0\0\0";
        let ok = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
        for (bytes, capabilities) in [
            (&eof[..], Capabilities::NONE),
            (&deprecated[..], Capabilities::DEPRECATE_EOF),
            (&ok[..], Capabilities::NONE),
        ] {
            for length in 0..bytes.len() {
                assert_eq!(look(&bytes[..length], capabilities), Seen::Part, "{length}");
            }
            assert_eq!(look(bytes, capabilities), Seen::Whole);
        }
        assert_eq!(look(b"\x09\0\0\x01\xff\x10\x04abc", Capabilities::NONE), Seen::Error);
    }
}
