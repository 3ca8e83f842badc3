//! A server's answers to commands.

use super::{Choices, assert_plain, chosen, read};
use loadstone_wire::{Capabilities, Expect, Reply, ReplyReader, Row, WireError};
use std::mem::discriminant;

/// The most that is kept of rows.
const KEPT: usize = 1 << 12;
/// The most that is kept of a name, and of an error's text.
const NAME: usize = 256;
const MESSAGE: usize = 4096;

pub(super) fn text_results(data: &[u8]) {
    answers(data, &[Expect::Query]);
}

pub(super) fn binary_results(data: &[u8]) {
    answers(data, &[Expect::Execute]);
}

pub(super) fn prepared(data: &[u8]) {
    answers(data, &[Expect::Prepare]);
}

/// Conversations: one command after another, of all kinds.
pub(super) fn packets(data: &[u8]) {
    answers(data, &[Expect::Query, Expect::Prepare, Expect::Execute, Expect::Execute]);
}

/// The content of an error packet.
pub(super) fn errors(data: &[u8]) {
    behind(0xff, data, b"");
}

/// The content of a request for a file; then the statement's OK.
pub(super) fn local_infile(data: &[u8]) {
    behind(0xfb, data, b"\x07\0\0\x05\0\x02\0\x02\0\0\0");
}

/// One packet that starts with `marker`, and what follows it.
fn behind(marker: u8, data: &[u8], following: &[u8]) {
    let Some((choices, content)) = chosen(data) else { return };
    let length = (content.len() as u32 + 1).to_le_bytes();
    let head = [length[0], length[1], length[2], 1, marker];
    judge(choices, &[&head, content, following].concat(), &[Expect::Query]);
}

/// The meaning of a stream.
#[derive(Debug)]
struct Meaning {
    replies: Vec<Reply>,
    rows: Vec<Row>,
    error: Option<WireError>,
}

fn answers(data: &[u8], expected: &[Expect]) {
    if let Some((choices, stream)) = read(data, 1, 1) {
        judge(choices, &stream, expected);
    }
}

/// However the stream is cut, it means the same, and what is kept of it stays within its limits.
fn judge(choices: Choices, stream: &[u8], expected: &[Expect]) {
    let whole = meaning(choices, expected, &[stream]);
    let pieces: Vec<&[u8]> = stream.chunks(choices.piece()).collect();
    let cut = meaning(choices, expected, &pieces);
    let kind = |meaning: &Meaning| meaning.error.as_ref().map(discriminant);
    assert_eq!(whole.replies, cut.replies);
    assert_eq!(kind(&whole), kind(&cut), "{whole:?} {cut:?}");
    if whole.error.is_none() {
        assert_eq!(whole.rows, cut.rows);
    }
    check(choices, &whole);
}

fn meaning(choices: Choices, expected: &[Expect], pieces: &[&[u8]]) -> Meaning {
    let mut reader = reader(choices);
    let mut kinds = expected.iter().copied().cycle();
    let (mut replies, mut error) = (Vec::new(), None);
    reader.expect(kinds.next().expect("a kind"));
    'stream: for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match reader.feed(rest) {
                Ok((consumed, reply)) => {
                    assert!(consumed == rest.len() || (consumed > 0 && reply.is_some()));
                    rest = &rest[consumed..];
                    replies.extend(reply);
                }
                Err(failed) => {
                    error = Some(failed);
                    break 'stream;
                }
            }
            let held: usize = reader.results().iter().map(|result| result.bytes.len()).sum();
            assert!(held <= KEPT);
            if reader.is_idle() {
                reader.expect(kinds.next().expect("a kind"));
            }
        }
    }
    Meaning { replies, rows: reader.take_rows(), error }
}

fn reader(choices: Choices) -> ReplyReader {
    let mut capabilities = Capabilities::PROTOCOL_41;
    if choices.flag(0) {
        capabilities |= Capabilities::DEPRECATE_EOF;
    }
    if choices.flag(1) {
        capabilities |= Capabilities::COMPRESS;
    }
    let mut reader = ReplyReader::new(capabilities);
    reader.allow_local_infile(choices.flag(2));
    if choices.flag(3) {
        reader.keep_rows(KEPT);
    }
    if choices.flag(4) {
        reader.keep_results(KEPT);
    }
    reader
}

fn check(choices: Choices, meaning: &Meaning) {
    let values = meaning.rows.iter().flatten().flatten();
    assert!(values.map(Vec::len).sum::<usize>() <= KEPT);
    for reply in &meaning.replies {
        match reply {
            Reply::WantsFile { name } => {
                assert!(choices.flag(2), "a file that nobody offered");
                assert_plain(name, NAME);
            }
            Reply::Failed(error) => assert_plain(&error.message, MESSAGE),
            Reply::Done(_) | Reply::Prepared(_) => {}
        }
    }
    if let Some(error) = &meaning.error {
        assert_plain(&error.to_string(), MESSAGE + 100);
    }
}
