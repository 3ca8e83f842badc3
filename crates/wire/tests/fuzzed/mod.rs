//! What is fuzzed: functions from bytes to nothing that panic where a promise is broken.
//!
//! `tests/fuzz_regression.rs` feeds them what is in `fuzz/corpus` and some thousand mutations of that;
//! `fuzz/wire.rs` has libFuzzer look for more. An input begins with four bytes that choose how it is
//! read (see [`Choices`]); the rest is what the server says.

mod compressed;
mod logins;
mod replies;

/// A fuzzed part of the protocol.
pub(crate) type Target = fn(&[u8]);

/// All there are, by the names of their corpora.
pub(crate) const TARGETS: [(&str, Target); 9] = [
    ("greeting", logins::greeting),
    ("authentication", logins::authentication),
    ("text_results", replies::text_results),
    ("binary_results", replies::binary_results),
    ("prepared", replies::prepared),
    ("errors", replies::errors),
    ("local_infile", replies::local_infile),
    ("packets", replies::packets),
    ("compressed", compressed::compressed),
];

/// The first bytes of an input.
#[derive(Clone, Copy)]
struct Choices {
    /// A bit for each thing that is so or not so.
    flags: [u8; 2],
    /// Into pieces of how many bytes the stream is cut, less one.
    cut: u8,
    /// 0: the stream is as it stands. Else it is made of packets with the right numbers, of which each
    /// begins with a byte for its length.
    framed: u8,
}

impl Choices {
    fn flag(self, number: usize) -> bool {
        self.flags[number / 8] & (1 << (number % 8)) != 0
    }

    /// How long a piece is.
    fn piece(self) -> usize {
        usize::from(self.cut) + 1
    }
}

/// What an input chooses, and its rest.
fn chosen(data: &[u8]) -> Option<(Choices, &[u8])> {
    let (&[a, b, cut, framed], rest) = data.split_first_chunk::<4>()?;
    Some((Choices { flags: [a, b], cut, framed }, rest))
}

/// An input taken apart; `step` is by how much the numbers of packets go up.
fn read(data: &[u8], first_number: u8, step: u8) -> Option<(Choices, Vec<u8>)> {
    let (choices, rest) = chosen(data)?;
    let stream = match choices.framed {
        0 => rest.to_vec(),
        _ => packets(rest, first_number, step),
    };
    Some((choices, stream))
}

fn packets(mut rest: &[u8], mut number: u8, step: u8) -> Vec<u8> {
    let mut stream = Vec::new();
    while let Some((&length, tail)) = rest.split_first() {
        let (payload, tail) = tail.split_at(tail.len().min(usize::from(length)));
        stream.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        stream.push(number);
        stream.extend_from_slice(payload);
        number = number.wrapping_add(step);
        rest = tail;
    }
    stream
}

/// Words of a server must not drive a terminal, nor fill a disk.
fn assert_plain(text: &str, most: usize) {
    assert!(text.chars().count() <= most, "{} characters were kept", text.chars().count());
    let drives = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    assert!(!text.contains(drives), "{text:?}");
}
