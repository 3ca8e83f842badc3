//! Replies, whole and in pieces.

use super::*;
use crate::frame::{MAX_WHOLE_MESSAGE, write_message};
use crate::{Completion, Prepared, Reply, ServerError, Value, WireError, error_code, oid, status};

/// Messages, each by its first byte and its body.
type Messages<'a> = [(u8, &'a [u8])];

/// A message of a server.
fn said(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_message(&mut out, kind, |out| out.extend_from_slice(body));
    out
}

fn joined(messages: &[(u8, &[u8])]) -> Vec<u8> {
    messages.iter().flat_map(|(kind, body)| said(*kind, body)).collect()
}

const ONE_COLUMN: &[u8] = b"\0\x01id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
const ONE_ROW: &[u8] = b"\0\x01\0\0\0\x0242";
const SYNTAX: &[u8] = b"SERROR\0VERROR\0C42601\0Msyntax error\0P1\0\0";
const DEADLOCK: &[u8] = b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0";

const DONE: Completion = Completion {
    rows: 0,
    affected_rows: 0,
    last_insert_id: 0,
    status: 0,
    warnings: 0,
    has_result_set: false,
};
const READ: Completion = Completion { rows: 1, has_result_set: true, ..DONE };

fn failed(state: &[u8; 5], message: &str, position: Option<u32>) -> Reply {
    let (code, message) = (error_code(state), message.to_owned());
    Reply::Failed(Box::new(ServerError { code, sql_state: *state, message, position }))
}

fn wrote(affected_rows: u64) -> Completion {
    Completion { affected_rows, ..DONE }
}

struct Case {
    name: &'static str,
    exchange: Exchange,
    bytes: Vec<u8>,
    reply: Reply,
}

fn case(name: &'static str, exchange: Exchange, messages: &[(u8, &[u8])], reply: Reply) -> Case {
    Case { name, exchange, bytes: joined(messages), reply }
}

fn queries() -> Vec<Case> {
    let query = Exchange::Query;
    let in_transaction = Completion { status: status::IN_TRANSACTION, ..DONE };
    let rolled_back = Completion { status: status::ROLLED_BACK, ..DONE };
    vec![
        case(
            "a select",
            query,
            &[(b'T', ONE_COLUMN), (b'D', ONE_ROW), (b'C', b"SELECT 1\0"), (b'Z', b"I")],
            Reply::Done(READ),
        ),
        case(
            "a select of nothing",
            query,
            &[(b'T', ONE_COLUMN), (b'C', b"SELECT 0\0"), (b'Z', b"I")],
            Reply::Done(Completion { rows: 0, ..READ }),
        ),
        case("an update", query, &[(b'C', b"UPDATE 3\0"), (b'Z', b"I")], Reply::Done(wrote(3))),
        case("a begin", query, &[(b'C', b"BEGIN\0"), (b'Z', b"T")], Reply::Done(in_transaction)),
        case(
            "a commit that rolls back",
            query,
            &[(b'C', b"ROLLBACK\0"), (b'Z', b"I")],
            Reply::Done(rolled_back),
        ),
        case("nothing", query, &[(b'I', b""), (b'Z', b"I")], Reply::Done(DONE)),
        case(
            "a syntax error",
            query,
            &[(b'E', SYNTAX), (b'Z', b"I")],
            failed(b"42601", "syntax error", Some(1)),
        ),
        case(
            "a table made of a query",
            query,
            &[(b'C', b"SELECT 5\0"), (b'Z', b"I")],
            Reply::Done(wrote(5)),
        ),
    ]
}

