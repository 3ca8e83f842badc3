//! Logins: what the password is sent in, and what it is never sent in.

use super::{Choices, assert_plain, message, read};
use loadstone_wire_postgres::{
    ChannelBinding, Login, LoginOptions, LoginProgress, ProtocolVersion, TlsWish, WireError,
};
use std::mem::discriminant;
use std::sync::Arc;

const PASSWORD: &str = "a password of more than twenty bytes";
const USER: &str = "somebody";
const CERTIFICATE: &[u8] = &[7; 32];
const SCRAM: &[u8] = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";

/// Everything that a server sends.
pub(super) fn login(data: &[u8]) {
    if let Some((choices, stream)) = read(data) {
        same_in_pieces(choices, &stream);
    }
}

/// What it sends after it has asked for SCRAM, within TLS or without.
pub(super) fn authentication(data: &[u8]) {
    if let Some((choices, stream)) = read(data) {
        let asks = message(b'R', SCRAM);
        let starts: &[u8] = if wants_tls(choices) { b"S" } else { b"" };
        same_in_pieces(choices, &[starts, &asks, &stream].concat());
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

fn same_in_pieces(choices: Choices, stream: &[u8]) {
    // What comes with the answer about TLS is refused, so that is a piece of its own.
    let (answer, rest) = stream.split_at(stream.len().min(usize::from(wants_tls(choices))));
    let whole = converse(choices, &[answer, rest]);
    let pieces: Vec<&[u8]> = std::iter::once(answer).chain(rest.chunks(choices.piece())).collect();
    let cut = converse(choices, &pieces);
    check(choices, &whole);
    check(choices, &cut);
    let kind = |course: &Course| course.error.as_ref().map(discriminant);
    assert_eq!((kind(&whole), whole.done), (kind(&cut), cut.done), "{whole:?} {cut:?}");
    // The client's nonce differs each time, but has the same length.
    assert_eq!(whole.sent.len(), cut.sent.len());
}

fn wants_tls(choices: Choices) -> bool {
    choices.flag(0)
}

fn converse(choices: Choices, pieces: &[&[u8]]) -> Course {
    let mut course =
        Course { sent: Vec::new(), in_clear: 0, encrypted: false, done: false, error: None };
    let (mut login, _) = Login::begin(Arc::new(options(choices)), &mut course.sent).expect("texts");
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match login.feed(rest, &mut course.sent) {
                Ok((consumed, progress)) => {
                    rest = &rest[consumed..];
                    if course.goes_on(&mut login, progress) {
                        assert!(rest.is_empty());
                    }
                }
                Err(error) => course.error = Some(error),
            }
            if course.done || course.error.is_some() {
                return course.ended();
            }
        }
    }
    course.ended()
}

impl Course {
    /// Whether all bytes must have been used.
    fn goes_on(&mut self, login: &mut Login, progress: LoginProgress) -> bool {
        match progress {
            LoginProgress::NeedBytes => return true,
            LoginProgress::StartTls => {
                (self.in_clear, self.encrypted) = (self.sent.len(), true);
                login.tls_established(Some(CERTIFICATE), &mut self.sent).expect("in turn");
            }
            LoginProgress::Done(session) => {
                assert_eq!(session.encrypted, self.encrypted);
                assert!(session.parameters.len() <= 64);
                for (name, value) in &session.parameters {
                    assert_plain(name, 256);
                    assert_plain(value, 256);
                }
                self.done = true;
            }
        }
        false
    }

    fn ended(mut self) -> Self {
        if !self.encrypted {
            self.in_clear = self.sent.len();
        }
        self
    }
}

fn options(choices: Choices) -> LoginOptions {
    let tls = match (wants_tls(choices), choices.flag(1)) {
        (false, _) => TlsWish::Never,
        (true, false) => TlsWish::IfOffered,
        (true, true) => TlsWish::Must,
    };
    let channel_binding = match (choices.flag(3), choices.flag(4)) {
        (true, _) => ChannelBinding::Require,
        (false, true) => ChannelBinding::Disable,
        (false, false) => ChannelBinding::Prefer,
    };
    LoginOptions {
        user: USER.to_owned(),
        password: PASSWORD.as_bytes().to_vec(),
        database: choices.flag(6).then(|| "shop".to_owned()),
        tls,
        version: if choices.flag(5) { ProtocolVersion::V3_2 } else { ProtocolVersion::V3_0 },
        transport_secure: choices.flag(2),
        channel_binding,
        ..LoginOptions::default()
    }
}

fn check(choices: Choices, course: &Course) {
    let open = &course.sent[..course.in_clear];
    let has =
        |part: &[u8], text: &str| part.windows(text.len()).any(|window| window == text.as_bytes());
    // No certificate is verified here, and nothing allows it by name.
    if !choices.flag(2) {
        assert!(!has(&course.sent, PASSWORD), "the password went to whoever asked");
    }
    if wants_tls(choices) && choices.flag(1) {
        assert!(!has(open, USER), "TLS is a must, and the login went without it");
        assert!(course.encrypted || !course.done);
    }
    // Nobody here can sign, so a bound login cannot come to an end.
    assert!(!(choices.flag(3) && course.done), "a login that must be bound was not");
    assert!(course.sent.len() < 16 * 1024, "{} bytes were sent", course.sent.len());
    if let Some(error) = &course.error {
        assert_plain(&error.to_string(), 4200);
    }
}
