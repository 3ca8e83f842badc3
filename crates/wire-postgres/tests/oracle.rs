//! The same messages, written or read by postgres-protocol: two implementations that agree are
//! seldom both wrong.

use bytes::BytesMut;
use loadstone_wire_postgres::{
    ALL_ROWS, Bind, Exchange, Format, Login, LoginOptions, Param, Reply, ReplyReader,
    StatementName, TlsWish, Value, escape_text, write_bind, write_close_statement, write_copy_data,
    write_copy_done, write_copy_fail, write_describe_portal, write_describe_statement,
    write_execute_portal, write_flush, write_parse, write_query, write_sync, write_terminate,
};
use postgres_protocol::IsNull;
use postgres_protocol::message::{backend, frontend};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// What postgres-protocol writes.
fn theirs<E: std::fmt::Debug>(write: impl FnOnce(&mut BytesMut) -> Result<(), E>) -> Vec<u8> {
    let mut buffer = BytesMut::new();
    write(&mut buffer).expect("a message");
    buffer.to_vec()
}

fn ours(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// A parameter before its text is borrowed.
#[derive(Clone, Debug)]
enum Drawn {
    Null,
    Int(i64),
    Double(f64),
    Text(Vec<u8>),
}

impl Drawn {
    fn param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(value) => Param::Int(*value),
            Self::Double(value) => Param::Double(*value),
            Self::Text(value) => Param::Text(value),
        }
    }

    fn text(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Int(value) => Some(value.to_string().into_bytes()),
            Self::Double(value) => Some(format!("{value:?}").into_bytes()),
            Self::Text(value) => Some(value.clone()),
        }
    }

    fn put_binary(
        &self,
        buffer: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int(value) => postgres_protocol::types::int8_to_sql(*value, buffer),
            Self::Double(value) => postgres_protocol::types::float8_to_sql(*value, buffer),
            Self::Text(value) => buffer.extend_from_slice(value),
        }
        Ok(IsNull::No)
    }

    fn format(&self) -> i16 {
        i16::from(matches!(self, Self::Int(_) | Self::Double(_)))
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        Just(Drawn::Null),
        any::<i64>().prop_map(Drawn::Int),
        any::<f64>().prop_map(Drawn::Double),
        vec(any::<u8>(), 0..400).prop_map(Drawn::Text),
    ]
}

fn their_bind(drawn: &[Drawn], format: Format) -> Vec<u8> {
    let put = |value: &Drawn, buffer: &mut BytesMut| match format {
        Format::Text => Ok(match value.text() {
            Some(text) => {
                buffer.extend_from_slice(&text);
                IsNull::No
            }
            None => IsNull::Yes,
        }),
        Format::Binary => value.put_binary(buffer),
    };
    let formats: Vec<i16> = match format {
        Format::Text => Vec::new(),
        Format::Binary => drawn.iter().map(Drawn::format).collect(),
    };
    let results = [i16::from(format == Format::Binary)];
    let mut buffer = BytesMut::new();
    let bound = frontend::bind("", "s7", formats, drawn, put, results, &mut buffer);
    assert!(bound.is_ok());
    buffer.to_vec()
}

#[test]
fn commands_are_the_same() {
    let name = StatementName::Numbered(7);
    let cases = [
        (ours(|out| write_query(out, b"SELECT 1")), theirs(|b| frontend::query("SELECT 1", b))),
        (
            ours(|out| write_describe_statement(out, name)),
            theirs(|b| frontend::describe(b'S', "s7", b)),
        ),
        (ours(write_describe_portal), theirs(|b| frontend::describe(b'P', "", b))),
        (ours(|out| write_execute_portal(out, ALL_ROWS)), theirs(|b| frontend::execute("", 0, b))),
        (ours(|out| write_execute_portal(out, 100)), theirs(|b| frontend::execute("", 100, b))),
        (ours(|out| write_close_statement(out, name)), theirs(|b| frontend::close(b'S', "s7", b))),
        (ours(|out| write_copy_fail(out, b"disk")), theirs(|b| frontend::copy_fail("disk", b))),
    ];
    for (ours, theirs) in cases {
        assert_eq!(ours, theirs);
    }
    let mut buffer = BytesMut::new();
    frontend::sync(&mut buffer);
    frontend::flush(&mut buffer);
    frontend::copy_done(&mut buffer);
    frontend::terminate(&mut buffer);
    let written = ours(|out| {
        write_sync(out);
        write_flush(out);
        write_copy_done(out);
        write_terminate(out);
    });
    assert_eq!(written, buffer);
}

