//! Tests of the reply reader as a whole, on replies captured from real servers.

use super::*;
use crate::frame::{MAX_PACKET_PAYLOAD, MAX_WHOLE_PACKET, write_message};
use crate::{
    Capabilities, Completion, Expect, Prepared, Reply, ResultSet, ServerError, Value, WireError,
    error_code, status,
};

/// A reply as a server sent it.
struct Captured {
    name: &'static str,
    capabilities: Capabilities,
    expect: Expect,
    bytes: &'static [u8],
    reply: fn() -> Reply,
}

const WITH_EOF: Capabilities = Capabilities::PROTOCOL_41;
const WITHOUT_EOF: Capabilities =
    Capabilities::from_bits(Capabilities::PROTOCOL_41.bits() | Capabilities::DEPRECATE_EOF.bits());

const UPDATE: &[u8] = b"0\0\0\x01\0\x01\0\x02\0\0\0(Rows matched: 1  Changed: 1  Warnings: 0";
const INSERT: &[u8] = b".\0\0\x01\0\x02\x02\x02\0\0\0&Records: 2  Duplicates: 0  Warnings: 0";
const SELECT: &[u8] = b"\x01\0\0\x01\x02 \0\0\x02\x03def\x04test\x01t\x01t\x02id\x02id\x0c?\0\
    \x0b\0\0\0\x03\x03B\0\0\0\x1e\0\0\x03\x03def\x04test\x01t\x01t\x01c\x01c\x0c-\0\xe0\x01\0\0\
    \xfe\x01\x10\0\0\0\x04\0\0\x04\x012\x01w\x07\0\0\x05\xfe\0\0\x02\0\0\0";
const SELECT_WITH_EOF: &[u8] = b"\x01\0\0\x01\x02 \0\0\x02\x03def\x04test\x01t\x01t\x02id\x02id\
    \x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x1e\0\0\x03\x03def\x04test\x01t\x01t\x01c\x01c\x0c-\0\xe0\
    \x01\0\0\xfe\x01\x10\0\0\0\x05\0\0\x04\xfe\0\0\x02\0\x04\0\0\x05\x012\x01w\
    \x05\0\0\x06\xfe\0\0\x02\0";
const SELECT_NULL: &[u8] = b"\x01\0\0\x01\x02\x1a\0\0\x02\x03def\0\0\0\x04NULL\0\x0c?\0\0\0\0\0\
    \x06\x80\0\0\0\0\x17\0\0\x03\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\0\0\0\0\
    \x03\0\0\x04\xfb\x011\x07\0\0\x05\xfe\0\0\x02\0\0\0";
const CALL: &[u8] = b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\
    \0\0\0\0\x02\0\0\x03\x011\x07\0\0\x04\xfe\0\0\x0a\0\0\0\x01\0\0\x05\x01 \0\0\x06\x03def\x04\
    test\x01t\x01t\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x02\0\0\x07\x011\x02\0\0\x08\x012\
    \x02\0\0\x09\x013\x07\0\0\x0a\xfe\0\0*\0\0\0\x07\0\0\x0b\0\0\0\"\0\0\0";
const CALL_WITH_EOF: &[u8] = b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\
    \x03\x81\0\0\0\0\x05\0\0\x03\xfe\0\0\x0a\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\x0a\0\
    \x01\0\0\x06\x01 \0\0\x07\x03def\x04test\x01t\x01t\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\
    \x05\0\0\x08\xfe\0\0*\0\x02\0\0\x09\x011\x02\0\0\x0a\x012\x02\0\0\x0b\x013\
    \x05\0\0\x0c\xfe\0\0*\0\x07\0\0\x0d\0\0\0\"\0\0\0";
const EXECUTE: &[u8] = b"\x01\0\0\x01\x01\x1e\0\0\x02\x03def\x04test\x01t\x01t\x01c\x01c\x0c-\0\
    \xe0\x01\0\0\xfe\x01\x10\0\0\0z\0\0\x03\0\0wxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
    \x07\0\0\x04\xfe\0\0\x02\0\0\0";
const PREPARE_SELECT: &[u8] =
    b"\x0c\0\0\x01\0\x01\0\0\0\x01\0\x01\0\0\0\0\x17\0\0\x02\x03def\0\0\0\
    \x01?\0\x0c?\0\x15\0\0\0\x08\x80\0\0\0\0\x1e\0\0\x03\x03def\x04test\x01t\x01t\x01c\x01c\x0c-\0\
    \xe0\x01\0\0\xfe\x01\x10\0\0\0";
