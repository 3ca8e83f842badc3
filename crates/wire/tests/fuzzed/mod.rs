//! Fuzz targets: functions that take bytes and panic if a promise is broken.
//!
//! `tests/fuzz_regression.rs` feeds them the files in `fuzz/corpus` and some thousand mutations of
//! those; `fuzz/wire.rs` has libFuzzer look for more. An input starts with four bytes that choose
//! how it is read (see [`Choices`]); the rest is the server's data.

mod compressed;
mod logins;
mod replies;

/// A fuzzed part of the protocol.
pub(crate) type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
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
    /// One bit for each yes-or-no choice.
    flags: [u8; 2],
    /// The size of the pieces that the stream is cut into, minus one.
    cut: u8,
    /// 0: the stream is used as it is. Otherwise it is made of packets with the right numbers, each
    /// of which starts with a byte for its length.
    framed: u8,
}

impl Choices {
    fn flag(self, number: usize) -> bool {
        self.flags[number / 8] & (1 << (number % 8)) != 0
    }

    /// The size of a piece.
    fn piece(self) -> usize {
        usize::from(self.cut) + 1
    }
}

/// An input's choices, and the rest of it.
fn chosen(data: &[u8]) -> Option<(Choices, &[u8])> {
    let (&[a, b, cut, framed], rest) = data.split_first_chunk::<4>()?;
    Some((Choices { flags: [a, b], cut, framed }, rest))
}

/// A parsed input; `step` is by how much the numbers of packets go up.
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

/// Texts of a server must neither control a terminal nor fill a disk.
fn assert_plain(text: &str, most: usize) {
    assert!(text.chars().count() <= most, "{} characters were kept", text.chars().count());
    let drives = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    assert!(!text.contains(drives), "{text:?}");
}
