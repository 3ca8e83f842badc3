//! A server's answers to commands.

use super::{Choices, assert_plain, chosen, message, read};
use loadstone_wire_postgres::{
    Conversation, Exchange, Expect, Reply, ReplyReader, Row, Session, WireError,
};
use std::mem::discriminant;

/// The most that is kept of rows.
const KEPT: usize = 1 << 12;
/// The most that is kept of an error's text.
const MESSAGE: usize = 4096;

pub(super) fn queries(data: &[u8]) {
    answers(data, &[Exchange::Query]);
}

pub(super) fn executions(data: &[u8]) {
    answers(data, &[Exchange::Execute]);
}

pub(super) fn prepared(data: &[u8]) {
    answers(data, &[Exchange::Prepare]);
}

/// The content of an error, and the end of its reply.
pub(super) fn errors(data: &[u8]) {
    let Some((choices, content)) = chosen(data) else { return };
    let stream = [message(b'E', content), message(b'Z', b"I")].concat();
    judge(choices, &stream, &[Exchange::Query]);
}

/// Conversations: pipelines of all kinds of commands, and some without.
pub(super) fn pipelines(data: &[u8]) {
    let Some((choices, stream)) = read(data) else { return };
    let whole = course_of_pipelines(choices, &[&stream]);
    let pieces: Vec<&[u8]> = stream.chunks(choices.piece()).collect();
    let cut = course_of_pipelines(choices, &pieces);
    let kind = |error: &Option<WireError>| error.as_ref().map(discriminant);
    assert_eq!((&whole.0, kind(&whole.1)), (&cut.0, kind(&cut.1)));
}

fn course_of_pipelines(choices: Choices, pieces: &[&[u8]]) -> (Vec<Reply>, Option<WireError>) {
    let mut conversation = Conversation::new(&Session::default());
    conversation.allow_file(choices.flag(2));
    conversation.describe_executions(choices.flag(5));
    if choices.flag(4) {
        conversation.keep_results(KEPT);
    }
    let mut replies = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            if conversation.is_idle() {
                send(&mut conversation);
            }
            match conversation.feed(rest) {
                Ok((consumed, reply)) => {
                    assert!(consumed == rest.len() || (consumed > 0 && reply.is_some()));
                    rest = &rest[consumed..];
                    replies.extend(reply);
                }
                Err(error) => return (replies, Some(error)),
            }
        }
    }
    (replies, None)
}

fn send(conversation: &mut Conversation) {
    let mut out = Vec::new();
    conversation.begin_pipeline();
    conversation.write_prepare(&mut out, b"SELECT 1");
    conversation.expect(Expect::Prepare);
    conversation.write_execute(&mut out, 1, std::iter::empty());
    conversation.expect(Expect::Execute);
    conversation.write_query(&mut out, b"SELECT 2");
    conversation.expect(Expect::Query);
    conversation.end_pipeline(&mut out);
    conversation.write_query(&mut out, b"SELECT 3");
    conversation.expect(Expect::Query);
}

/// The meaning of a stream.
#[derive(Debug)]
struct Meaning {
    replies: Vec<Reply>,
    rows: Vec<Row>,
    error: Option<WireError>,
}

fn answers(data: &[u8], expected: &[Exchange]) {
    if let Some((choices, stream)) = read(data) {
        judge(choices, &stream, expected);
    }
}

/// However the stream is cut, it means the same, and what is kept of it stays within its limits.
fn judge(choices: Choices, stream: &[u8], expected: &[Exchange]) {
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

fn meaning(choices: Choices, expected: &[Exchange], pieces: &[&[u8]]) -> Meaning {
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
            check_held(&reader);
            if reader.is_idle() {
                reader.expect(kinds.next().expect("a kind"));
            }
        }
    }
    Meaning { replies, rows: reader.take_rows(), error }
}

fn check_held(reader: &ReplyReader) {
    let held: usize = reader.results().iter().map(|result| result.bytes.len()).sum();
    assert!(held <= KEPT, "{held} bytes are held");
    for result in reader.results() {
        // What is kept can be read: rows were checked when they came.
        let values = result.values().filter(|value| value.is_err()).count();
        assert_eq!(values, 0, "{result:?}");
    }
}

fn reader(choices: Choices) -> ReplyReader {
    let mut reader = ReplyReader::new(0);
    reader.allow_copy_in(choices.flag(2));
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
            Reply::WantsFile { .. } => assert!(choices.flag(2), "rows that nobody offered"),
            Reply::Failed(error) => assert_plain(&error.message, MESSAGE),
            Reply::Done(_) | Reply::Prepared(_) => {}
        }
    }
    if let Some(error) = &meaning.error {
        assert_plain(&error.to_string(), MESSAGE + 100);
    }
}
