//! Logins: what the password is sent in, and what it is never sent in.

use super::{Choices, assert_plain, chosen, read};
use loadstone_wire::{
    Compression, CompressionWish, Login, LoginOptions, LoginProgress, TlsWish, WireError,
};
use std::mem::discriminant;
use std::sync::Arc;

const PASSWORD: &str = "a password of more than twenty bytes";
const USER: &str = "somebody";

const MARIADB_10_11_19: &[u8] =
    b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0K#jmd0]h\0\
    \xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0mysql_native_password\0";
const MYSQL_9_7_4: &[u8] = b"K\0\0\0\x0a9.7.4-2\0\x09\0\0\0S\x12:V>NK\x13\0\xff\xff\xff\x02\0\
    \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\x1cm\x0a\x05\x05v\x19#T<\\]\0caching_sha2_password\0";

/// Everything that a server sends, its greeting first.
pub(super) fn greeting(data: &[u8]) {
    if let Some((choices, stream)) = read(data, 0, 2) {
        same_in_pieces(choices, &[], &stream);
    }
}

/// What it sends after a well-formed greeting.
pub(super) fn authentication(data: &[u8]) {
    let Some((choices, _)) = chosen(data) else { return };
    let (greeting, offers_tls) =
        if choices.flag(7) { (MYSQL_9_7_4, true) } else { (MARIADB_10_11_19, false) };
    // The request for TLS is a packet, too.
    let number = if offers_tls && wants_tls(choices) { 3 } else { 2 };
    if let Some((_, said)) = read(data, number, 2) {
        same_in_pieces(choices, greeting, &said);
    }
}

/// How a login went.
#[derive(Debug)]
struct Course {
    sent: Vec<u8>,
    in_clear: usize,
    encrypted: bool,
    done: bool,
    error: Option<WireError>,
}

fn same_in_pieces(choices: Choices, greeting: &[u8], stream: &[u8]) {
    let whole = converse(choices, &[greeting, stream]);
    let pieces: Vec<&[u8]> =
        std::iter::once(greeting).chain(stream.chunks(choices.piece())).collect();
    let cut = converse(choices, &pieces);
    check(choices, &whole);
    check(choices, &cut);
    // Plaintext bytes before a handshake are only noticed if they arrived together with the
    // greeting.
    if !wants_tls(choices) || !greeting.is_empty() {
        let kind = |course: &Course| course.error.as_ref().map(discriminant);
        assert_eq!((kind(&whole), whole.done), (kind(&cut), cut.done), "{whole:?} {cut:?}");
        // What is encrypted with a server's key differs each time, but has the same length.
        assert_eq!(whole.sent.len(), cut.sent.len());
    }
}

fn wants_tls(choices: Choices) -> bool {
    choices.flag(0)
}

fn converse(choices: Choices, pieces: &[&[u8]]) -> Course {
    let mut login = Login::new(Arc::new(options(choices)));
    let mut course =
        Course { sent: Vec::new(), in_clear: 0, encrypted: false, done: false, error: None };
    'stream: for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (consumed, progress) = match login.feed(rest, &mut course.sent) {
                Ok(fed) => fed,
                Err(error) => {
                    course.error = Some(error);
                    break 'stream;
                }
            };
            rest = &rest[consumed..];
            match progress {
                LoginProgress::NeedBytes => assert!(rest.is_empty()),
                LoginProgress::StartTls => {
                    course.in_clear = course.sent.len();
                    course.encrypted = true;
                    if let Err(error) = login.tls_established(&mut course.sent) {
                        course.error = Some(error);
                        break 'stream;
                    }
                }
                LoginProgress::Done(session) => {
                    assert_eq!(session.encrypted, course.encrypted);
                    assert_plain(&session.server_version, 256);
                    course.done = true;
                    break 'stream;
                }
            }
        }
    }
    if !course.encrypted {
        course.in_clear = course.sent.len();
    }
    course
}

fn options(choices: Choices) -> LoginOptions {
    let tls = match (wants_tls(choices), choices.flag(1)) {
        (false, _) => TlsWish::Never,
        (true, false) => TlsWish::IfOffered,
        (true, true) => TlsWish::Must,
    };
    let any_of = if choices.flag(4) { Compression::ALL.to_vec() } else { Vec::new() };
    LoginOptions {
        user: USER.to_owned(),
        password: PASSWORD.as_bytes().to_vec(),
        database: choices.flag(6).then(|| "shop".to_owned()),
        tls,
        compression: CompressionWish { any_of, must: choices.flag(5) },
        transport_secure: choices.flag(2),
        allow_public_key_retrieval: choices.flag(3),
        attributes: vec![("program_name".to_owned(), "loadstone".to_owned())],
        ..LoginOptions::default()
    }
}

fn check(choices: Choices, course: &Course) {
    let open = &course.sent[..course.in_clear];
    let has =
        |part: &[u8], text: &str| part.windows(text.len()).any(|window| window == text.as_bytes());
    if !choices.flag(2) {
        assert!(!has(open, PASSWORD), "the password went over an open line");
    }
    // No certificate is verified here.
    if !choices.flag(2) && !choices.flag(3) {
        assert!(!has(&course.sent, PASSWORD), "the password went to whoever asked within TLS");
    }
    if wants_tls(choices) && choices.flag(1) {
        assert!(!has(open, USER), "TLS is a must, and the login went without it");
        assert!(course.encrypted || !course.done);
    }
    // A few packets each way; the longest is encrypted with a key of 8192 bits.
    assert!(course.sent.len() < 12 * 1100, "{} bytes were sent", course.sent.len());
    if let Some(error) = &course.error {
        assert_plain(&error.to_string(), 4200);
    }
}
