//! Hostile bytes: nothing panics, nothing grows, and cutting a stream into pieces changes nothing.

use std::mem::discriminant;
use std::sync::Arc;

use loadstone_wire_postgres::{
    Exchange, Login, LoginOptions, LoginProgress, Reply, ReplyReader, Row, TlsWish, WireError,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The meaning of a stream: its replies, the rows and values kept, and the error that ended it.
#[derive(Debug)]
struct Meaning {
    replies: Vec<Reply>,
    rows: Vec<Row>,
    /// As text, since a floating-point number need not be equal to itself.
    values: Vec<String>,
    error: Option<WireError>,
}

impl PartialEq for Meaning {
    /// Lengths in errors may differ: a limit is noticed earlier when the bytes come in small
    /// pieces.
    fn eq(&self, other: &Self) -> bool {
        let kind = |meaning: &Self| meaning.error.as_ref().map(discriminant);
        self.replies == other.replies
            && self.rows == other.rows
            && self.values == other.values
            && kind(self) == kind(other)
    }
}

fn meaning(exchange: Exchange, pieces: &[&[u8]]) -> Meaning {
    let mut reader = ReplyReader::new(0);
    reader.allow_copy_in(true);
    reader.keep_rows(1 << 12);
    reader.keep_results(1 << 12);
    reader.expect(exchange);
    let (mut replies, mut values, mut error) = (Vec::new(), Vec::new(), None);
    'stream: for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match reader.feed(rest) {
                Ok((consumed, reply)) => {
                    assert!(consumed == rest.len() || reply.is_some());
                    rest = &rest[consumed..];
                    if reply.is_some() {
                        let results = reader.results().iter();
                        values.extend(results.map(|one| format!("{one:?} {:?}", one.values())));
                    }
                    replies.extend(reply);
                }
                Err(failed) => {
                    error = Some(failed);
                    break 'stream;
                }
            }
            if reader.is_idle() {
                reader.expect(exchange);
            }
        }
    }
    let rows = if error.is_some() { Vec::new() } else { reader.take_rows() };
    Meaning { replies, rows, values, error }
}

fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let (mut pieces, mut rest, mut at) = (Vec::new(), bytes, 0);
    for place in places {
        let (piece, tail) = rest.split_at(place - at);
        pieces.push(piece);
        (rest, at) = (tail, place);
    }
    pieces.push(rest);
    pieces
}

fn exchanges() -> impl Strategy<Value = Exchange> {
    select(vec![
        Exchange::Query,
        Exchange::Prepare,
        Exchange::Execute,
        Exchange::ParseAndExecute,
        Exchange::Sync,
    ])
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Messages that reach deep into the reader's stages, intact and damaged.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let plausible: Vec<(u8, &[u8])> = vec![
        (b'1', b""),
        (b'2', b""),
        (b'3', b""),
        (b'n', b""),
        (b's', b""),
        (b'I', b""),
        (b't', b"\0\x01\0\0\0\x17"),
        (b'T', b"\0\x01id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0"),
        (b'T', b"\0\x01id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01"),
        (b'T', b"\0\0"),
        (b'D', b"\0\x01\0\0\0\x0412ab"),
        (b'D', b"\0\x01\xff\xff\xff\xff"),
        (b'D', b"\0\0"),
        (b'C', b"SELECT 1\0"),
        (b'C', b"INSERT 0 1\0"),
        (b'C', b"ROLLBACK\0"),
        (b'Z', b"I"),
        (b'Z', b"T"),
        (b'Z', b"E"),
        (b'E', b"SERROR\0VERROR\0C40001\0Mserialize\0\0"),
        (b'E', b"SFATAL\0VFATAL\0C57P01\0Mshutdown\0\0"),
        (b'N', b"SWARNING\0VWARNING\0C01000\0Mcareful\0\0"),
        (b'S', b"TimeZone\0UTC\0"),
        (b'A', b"\0\0\0\x01channel\0payload\0"),
        (b'G', b"\0\0\x01\0\0"),
        (b'H', b"\0\0\x01\0\0"),
        (b'd', b"1\ta\n"),
        (b'c', b""),
    ];
    let damaged = (select(plausible.clone()), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |((kind, body), at, byte)| {
            let mut message = message(kind, body);
            let at = at.index(message.len());
            message[at] = byte;
            message
        },
    );
    let one = prop_oneof![
        20 => select(plausible).prop_map(|(kind, body)| message(kind, body)),
        1 => damaged,
        1 => (any::<u8>(), vec(any::<u8>(), 0..40)).prop_map(|(kind, body)| message(kind, &body)),
    ];
    vec(one, 0..30).prop_map(|messages| messages.concat())
}