fn long_queries() -> Vec<Case> {
    let query = Exchange::Query;
    vec![
        case(
            "several statements",
            query,
            &[
                (b'C', b"INSERT 0 2\0"),
                (b'T', ONE_COLUMN),
                (b'D', ONE_ROW),
                (b'C', b"SELECT 1\0"),
                (b'C', b"DELETE 1\0"),
                (b'Z', b"T"),
            ],
            Reply::Done(Completion { affected_rows: 3, status: status::IN_TRANSACTION, ..READ }),
        ),
        case(
            "an error among rows",
            query,
            &[(b'T', ONE_COLUMN), (b'D', ONE_ROW), (b'E', SYNTAX), (b'Z', b"E")],
            failed(b"42601", "syntax error", Some(1)),
        ),
        case(
            "what may come at any time",
            query,
            &[
                (b'S', b"TimeZone\0UTC\0"),
                (b'N', b"SWARNING\0VWARNING\0C01000\0Mcareful\0\0"),
                (b'T', ONE_COLUMN),
                (b'A', b"\0\0\0\x01channel\0payload\0"),
                (b'D', ONE_ROW),
                (b'N', b"SNOTICE\0VNOTICE\0C00000\0Mwell\0\0"),
                (b'3', b""),
                (b'C', b"SELECT 1\0"),
                (b'Z', b"I"),
            ],
            Reply::Done(Completion { warnings: 1, ..READ }),
        ),
        case(
            "rows copied out",
            query,
            &[
                (b'H', b"\0\0\x02\0\0\0\0"),
                (b'd', b"1\ta\n"),
                (b'd', b"2\tb\n"),
                (b'c', b""),
                (b'C', b"COPY 2\0"),
                (b'Z', b"I"),
            ],
            Reply::Done(Completion { rows: 2, ..READ }),
        ),
    ]
}

fn prepares() -> Vec<Case> {
    let prepare = Exchange::Prepare;
    let prepared = |params, columns| Reply::Prepared(Prepared { statement_id: 0, params, columns });
    vec![
        case(
            "a select that is prepared",
            prepare,
            &[(b'1', b""), (b't', b"\0\x01\0\0\0\x17"), (b'T', ONE_COLUMN), (b'Z', b"I")],
            prepared(1, 1),
        ),
        case(
            "an update that is prepared",
            prepare,
            &[(b'1', b""), (b't', b"\0\0"), (b'n', b""), (b'Z', b"I")],
            prepared(0, 0),
        ),
        case(
            "a prepare that fails",
            prepare,
            &[(b'E', SYNTAX), (b'Z', b"I")],
            failed(b"42601", "syntax error", Some(1)),
        ),
    ]
}

fn executions() -> Vec<Case> {
    let execute = Exchange::Execute;
    vec![
        case(
            "an execution with its columns",
            execute,
            &[
                (b'2', b""),
                (b'T', ONE_COLUMN),
                (b'D', ONE_ROW),
                (b'C', b"SELECT 1\0"),
                (b'Z', b"T"),
            ],
            Reply::Done(Completion { status: status::IN_TRANSACTION, ..READ }),
        ),
        case(
            "an execution without",
            execute,
            &[(b'2', b""), (b'D', ONE_ROW), (b'C', b"SELECT 1\0"), (b'Z', b"I")],
            Reply::Done(READ),
        ),
        case(
            "an execution that writes",
            execute,
            &[(b'2', b""), (b'n', b""), (b'C', b"INSERT 0 1\0"), (b'Z', b"I")],
            Reply::Done(wrote(1)),
        ),
        case(
            "an execution of everything at once",
            Exchange::ParseAndExecute,
            &[(b'1', b""), (b'2', b""), (b'n', b""), (b'C', b"DELETE 4\0"), (b'Z', b"I")],
            Reply::Done(wrote(4)),
        ),
        case(
            "a commit that fails at the sync",
            execute,
            &[(b'2', b""), (b'n', b""), (b'C', b"INSERT 0 1\0"), (b'E', DEADLOCK), (b'Z', b"I")],
            failed(b"40P01", "deadlock detected", None),
        ),
        case(
            "a portal with more rows",
            execute,
            &[(b'2', b""), (b'T', ONE_COLUMN), (b'D', ONE_ROW), (b's', b""), (b'Z', b"I")],
            Reply::Done(Completion { status: status::SUSPENDED, ..READ }),
        ),
        case("a sync", Exchange::Sync, &[(b'Z', b"I")], Reply::Done(DONE)),
        case(
            "a sync that fails",
            Exchange::Sync,
            &[(b'E', DEADLOCK), (b'Z', b"I")],
            failed(b"40P01", "deadlock detected", None),
        ),
    ]
}