const PREPARE_SELECT_WITH_EOF: &[u8] = b"\x0c\0\0\x01\0\x04\0\0\0\x01\0\x01\0\0\0\0\x17\0\0\x02\
    \x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\x80\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0\x1e\0\0\x04\
    \x03def\x04test\x01t\x01t\x01c\x01c\x0c-\0\xe0\x01\0\0\xfe\x01\x10\0\0\0\x05\0\0\x05\xfe\0\0\x02\0";
const PREPARE_UPDATE: &[u8] = b"\x0c\0\0\x01\0\x02\0\0\0\0\0\x02\0\0\0\0\x17\0\0\x02\x03def\0\0\0\
    \x01?\0\x0c?\0\0\0\0\0\x06\x80\0\0\0\0\x17\0\0\x03\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\x80\
    \0\0\0\0";
const PREPARE_UPDATE_WITH_EOF: &[u8] =
    b"\x0c\0\0\x01\0\x05\0\0\0\0\0\x02\0\0\0\0\x17\0\0\x02\x03def\
    \0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\x80\0\0\0\0\x17\0\0\x03\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\
    \x80\0\0\0\0\x05\0\0\x04\xfe\0\0\x02\0";
const NO_SUCH_TABLE: &[u8] = b"+\0\0\x01\xffz\x04#42S02Table 'test.missing' doesn't exist";
const ERROR_INSTEAD_OF_ROWS: &[u8] = b"\x01\0\0\x01\x01 \0\0\x02\x03def\x04test\x01t\x01t\x02id\
    \x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\x003\0\0\x03\xff\x9a\x06#22003DOUBLE value is \
    out of range in 'exp(710)'";

const AUTOCOMMIT: Completion = Completion {
    rows: 0,
    affected_rows: 0,
    last_insert_id: 0,
    status: status::AUTOCOMMIT,
    warnings: 0,
    has_result_set: false,
};
const ONE_ROW: Completion = Completion { rows: 1, has_result_set: true, ..AUTOCOMMIT };
const CALLED: Completion = Completion {
    rows: 4,
    has_result_set: true,
    status: status::AUTOCOMMIT | status::NO_INDEX_USED,
    ..AUTOCOMMIT
};

fn failed(number: u16, sql_state: [u8; 5], message: &str) -> Reply {
    Reply::Failed(Box::new(ServerError {
        code: error_code(number),
        sql_state,
        message: message.to_owned(),
        position: None,
    }))
}

fn captured(
    name: &'static str,
    (capabilities, expect): (Capabilities, Expect),
    bytes: &'static [u8],
    reply: fn() -> Reply,
) -> Captured {
    Captured { name, capabilities, expect, bytes, reply }
}

/// From mariadbd 10.11.19 and mysqld 9.7.4; `…_with_eof` with a client that does not deprecate EOF.
fn all_captured() -> Vec<Captured> {
    let (old, new) = (WITH_EOF, WITHOUT_EOF);
    let (query, prepare, execute) = (Expect::Query, Expect::Prepare, Expect::Execute);
    vec![
        captured("mariadb update", (new, query), UPDATE, || {
            Reply::Done(Completion { affected_rows: 1, ..AUTOCOMMIT })
        }),
        captured("mysql insert", (new, query), INSERT, || {
            Reply::Done(Completion { affected_rows: 2, last_insert_id: 2, ..AUTOCOMMIT })
        }),
        captured("mariadb select", (new, query), SELECT, || Reply::Done(ONE_ROW)),
        captured("mariadb select", (old, query), SELECT_WITH_EOF, || Reply::Done(ONE_ROW)),
        captured("mariadb select null", (new, query), SELECT_NULL, || Reply::Done(ONE_ROW)),
        captured("mariadb call", (new, query), CALL, || Reply::Done(CALLED)),
        captured("mariadb call", (old, query), CALL_WITH_EOF, || Reply::Done(CALLED)),
        captured("mysql execute", (new, execute), EXECUTE, || Reply::Done(ONE_ROW)),
        captured("mysql prepare select", (new, prepare), PREPARE_SELECT, || {
            Reply::Prepared(Prepared { statement_id: 1, params: 1, columns: 1 })
        }),
        captured("mariadb prepare select", (old, prepare), PREPARE_SELECT_WITH_EOF, || {
            Reply::Prepared(Prepared { statement_id: 4, params: 1, columns: 1 })
        }),
        captured("mariadb prepare update", (new, prepare), PREPARE_UPDATE, || {
            Reply::Prepared(Prepared { statement_id: 2, params: 2, columns: 0 })
        }),
        captured("mariadb prepare update", (old, prepare), PREPARE_UPDATE_WITH_EOF, || {
            Reply::Prepared(Prepared { statement_id: 5, params: 2, columns: 0 })
        }),
        captured("mariadb no such table", (new, query), NO_SUCH_TABLE, || {
            failed(1146, *b"42S02", "Table 'test.missing' doesn't exist")
        }),
        captured("mysql error before a row", (new, query), ERROR_INSTEAD_OF_ROWS, || {
            failed(1690, *b"22003", "DOUBLE value is out of range in 'exp(710)'")
        }),
    ]
}

