//! Hostile bytes: nothing panics, nothing grows, and cutting a stream into pieces changes nothing.

use std::mem::discriminant;
use std::sync::Arc;

use loadstone_wire::{
    Capabilities, Expect, Login, LoginOptions, LoginProgress, Reply, ReplyReader, Row, TlsWish,
    WireError,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const GREETING_MARIADB_10_11_19: &[u8] = b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0\
    K#jmd0]h\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0\
    mysql_native_password\0";

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

fn meaning(capabilities: Capabilities, expect: Expect, pieces: &[&[u8]]) -> Meaning {
    let mut reader = ReplyReader::new(capabilities);
    reader.allow_local_infile(true);
    reader.keep_rows(1 << 12);
    reader.keep_values(1 << 12);
    reader.expect(expect);
    let (mut replies, mut values, mut error) = (Vec::new(), Vec::new(), None);
    'stream: for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match reader.feed(rest) {
                Ok((consumed, reply)) => {
                    assert!(consumed == rest.len() || reply.is_some());
                    rest = &rest[consumed..];
                    if reply.is_some() {
                        values.push(format!("{:?}", reader.results()));
                        values.extend(
                            reader.results().iter().map(|one| format!("{:?}", one.values())),
                        );
                    }
                    replies.extend(reply);
                }
                Err(failed) => {
                    error = Some(failed);
                    break 'stream;
                }
            }
            if reader.is_idle() {
                reader.expect(expect);
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

fn expects() -> impl Strategy<Value = Expect> {
    select(vec![Expect::Query, Expect::Prepare, Expect::Execute])
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    select(vec![Capabilities::PROTOCOL_41, Capabilities::DEPRECATE_EOF])
}

/// Payloads that reach deep into the reader's phases, intact and damaged.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let plausible: Vec<&[u8]> = vec![
        b"\0\0\0\x02\0\0\0",
        b"\0\x01\x02\x0a\0\x01\0info",
        b"\xfe\0\0\x02\0\0\0",
        b"\xfe\0\0\x0a\0\0\0",
        b"\xfe\0\0\x02\0",
        b"\xfe\x01\0\x0a\0",
        b"\xff\x15\x04#28000denied",
        b"\xfbname",
        b"\x01",
        b"\x02",
        b"\x03def\x04test",
        b"\0\0\x01\0\0\0\0\0\0\0",
        b"\x03abc",
        b"\xfb\xfb",
        b"\0\x01\0\0\0\x01\0\x01\0\0\0\0",
        b"\0\x01\0\0\0\0\0\0\0\0\0\0",
        b"",
    ];
    let damaged = (select(plausible.clone()), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(payload, at, byte)| {
            let mut payload = payload.to_vec();
            if !payload.is_empty() {
                let at = at.index(payload.len());
                payload[at] = byte;
            }
            payload
        },
    );
    prop_oneof![
        8 => select(plausible).prop_map(<[u8]>::to_vec),
        2 => damaged,
        1 => vec(any::<u8>(), 0..40),
    ]
}

/// Packets with consecutive numbers, with a rare slip and a restart after what may be a reply's
/// end.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    vec((payload(), prop::bool::weighted(0.02), prop::bool::weighted(0.2)), 0..30).prop_map(
        |parts| {
            let (mut bytes, mut sequence) = (Vec::new(), 1_u8);
            for (payload, slip, restart) in parts {
                sequence = if restart { 1 } else { sequence.wrapping_add(u8::from(slip)) };
                bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
                bytes.push(sequence);
                bytes.extend_from_slice(&payload);
                sequence = sequence.wrapping_add(1);
            }
            bytes
        },
    )
}

fn converse(login: &mut Login, pieces: &[&[u8]]) -> (Vec<u8>, Option<WireError>, bool) {
    let mut out = Vec::new();
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

fn login() -> Login {
    Login::new(Arc::new(LoginOptions {
        user: "user".to_owned(),
        password: b"secret".to_vec(),
        tls: TlsWish::Never,
        allow_public_key_retrieval: true,
        ..LoginOptions::default()
    }))
}

/// What a server may send during a login.
fn login_payload() -> impl Strategy<Value = Vec<u8>> {
    let plausible: Vec<&[u8]> = vec![
        b"\0\0\0\x02\0\0\0",
        b"\xff\x15\x04#28000denied",
        b"\xfe",
        b"\xfemysql_native_password\x0012345678901234567890\0",
        b"\xfecaching_sha2_password\x0012345678901234567890\0",
        b"\xfesha256_password\x0012345678901234567890\0",
        b"\xfeclient_ed25519\x0012345678901234567890123456789012",
        b"\xfeparsec\x0012345678901234567890123456789012",
        // A salt that is taken is answered with a random nonce, another one each time.
        b"P\x09salt",
        b"\xfemysql_clear_password\0",
        b"\x01\x03",
        b"\x01\x04",
        b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"\x02factor\0",
    ];
    prop_oneof![
        8 => select(plausible).prop_map(<[u8]>::to_vec),
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
        capabilities in capabilities(),
        expect in expects(),
    ) {
        let whole = meaning(capabilities, expect, &[&bytes]);
        prop_assert_eq!(meaning(capabilities, expect, &cut(&bytes, &cuts)), whole);
    }

    #[test]
    fn likely_packets_mean_the_same_in_any_pieces(
        bytes in packets(),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        capabilities in capabilities(),
        expect in expects(),
    ) {
        let whole = meaning(capabilities, expect, &[&bytes]);
        prop_assert_eq!(&meaning(capabilities, expect, &cut(&bytes, &cuts)), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(meaning(capabilities, expect, &single), whole);
    }

    #[test]
    fn any_greeting_is_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        converse(&mut login(), &[&bytes]);
    }

    #[test]
    fn a_damaged_greeting_is_read_or_refused(
        at in 0..GREETING_MARIADB_10_11_19.len(),
        byte in any::<u8>(),
    ) {
        let mut greeting = GREETING_MARIADB_10_11_19.to_vec();
        greeting[at] = byte;
        converse(&mut login(), &[&greeting]);
    }

    #[test]
    fn any_login_goes_the_same_way_in_any_pieces(
        payloads in vec(login_payload(), 0..6),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut bytes = GREETING_MARIADB_10_11_19.to_vec();
        for (index, payload) in payloads.iter().enumerate() {
            bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            bytes.push(2 + 2 * index as u8);
            bytes.extend_from_slice(payload);
        }
        let whole = converse(&mut login(), &[&bytes]);
        prop_assert_eq!(converse(&mut login(), &cut(&bytes, &cuts)), whole.clone());
        let shown = whole.0.windows(6).any(|window| window == b"secret");
        prop_assert!(!shown, "the password went in clear over an open connection");
    }
}