fn converse(tls: TlsWish, pieces: &[&[u8]]) -> (Vec<u8>, Option<WireError>, bool) {
    let mut out = Vec::new();
    let options = LoginOptions {
        user: "user".to_owned(),
        password: b"secret".to_vec(),
        tls,
        ..LoginOptions::default()
    };
    let (mut login, _) = Login::begin(Arc::new(options), &mut out).expect("texts");
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match login.feed(rest, &mut out) {
                Ok((_, LoginProgress::Done(_))) => return (out, None, true),
                Ok((consumed, _)) => rest = &rest[consumed..],
                Err(error) => return (out, Some(error), false),
            }
        }
    }
    (out, None, false)
}

/// What a server may send during a login.
fn login_message() -> impl Strategy<Value = Vec<u8>> {
    let plausible: Vec<(u8, &[u8])> = vec![
        (b'R', b"\0\0\0\0"),
        (b'R', b"\0\0\0\x03"),
        (b'R', b"\0\0\0\x05salt"),
        (b'R', b"\0\0\0\x07"),
        (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"),
        (b'R', b"\0\0\0\x0br=x,s=QQ==,i=1"),
        (b'R', b"\0\0\0\x0cv=QQ=="),
        (b'S', b"server_version\x0015.18\0"),
        (b'K', b"\0\0\0\x01abcd"),
        (b'v', b"\0\x03\0\0\0\0\0\0"),
        (b'N', b"SNOTICE\0\0"),
        (b'E', b"SFATAL\0C28P01\0Mno\0\0"),
        (b'Z', b"I"),
    ];
    prop_oneof![
        8 => select(plausible).prop_map(|(kind, body)| message(kind, body)),
        1 => vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_mean_the_same_in_any_pieces(
        bytes in vec(any::<u8>(), 0..200),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
        exchange in exchanges(),
    ) {
        let whole = meaning(exchange, &[&bytes]);
        prop_assert_eq!(meaning(exchange, &cut(&bytes, &cuts)), whole);
    }

    #[test]
    fn likely_messages_mean_the_same_in_any_pieces(
        bytes in messages(),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        exchange in exchanges(),
    ) {
        let whole = meaning(exchange, &[&bytes]);
        prop_assert_eq!(&meaning(exchange, &cut(&bytes, &cuts)), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(meaning(exchange, &single), whole);
    }

    #[test]
    fn any_login_goes_the_same_way_in_any_pieces(
        messages in vec(login_message(), 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = messages.concat();
        let (sent, error, done) = converse(TlsWish::Never, &[&bytes]);
        let (sent_cut, error_cut, done_cut) = converse(TlsWish::Never, &cut(&bytes, &cuts));
        prop_assert_eq!((error, done, sent.len()), (error_cut, done_cut, sent_cut.len()));
        let shown = sent.windows(6).any(|window| window == b"secret");
        prop_assert!(!shown, "the password went in clear over an open connection");
    }

    #[test]
    fn any_bytes_of_a_server_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        converse(TlsWish::Never, &[&bytes]);
        converse(TlsWish::IfOffered, &[&bytes]);
    }
}