fn reader(capabilities: Capabilities, expect: Expect) -> ReplyReader {
    let mut reader = ReplyReader::new(capabilities);
    reader.expect(expect);
    reader
}

/// The first error or reply of `bytes`, fed in pieces of `size`.
fn read_in_pieces(
    reader: &mut ReplyReader,
    bytes: &[u8],
    size: usize,
) -> Result<Option<Reply>, WireError> {
    for piece in bytes.chunks(size) {
        let (consumed, reply) = reader.feed(piece)?;
        assert!(consumed == piece.len() || reply.is_some());
        if reply.is_some() {
            return Ok(reply);
        }
    }
    Ok(None)
}

fn read(expect: Expect, bytes: &[u8]) -> Result<Option<Reply>, WireError> {
    read_in_pieces(&mut reader(WITHOUT_EOF, expect), bytes, usize::MAX)
}

fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1);
    for payload in payloads {
        sequence = write_message(&mut out, sequence, |out| out.extend_from_slice(payload));
    }
    out
}

/// One column, then these rows, then the end.
fn result_set(rows: &[&[u8]]) -> Vec<u8> {
    let mut payloads: Vec<&[u8]> = vec![b"\x01", b"\x03def"];
    payloads.extend_from_slice(rows);
    payloads.push(b"\xfe\0\0\x02\0\0\0");
    packets(&payloads)
}

#[test]
fn every_captured_reply_is_read_whatever_the_pieces() {
    for case in all_captured() {
        for size in 1..=case.bytes.len() {
            let mut reader = reader(case.capabilities, case.expect);
            let reply = read_in_pieces(&mut reader, case.bytes, size);
            assert_eq!(reply, Ok(Some((case.reply)())), "{} in pieces of {size}", case.name);
            assert!(reader.is_idle());
        }
    }
}

#[test]
fn a_truncated_reply_needs_more_bytes_at_every_length() {
    for case in all_captured() {
        for length in 0..case.bytes.len() {
            let mut reader = reader(case.capabilities, case.expect);
            let fed = reader.feed(&case.bytes[..length]);
            assert_eq!(fed, Ok((length, None)), "{} at {length}", case.name);
            assert!(!reader.is_idle());
        }
    }
}

#[test]
fn a_result_may_come_without_the_definitions_of_its_columns() {
    let caching = |capabilities| Capabilities::CACHE_METADATA | capabilities;
    let (row, end, eof): (&[u8], &[u8], &[u8]) =
        (b"\0\0\x01a", b"\xfe\0\0\x02\0\0\0", b"\xfe\0\0\x02\0");
    let cases: [(Capabilities, Vec<u8>); 3] = [
        (caching(WITHOUT_EOF), packets(&[b"\x01\x00", row, end])),
        (caching(WITHOUT_EOF), packets(&[b"\x01\x01", b"\x03def", row, end])),
        (caching(WITH_EOF), packets(&[b"\x01\x00", eof, row, eof])),
    ];
    for (capabilities, bytes) in cases {
        for size in 1..=bytes.len() {
            let mut reader = reader(capabilities, Expect::Execute);
            let reply = read_in_pieces(&mut reader, &bytes, size);
            assert_eq!(reply, Ok(Some(Reply::Done(ONE_ROW))));
        }
    }
}