fn all_cases() -> Vec<Case> {
    [queries(), long_queries(), prepares(), executions()].into_iter().flatten().collect()
}

fn reader(exchange: Exchange) -> ReplyReader {
    let mut reader = ReplyReader::new(0);
    reader.expect(exchange);
    reader
}

/// The first error, or all replies to `bytes` in pieces of `size`.
fn read_in_pieces(
    reader: &mut ReplyReader,
    bytes: &[u8],
    size: usize,
) -> Result<Vec<Reply>, WireError> {
    let mut replies = Vec::new();
    for piece in bytes.chunks(size) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (consumed, reply) = reader.feed(rest)?;
            assert!(consumed == rest.len() || reply.is_some());
            replies.extend(reply);
            rest = &rest[consumed..];
        }
    }
    Ok(replies)
}

fn read(exchange: Exchange, messages: &[(u8, &[u8])]) -> Result<Vec<Reply>, WireError> {
    read_in_pieces(&mut reader(exchange), &joined(messages), usize::MAX)
}

#[test]
fn every_reply_is_read_whatever_the_pieces() {
    for case in all_cases() {
        for size in 1..=case.bytes.len() {
            let mut reader = reader(case.exchange);
            let replies = read_in_pieces(&mut reader, &case.bytes, size);
            assert_eq!(replies.as_deref(), Ok([case.reply.clone()].as_slice()), "{}", case.name);
            assert!(reader.is_idle());
        }
    }
}

#[test]
fn a_truncated_reply_needs_more_bytes_at_every_length() {
    for case in all_cases() {
        for length in 0..case.bytes.len() {
            let mut reader = reader(case.exchange);
            let fed = reader.feed(&case.bytes[..length]);
            assert_eq!(fed, Ok((length, None)), "{} at {length}", case.name);
            assert!(!reader.is_idle());
        }
    }
}

#[test]
fn replies_come_in_the_order_of_their_commands() {
    for size in [1, 7, usize::MAX] {
        let (mut reader, mut bytes, mut expected) = (ReplyReader::new(0), Vec::new(), Vec::new());
        for case in all_cases() {
            reader.expect(case.exchange);
            bytes.extend(case.bytes);
            expected.push(case.reply);
        }
        assert_eq!(read_in_pieces(&mut reader, &bytes, size), Ok(expected));
        assert!(reader.is_idle());
    }
}

fn unsynced(exchange: Exchange, statement_id: u32) -> Unit {
    Unit { exchange, statement_id, is_synced: false }
}

#[test]
fn each_command_of_a_pipeline_has_a_reply_and_so_has_its_end() {
    let bytes = joined(&[
        (b'1', b""),
        (b't', b"\0\0"),
        (b'n', b""),
        (b'2', b""),
        (b'n', b""),
        (b'C', b"UPDATE 1\0"),
        (b'2', b""),
        (b'T', ONE_COLUMN),
        (b'D', ONE_ROW),
        (b'C', b"SELECT 1\0"),
        (b'Z', b"I"),
    ]);
    for size in 1..=bytes.len() {
        let mut reader = ReplyReader::new(0);
        reader.expect_unit(unsynced(Exchange::Prepare, 7));
        reader.expect_unit(unsynced(Exchange::Execute, 0));
        reader.expect_unit(unsynced(Exchange::Execute, 0));
        reader.expect(Exchange::Sync);
        let prepared = Reply::Prepared(Prepared { statement_id: 7, params: 0, columns: 0 });
        let expected =
            [prepared, Reply::Done(wrote(1)), Reply::Done(READ), Reply::Done(DONE)].to_vec();
        assert_eq!(read_in_pieces(&mut reader, &bytes, size), Ok(expected));
        assert!(reader.is_idle());
    }
}