#[test]
fn the_first_messages_of_a_connection_are_the_same() {
    let mut options = LoginOptions { user: "bench".to_owned(), ..LoginOptions::default() };
    let mut buffer = BytesMut::new();
    frontend::ssl_request(&mut buffer);
    assert_eq!(ours(|out| drop(Login::begin(Arc::new(options.clone()), out))), buffer);
    options.tls = TlsWish::Never;
    options.database = Some("shop".to_owned());
    options.parameters = vec![("client_encoding".to_owned(), "UTF8".to_owned())];
    let pairs = [("user", "bench"), ("database", "shop"), ("client_encoding", "UTF8")];
    let expected = theirs(|buffer| frontend::startup_message(pairs, buffer));
    assert_eq!(ours(|out| drop(Login::begin(Arc::new(options), out))), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_parse_is_the_same(sql in "[^\0]{0,300}", types in vec(any::<u32>(), 0..40)) {
        let mut buffer = BytesMut::new();
        frontend::parse("", &sql, types.iter().copied(), &mut buffer).unwrap();
        let written = ours(|out| write_parse(out, StatementName::Unnamed, sql.as_bytes(), &types));
        prop_assert_eq!(written, buffer.to_vec());
    }

    #[test]
    fn a_bind_is_the_same(drawn in vec(drawn(), 0..40), is_binary in any::<bool>()) {
        let format = if is_binary { Format::Binary } else { Format::Text };
        let bind = Bind { statement: StatementName::Numbered(7), params: format, results: format };
        let params: Vec<Param<'_>> = drawn.iter().map(Drawn::param).collect();
        let written = ours(|out| write_bind(out, bind, params.iter().copied()));
        prop_assert_eq!(written, their_bind(&drawn, format));
    }

    #[test]
    fn a_piece_of_a_copy_is_the_same(piece in vec(any::<u8>(), 1..300)) {
        let mut buffer = BytesMut::new();
        frontend::CopyData::new(piece.as_slice()).unwrap().write(&mut buffer);
        let written = ours(|out| {
            write_copy_data(out, |out| out.extend_from_slice(&piece));
        });
        prop_assert_eq!(written, buffer.to_vec());
    }

    #[test]
    fn a_literal_is_the_same(text in "[a-z'\\\\]{0,40}") {
        let written = ours(|out| escape_text(out, text.as_bytes()));
        let expected = postgres_protocol::escape::escape_literal(&text);
        prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn rows_are_read_the_same(
        rows in vec(vec(proptest::option::of(vec(any::<u8>(), 0..300)), 3), 0..10),
    ) {
        let mut stream = message(b'T', &columns(3));
        for row in &rows {
            stream.extend(message(b'D', &data_row(row)));
        }
        stream.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
        stream.extend(message(b'Z', b"I"));
        let mut reader = ReplyReader::new(0);
        reader.keep_rows(1 << 20);
        reader.keep_results(1 << 20);
        reader.expect(Exchange::Query);
        let Ok((_, Some(Reply::Done(done)))) = reader.feed(&stream) else {
            return Err(TestCaseError::fail("no reply"));
        };
        let theirs = rows_by_postgres_protocol(&stream);
        prop_assert_eq!(done.rows, theirs.len() as u64);
        let flat: Vec<Value<'_>> = theirs
            .iter()
            .flatten()
            .map(|value| value.as_deref().map_or(Value::Null, Value::Bytes))
            .collect();
        let kept: Vec<Value<'_>> = reader.results()[0].values().map(Result::unwrap).collect();
        prop_assert_eq!(kept, flat);
        prop_assert_eq!(reader.take_rows(), theirs);
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn columns(count: u16) -> Vec<u8> {
    let one = b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    [&count.to_be_bytes()[..], &one.repeat(usize::from(count))].concat()
}

fn data_row(row: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = (row.len() as u16).to_be_bytes().to_vec();
    for value in row {
        let length = value.as_ref().map_or(-1, |value| value.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    body
}

fn rows_by_postgres_protocol(stream: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
    use fallible_iterator::FallibleIterator;
    let mut buffer = BytesMut::from(stream);
    let mut rows = Vec::new();
    while let Some(message) = backend::Message::parse(&mut buffer).expect("messages") {
        if let backend::Message::DataRow(row) = message {
            let ranges: Vec<_> = row.ranges().collect().expect("values");
            let value = |range: Option<std::ops::Range<usize>>| {
                range.map(|range| row.buffer()[range].to_vec())
            };
            rows.push(ranges.into_iter().map(value).collect());
        }
    }
    rows
}