#[test]
fn the_bytes_of_the_next_reply_are_left() {
    let both = [SELECT, UPDATE].concat();
    let mut reader = reader(WITHOUT_EOF, Expect::Query);
    assert_eq!(reader.feed(&both), Ok((SELECT.len(), Some(Reply::Done(ONE_ROW)))));
    reader.expect(Expect::Query);
    assert_eq!(reader.feed(&both[SELECT.len()..]).unwrap().0, UPDATE.len());
}

#[test]
fn a_reader_is_small() {
    assert!(size_of::<ReplyReader>() <= 104, "{} bytes", size_of::<ReplyReader>());
}

#[test]
fn a_huge_row_is_skipped_whatever_its_packets_start_with() {
    // A text value of more than 16 MiB starts with 0xfe; its second packet is made to start with
    // 0xfe or 0xff.
    for marker in [EOF, ERR, OK] {
        for extra in [0, 1, 100] {
            let length = MAX_PACKET_PAYLOAD + extra - 9;
            let mut row = vec![EOF];
            row.extend_from_slice(&(length as u64).to_le_bytes());
            row.resize(MAX_PACKET_PAYLOAD, b'x');
            row.resize(MAX_PACKET_PAYLOAD + extra, marker);
            let bytes = result_set(&[&row, b"\x011"]);
            for size in [usize::MAX, 1 << 20, 4097] {
                let mut reader = reader(WITHOUT_EOF, Expect::Query);
                let reply = read_in_pieces(&mut reader, &bytes, size);
                assert_eq!(reply, Ok(Some(Reply::Done(Completion { rows: 2, ..ONE_ROW }))));
            }
        }
    }
}

#[test]
fn kept_rows_are_those_of_the_server() {
    for size in [1, 3, usize::MAX] {
        let mut reader = reader(WITHOUT_EOF, Expect::Query);
        reader.keep_rows(1 << 20);
        read_in_pieces(&mut reader, SELECT_NULL, size).unwrap();
        assert_eq!(reader.take_rows(), [[None, Some(b"1".to_vec())]]);
        assert!(reader.take_rows().is_empty());
        reader.expect(Expect::Query);
        read_in_pieces(&mut reader, SELECT, size).unwrap();
        assert!(reader.take_rows().is_empty(), "nothing is kept that was not asked for");
    }
    let mut reader = reader(WITHOUT_EOF, Expect::Query);
    reader.keep_rows(1 << 20);
    read_in_pieces(&mut reader, CALL, usize::MAX).unwrap();
    let value = |text: &str| vec![Some(text.as_bytes().to_vec())];
    assert_eq!(reader.take_rows(), [value("1"), value("1"), value("2"), value("3")]);
}

#[test]
fn a_kept_row_may_fill_its_packets_exactly() {
    let mut row = vec![EOF];
    row.extend_from_slice(&((MAX_PACKET_PAYLOAD - 9) as u64).to_le_bytes());
    row.resize(MAX_PACKET_PAYLOAD, b'x');
    let bytes = result_set(&[&row]);
    let mut reader = reader(WITHOUT_EOF, Expect::Query);
    reader.keep_rows(1 << 26);
    read_in_pieces(&mut reader, &bytes, 1 << 16).unwrap();
    let rows = reader.take_rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0].as_ref().map(Vec::len), Some(MAX_PACKET_PAYLOAD - 9));
}

#[test]
fn more_kept_than_allowed_is_an_error() {
    let mut reader = reader(WITHOUT_EOF, Expect::Query);
    reader.keep_rows(3);
    assert!(matches!(reader.feed(SELECT), Err(WireError::TooLarge { .. })));
}

#[test]
fn a_local_file_is_asked_for_sent_and_answered() {
    let mut reader = reader(WITHOUT_EOF, Expect::Query);
    reader.allow_local_infile(true);
    let asked = Reply::WantsFile { name: "rows.csv".to_owned() };
    assert_eq!(reader.feed(b"\x09\0\0\x01\xfbrows.csv"), Ok((13, Some(asked))));
    assert!(!reader.is_idle());
    assert_eq!(reader.next_sequence(), 2);
    // mariadbd 10.11.19, after two packets of the client.
    let done = b"7\0\0\x04\0\x01\0\x02\0\0\0/Records: 1  Deleted: 0  Skipped: 0  Warnings: 0";
    let reply = Reply::Done(Completion { affected_rows: 1, ..AUTOCOMMIT });
    assert_eq!(reader.feed(done), Ok((done.len(), Some(reply))));
}