#[test]
fn after_a_failure_a_pipeline_goes_on_at_its_end() {
    let bytes = joined(&[(b'2', b""), (b'E', DEADLOCK), (b'Z', b"E")]);
    let failure = failed(b"40P01", "deadlock detected", None);
    let (in_failed, next) = (status::IN_TRANSACTION | status::FAILED, [(b'Z', b"I".as_slice())]);
    // The rest of the pipeline may be sent before or after the failure is known.
    for is_known in [false, true] {
        let mut reader = ReplyReader::new(0);
        reader.expect_unit(unsynced(Exchange::Execute, 0));
        if !is_known {
            reader.expect_unit(unsynced(Exchange::Execute, 0));
            reader.expect(Exchange::Sync);
        }
        let (used, reply) = reader.feed(&bytes).unwrap();
        assert_eq!(reply, Some(failure.clone()));
        if is_known {
            reader.expect_unit(unsynced(Exchange::Execute, 0));
            assert!(reader.is_idle());
            reader.expect(Exchange::Sync);
        }
        let end = Reply::Done(Completion { status: in_failed, ..DONE });
        assert_eq!(reader.feed(&bytes[used..]).unwrap().1, Some(end));
        assert!(reader.is_idle());
        assert_eq!(reader.status(), in_failed);
        reader.expect(Exchange::Sync);
        assert_eq!(read_in_pieces(&mut reader, &joined(&next), 9), Ok(vec![Reply::Done(DONE)]));
    }
}

#[test]
fn a_command_with_a_sync_that_was_skipped_has_failed_too() {
    let mut reader = ReplyReader::new(0);
    reader.expect_unit(unsynced(Exchange::Execute, 0));
    reader.expect(Exchange::Execute);
    let bytes = joined(&[(b'2', b""), (b'E', DEADLOCK), (b'Z', b"I")]);
    let failure = failed(b"40P01", "deadlock detected", None);
    assert_eq!(read_in_pieces(&mut reader, &bytes, 100), Ok(vec![failure.clone(), failure]));
}

