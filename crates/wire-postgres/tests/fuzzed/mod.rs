//! Fuzz targets: functions that take bytes and panic if a promise is broken.
//!
//! `tests/fuzz_regression.rs` feeds them the files in `fuzz/corpus` and some thousand mutations of
//! those; `fuzz/wire.rs` has libFuzzer look for more. An input starts with four bytes that
//! choose how it is read (see [`Choices`]); the rest is the server's data.

mod logins;
mod replies;

/// A fuzzed part of the protocol.
pub(crate) type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
pub(crate) const TARGETS: [(&str, Target); 7] = [
    ("postgres_login", logins::login),
    ("postgres_authentication", logins::authentication),
    ("postgres_queries", replies::queries),
    ("postgres_executions", replies::executions),
    ("postgres_prepared", replies::prepared),
    ("postgres_pipelines", replies::pipelines),
    ("postgres_errors", replies::errors),
];

/// The first bytes of an input.
#[derive(Clone, Copy)]
struct Choices {
    /// One bit for each yes-or-no choice.
    flags: [u8; 2],
    /// The size of the pieces that the stream is cut into, minus one.
    cut: u8,
    /// 0: the stream is used as it is. Otherwise it is made of messages with the right lengths, each
    /// of which starts with its first byte and a byte for its length.
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

/// A parsed input.
fn read(data: &[u8]) -> Option<(Choices, Vec<u8>)> {
    let (choices, rest) = chosen(data)?;
    let stream = match choices.framed {
        0 => rest.to_vec(),
        _ => messages(rest),
    };
    Some((choices, stream))
}

fn messages(mut rest: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while let [kind, length, tail @ ..] = rest {
        let (body, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        stream.extend(message(*kind, body));
        rest = tail;
    }
    stream
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Texts of a server must neither control a terminal nor fill a disk.
fn assert_plain(text: &str, most: usize) {
    assert!(text.chars().count() <= most, "{} characters were kept", text.chars().count());
    let drives = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    assert!(!text.contains(drives), "{text:?}");
}