#[test]
fn a_local_file_that_nobody_offered_is_an_error() {
    let result = read(Expect::Query, b"\x0c\0\0\x01\xfb/etc/passwd");
    let name = "/etc/passwd".to_owned();
    assert_eq!(result, Err(WireError::UnexpectedLocalInfile { name }));
}

#[test]
fn packets_out_of_sequence_are_noticed() {
    let mut bytes = SELECT.to_vec();
    bytes[5 + 3] = 3;
    assert_eq!(read(Expect::Query, &bytes), Err(WireError::OutOfSequence { expected: 2, got: 3 }));
    assert!(read(Expect::Query, b"\x07\0\0\0\0\0\0\x02\0\0\0").is_err());
}

#[test]
fn the_reply_to_a_command_of_several_packets_is_numbered_on() {
    let after_three = b"\x07\0\0\x03\0\0\0\x02\0\0\0";
    assert_eq!(read(Expect::Query, after_three), Ok(Some(Reply::Done(AUTOCOMMIT))));
}

#[test]
fn the_servers_last_word_is_told_apart_from_a_reply() {
    // mysqld 9.7.4 closing an idle connection, its text shortened.
    let farewell = packets(&[b"\xff\xbf\x0f#HY000The client was disconnected by the server"]);
    let mut unasked = farewell.clone();
    unasked[3] = 0;
    let mut idle = ReplyReader::new(WITHOUT_EOF);
    assert!(
        matches!(idle.feed(&unasked), Err(WireError::Server(error)) if error.code == error_code(4031))
    );
    let crossed = read(Expect::Query, &unasked);
    assert!(matches!(crossed, Err(WireError::Server(error)) if error.code == error_code(4031)));
    assert_eq!(ReplyReader::new(WITHOUT_EOF).feed(UPDATE), Err(WireError::Unasked));
}

#[test]
fn what_must_be_held_has_a_limit_and_rows_have_none() {
    let long = (MAX_WHOLE_PACKET + 1).to_le_bytes();
    let head = [long[0], long[1], long[2], 1, OK];
    assert!(matches!(read(Expect::Query, &head), Err(WireError::TooLarge { .. })));
    let definition = [b"\x01\0\0\x01\x01".as_slice(), &[long[0], long[1], long[2], 2, 3]].concat();
    assert!(matches!(read(Expect::Query, &definition), Err(WireError::TooLarge { .. })));
    let row = vec![3; MAX_WHOLE_PACKET + 1];
    let reply = Reply::Done(ONE_ROW);
    assert_eq!(read(Expect::Query, &result_set(&[&row])), Ok(Some(reply)));
}

#[test]
fn what_the_protocol_does_not_allow_is_an_error() {
    let cases: [(Expect, Vec<u8>); 7] = [
        (Expect::Query, packets(&[b""])),
        (Expect::Query, packets(&[b"\xfe\0\0\x02\0\0\0"])),
        (Expect::Prepare, packets(&[b"\x01\0\0\0\0\0\0\0\0\0\0\0"])),
        (Expect::Execute, packets(&[b"\x01", b"\x03def", b"\x01row"])),
        (Expect::Query, packets(&[b"\x01", b"\x03def", b""])),
        (Expect::Query, packets(&[b"\x01", b"\x03def", b"\xfe\0"])),
        (Expect::Query, packets(&[b"\xfd\xff\xff\xff"])),
    ];
    for (expect, bytes) in cases {
        assert!(read(expect, &bytes).is_err(), "{bytes:?}");
        let in_pieces = read_in_pieces(&mut reader(WITHOUT_EOF, expect), &bytes, 1);
        assert_eq!(in_pieces, read(expect, &bytes));
    }
}