#[test]
fn a_fatal_error_ends_the_connection_whatever_was_asked() {
    let fatal = said(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    let mut idle = ReplyReader::new(0);
    for reader in [&mut reader(Exchange::Query), &mut reader(Exchange::Execute), &mut idle] {
        let Err(WireError::Server(error)) = reader.feed(&fatal) else { panic!("no error") };
        assert_eq!(error.code, error_code(b"57P01"));
    }
}

#[test]
fn while_nothing_is_asked_only_what_may_come_at_any_time_is_taken() {
    let mut idle = ReplyReader::new(0);
    let messages: [(u8, &[u8]); 4] =
        [(b'N', b"SNOTICE\0\0"), (b'S', b"a\0b\0"), (b'A', b"\0\0\0\x01a\0b\0"), (b'3', b"")];
    assert_eq!(read_in_pieces(&mut idle, &joined(&messages), 3), Ok(vec![]));
    for (kind, body) in
        [(b'Z', b"I".as_slice()), (b'C', b"UPDATE 1\0"), (b'D', ONE_ROW), (b'T', ONE_COLUMN)]
    {
        let result = ReplyReader::new(0).feed(&said(kind, body));
        assert_eq!(result, Err(WireError::Unasked), "{}", char::from(kind));
    }
    let error = ReplyReader::new(0).feed(&said(b'E', SYNTAX));
    assert!(matches!(error, Err(WireError::Server(_))), "{error:?}");
}

#[test]
fn rows_to_copy_are_asked_for_sent_and_answered() {
    for (exchange, needs_sync) in [(Exchange::Query, false), (Exchange::Execute, true)] {
        let mut reader = reader(exchange);
        reader.allow_copy_in(true);
        let start: &[(u8, &[u8])] = if needs_sync { &[(b'2', b""), (b'n', b"")] } else { &[] };
        let bytes = [joined(start), said(b'G', b"\0\0\x02\0\0\0\0")].concat();
        let asked = Reply::WantsFile { name: String::new() };
        assert_eq!(read_in_pieces(&mut reader, &bytes, 1), Ok(vec![asked]));
        assert!(!reader.is_idle());
        assert_eq!(reader.needs_sync_after_copy(), needs_sync);
        let done = joined(&[(b'C', b"COPY 7\0"), (b'Z', b"I")]);
        assert_eq!(read_in_pieces(&mut reader, &done, 1), Ok(vec![Reply::Done(wrote(7))]));
    }
}

#[test]
fn rows_that_nobody_offered_are_an_error_and_so_is_what_both_sides_would_copy() {
    let asked = read(Exchange::Query, &[(b'G', b"\0\0\x02\0\0\0\0")]);
    assert_eq!(asked, Err(WireError::UnexpectedCopyIn));
    let both = read(Exchange::Query, &[(b'W', b"\0\0\x02\0\0\0\0")]);
    assert!(matches!(both, Err(WireError::UnexpectedMessage { kind: b'W', .. })));
}

#[test]
fn what_the_protocol_does_not_allow_is_an_error() {
    let (query, prepare, execute) = (Exchange::Query, Exchange::Prepare, Exchange::Execute);
    let cases: [(Exchange, &Messages<'_>); 12] = [
        (query, &[(b'D', ONE_ROW)]),
        (query, &[(b'Z', b"I")]),
        (query, &[(b'2', b"")]),
        (query, &[(b'C', b"SELECT 1\0"), (b'D', ONE_ROW)]),
        (query, &[(b'd', b"1\n")]),
        (query, &[(b'T', ONE_COLUMN), (b'Z', b"I")]),
        (query, &[(b'I', b""), (b'Z', b"?")]),
        (prepare, &[(b'1', b""), (b'T', ONE_COLUMN)]),
        (execute, &[(b'1', b"")]),
        (execute, &[(b'D', ONE_ROW)]),
        (execute, &[(b'2', b""), (b'C', b"UPDATE 1\0"), (b'C', b"UPDATE 1\0")]),
        (execute, &[(b'x', b"")]),
    ];
    for (exchange, messages) in cases {
        let whole = read(exchange, messages);
        assert!(whole.is_err(), "{messages:?}");
        let bytes = joined(messages);
        assert_eq!(read_in_pieces(&mut reader(exchange), &bytes, 1), whole);
    }
}

#[test]
fn what_must_be_held_has_a_limit_and_rows_and_errors_have_none() {
    let too_large = |kind| {
        let head = [&[kind][..], &(MAX_WHOLE_MESSAGE as u32 + 5).to_be_bytes()].concat();
        matches!(reader(Exchange::Query).feed(&head), Err(WireError::TooLarge { .. }))
    };
    assert!(too_large(b'C') && too_large(b'Z'));
    let long = vec![b'x'; 3 * MAX_WHOLE_MESSAGE];
    let row = [b"\0\x01".as_slice(), &(long.len() as u32).to_be_bytes(), &long].concat();
    let error = [b"SERROR\0VERROR\0C22P02\0Minvalid: ".as_slice(), &long, b"\0\0"].concat();
    let bytes = joined(&[(b'T', ONE_COLUMN), (b'D', &row), (b'E', &error), (b'Z', b"I")]);
    for size in [1 << 16, usize::MAX] {
        let mut reader = reader(Exchange::Query);
        let replies = read_in_pieces(&mut reader, &bytes, size).unwrap();
        let [Reply::Failed(error)] = replies.as_slice() else { panic!("no failure") };
        assert_eq!(error.code, error_code(b"22P02"));
        assert_eq!(error.message.len(), 4096);
    }
}

#[test]
fn kept_rows_are_those_of_the_server() {
    let row = b"\0\x02\0\0\0\x01a\xff\xff\xff\xff";
    let bytes = joined(&[
        (b'T', ONE_COLUMN),
        (b'D', row),
        (b'N', b"SNOTICE\0\0"),
        (b'D', ONE_ROW),
        (b'C', b"SELECT 2\0"),
        (b'Z', b"I"),
    ]);
    for size in 1..=bytes.len() {
        let mut reader = ReplyReader::new(0);
        reader.keep_rows(1 << 20);
        reader.expect(Exchange::Query);
        read_in_pieces(&mut reader, &bytes, size).unwrap();
        let expected = [vec![Some(b"a".to_vec()), None], vec![Some(b"42".to_vec())]];
        assert_eq!(reader.take_rows(), expected);
        assert!(reader.take_rows().is_empty());
    }
    let mut reader = ReplyReader::new(0);
    reader.keep_rows(20);
    reader.expect(Exchange::Query);
    assert!(matches!(reader.feed(&bytes), Err(WireError::TooLarge { .. })));
}

#[test]
fn kept_results_have_their_rows_also_around_a_notice() {
    let bytes = joined(&[
        (b'T', ONE_COLUMN),
        (b'D', ONE_ROW),
        (b'N', b"SNOTICE\0\0"),
        (b'D', ONE_ROW),
        (b'C', b"SELECT 2\0"),
        (b'H', b"\0\0\x01\0\0"),
        (b'd', b"7\n"),
        (b'c', b""),
        (b'C', b"COPY 1\0"),
        (b'Z', b"I"),
    ]);
    for size in 1..=bytes.len() {
        let mut reader = ReplyReader::new(0);
        reader.keep_results(1 << 20);
        for _ in 0..2 {
            reader.expect(Exchange::Query);
            read_in_pieces(&mut reader, &bytes, size).unwrap();
            let [selected, copied] = reader.results() else { panic!("two results") };
            assert_eq!((selected.columns, selected.rows), (1, 2));
            assert_eq!(selected.bytes, b"\x0242\x0242");
            assert_eq!((copied.columns, copied.rows), (1, 1));
            assert_eq!(copied.bytes, b"\x027\n");
        }
        reader.expect(Exchange::Sync);
        assert!(reader.results().is_empty());
    }
}

/// `int4`, `text` and `float8`, as the server sends them in binary.
fn binary() -> Vec<u8> {
    let mut columns = b"\0\x03".to_vec();
    for number in [oid::INT4, oid::TEXT, oid::FLOAT8] {
        columns.extend_from_slice(b"c\0\0\0\0\0\0\0");
        columns.extend_from_slice(&number.to_be_bytes());
        columns.extend_from_slice(b"\xff\xff\xff\xff\xff\xff\0\x01");
    }
    let row = b"\0\x03\0\0\0\x04\xff\xff\xff\xfe\xff\xff\xff\xff\0\0\0\x08\x3f\xf8\0\0\0\0\0\0";
    let messages: [(u8, &[u8]); 6] = [
        (b'2', b""),
        (b'T', &columns),
        (b'D', row),
        (b'D', row),
        (b'C', b"SELECT 2\0"),
        (b'Z', b"I"),
    ];
    joined(&messages)
}

#[test]
fn values_of_binary_rows_are_read_where_they_are_kept() {
    let bytes = binary();
    let row = [Value::Int(-2), Value::Null, Value::Double(1.5)];
    for size in 1..=bytes.len() {
        let mut reader = ReplyReader::new(0);
        reader.keep_results(1 << 20);
        reader.expect(Exchange::Execute);
        read_in_pieces(&mut reader, &bytes, size).unwrap();
        let [result] = reader.results() else { panic!("one result") };
        let values: Vec<_> = result.values().map(Result::unwrap).collect();
        assert_eq!(values, [row, row].concat());
    }
}

#[test]
fn any_number_of_empty_results_is_not_kept() {
    let one: [(u8, &[u8]); 2] = [(b'T', b"\0\0"), (b'C', b"SELECT 0\0")];
    let bytes = joined(&one).repeat(80);
    let mut reader = ReplyReader::new(0);
    reader.keep_results(1_000);
    reader.expect(Exchange::Query);
    let error = read_in_pieces(&mut reader, &bytes, usize::MAX).unwrap_err();
    assert!(matches!(error, WireError::TooLarge { .. }), "{error:?}");
}

#[test]
fn a_reader_is_small() {
    assert!(size_of::<ReplyReader>() <= 200, "{} bytes", size_of::<ReplyReader>());
}