#[test]
fn results_are_kept_as_they_came_and_forgotten_with_the_next_command() {
    let kept = |columns, rows, bytes: &[u8]| ResultSet {
        columns,
        rows,
        bytes: bytes.to_vec(),
        ..ResultSet::default()
    };
    let cases: [(Expect, &[u8], Vec<ResultSet>); 5] = [
        (Expect::Query, CALL, vec![kept(1, 1, b"\x011"), kept(1, 3, b"\x011\x012\x013")]),
        (Expect::Query, UPDATE, vec![]),
        (Expect::Query, SELECT, vec![kept(2, 1, b"\x012\x01w")]),
        (Expect::Execute, EXECUTE, vec![kept(1, 1, b"")]),
        (Expect::Query, SELECT_NULL, vec![kept(2, 1, b"\xfb\x011")]),
    ];
    for pieces in [1, 7, usize::MAX] {
        let mut reader = ReplyReader::new(WITHOUT_EOF);
        reader.keep_results(1 << 20);
        for (expect, bytes, expected) in &cases {
            reader.expect(*expect);
            read_in_pieces(&mut reader, bytes, pieces).unwrap();
            assert_eq!(reader.results(), expected, "in pieces of {pieces}");
        }
    }
}

/// From the documentation, the answer to an execution: two rows of INT, BIGINT, VARCHAR, NULL and
/// DECIMAL.
const BINARY: &[u8] = b"\x01\0\0\x01\x05\
    \x17\0\0\x02\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\0\0\0\0\
    \x18\0\0\x03\x03def\0\0\0\x02-2\0\x0c?\0\x02\0\0\0\x08\x81\0\0\0\0\
    \x1b\0\0\x04\x03def\0\0\0\x05three\0\x0c-\0\x14\0\0\0\xfd\x01\0'\0\0\
    \x1a\0\0\x05\x03def\0\0\0\x04NULL\0\x0c?\0\0\0\0\0\x06\x80\0\0\0\0\
    \x1a\0\0\x06\x03def\0\0\0\x044.50\0\x0c?\0\x05\0\0\0\xf6\x81\0\x02\0\0\
    \x19\0\0\x07\0\x20\x01\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\x05three\x044.50\
    \x19\0\0\x08\0\x20\x02\0\0\0\xfd\xff\xff\xff\xff\xff\xff\xff\x05three\x044.51\
    \x07\0\0\x09\xfe\0\0\x02\0\0\0";

#[test]
fn values_of_binary_rows_are_read_where_they_are_kept() {
    let row = |first, second, last: &'static [u8]| {
        let text = Value::Bytes(b"three");
        [Value::Int(first), Value::Int(second), text, Value::Null, Value::Bytes(last)]
    };
    let expected = [row(1, -2, b"4.50"), row(2, -3, b"4.51")].concat();
    for pieces in [1, 7, usize::MAX] {
        let mut reader = ReplyReader::new(WITHOUT_EOF);
        reader.keep_values(1 << 20);
        for _ in 0..2 {
            reader.expect(Expect::Execute);
            read_in_pieces(&mut reader, BINARY, pieces).unwrap();
            let [result] = reader.results() else { panic!("one result") };
            let values: Vec<_> = result.values().map(Result::unwrap).collect();
            assert_eq!(values, expected, "in pieces of {pieces}");
        }
        reader.expect(Expect::Query);
        read_in_pieces(&mut reader, SELECT_NULL, pieces).unwrap();
        let values: Vec<_> = reader.results()[0].values().map(Result::unwrap).collect();
        assert_eq!(values, [Value::Null, Value::Bytes(b"1")]);
    }
}

#[test]
fn a_binary_row_that_is_cut_off_has_no_values_beyond_its_end() {
    let mut reader = ReplyReader::new(WITHOUT_EOF);
    reader.keep_values(1 << 20);
    reader.expect(Expect::Execute);
    reader.feed(BINARY).unwrap();
    let whole = reader.results()[0].clone();
    for length in 0..whole.bytes.len() {
        let cut = ResultSet { bytes: whole.bytes[..length].to_vec(), ..whole.clone() };
        let values: Vec<_> = cut.values().collect();
        assert!(values.len() <= 10);
        assert!(values.iter().rev().skip(1).all(Result::is_ok), "{values:?}");
    }
}

#[test]
fn any_number_of_empty_results_is_not_kept() {
    let one: [&[u8]; 3] = [b"\x01", b"\x03def", b"\xfe\0\0\x0a\0\0\0"];
    let bytes = packets(&one.repeat(80));
    let mut reader = ReplyReader::new(WITHOUT_EOF);
    reader.keep_results(1_000);
    reader.expect(Expect::Query);
    let error = read_in_pieces(&mut reader, &bytes, usize::MAX).unwrap_err();
    assert!(matches!(error, WireError::TooLarge { .. }), "{error:?}");
}
