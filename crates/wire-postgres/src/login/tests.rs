//! Whole logins, with a server that a test plays.

use std::sync::Arc;

use aws_lc_rs::{hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::{ChannelBinding, error_code};

const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
/// postgres 15.18, shortened.
const SETTLED: &[u8] = b"S\0\0\0\x17in_hot_standby\0off\0S\0\0\0\x19server_version\x0015.18\0\
    K\0\0\0\x0c\0\0\x04\xd2\xde\xad\xbe\xefZ\0\0\0\x05I";
const BOTH: &[u8] = b"R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
const PLAIN: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
const CLEAR_TEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const CERTIFICATE: &[u8] = &[7; 32];

fn options(tls: TlsWish) -> LoginOptions {
    LoginOptions {
        user: "bench".to_owned(),
        password: b"secret".to_vec(),
        tls,
        ..LoginOptions::default()
    }
}

/// A server that a test plays.
struct Talk {
    login: Login,
    out: Vec<u8>,
}

impl Talk {
    fn begin(options: LoginOptions) -> Self {
        let mut out = Vec::new();
        let (login, progress) = Login::begin(Arc::new(options), &mut out).unwrap();
        assert_eq!(progress, LoginProgress::NeedBytes);
        Self { login, out }
    }

    /// Within TLS that was asked for.
    fn encrypted(options: LoginOptions) -> Self {
        let mut talk = Self::begin(LoginOptions { tls: TlsWish::Must, ..options });
        assert_eq!(talk.says(b"S"), Ok(LoginProgress::StartTls));
        talk.out.clear();
        talk.login.tls_established(Some(CERTIFICATE), &mut talk.out).unwrap();
        talk
    }

    fn says(&mut self, bytes: &[u8]) -> Result<LoginProgress, WireError> {
        self.out.clear();
        let (used, progress) = self.login.feed(bytes, &mut self.out)?;
        assert_eq!(used, bytes.len());
        Ok(progress)
    }

    /// The session after these messages.
    fn session(&mut self, said: &[&[u8]]) -> Result<Session, WireError> {
        match self.says(&said.concat())? {
            LoginProgress::Done(session) => Ok(*session),
            other => panic!("{other:?}"),
        }
    }

    /// Takes part in SCRAM as a server that knows the password. Returns its last message.
    fn scram(&mut self, offer: &[u8]) -> Result<Vec<u8>, WireError> {
        self.says(offer)?;
        let name = &self.out[5..5 + self.out[5..].iter().position(|&byte| byte == 0).unwrap()];
        let first = self.out[5 + name.len() + 1 + 4..].to_vec();
        let bare = &first[first.windows(4).position(|part| part == b"n=,r").unwrap()..];
        let nonce = format!("{}server", str::from_utf8(&bare[5..]).unwrap());
        let server_first = format!("r={nonce},s=c2FsdHNhbHQ=,i=4096");
        self.says(&message(11, server_first.as_bytes()))?;
        let last = self.out[5..].to_vec();
        let end = last.windows(3).position(|part| part == b",p=").unwrap();
        let said = [bare, server_first.as_bytes(), &last[..end]].join(&b',');
        Ok(message(12, format!("v={}", STANDARD.encode(signature(&said))).as_bytes()))
    }
}

fn message(number: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    crate::frame::write_message(&mut out, b'R', |out| {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(data);
    });
    out
}

fn signature(said: &[u8]) -> Vec<u8> {
    let mut salted = [0; 32];
    let rounds = 4096.try_into().unwrap();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, b"saltsalt", b"secret", &mut salted);
    let sign = |key: &[u8], text: &[u8]| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
    };
    sign(&sign(&salted, b"Server Key"), said)
}

#[test]
fn a_server_that_asks_for_nothing_is_logged_in_to() {
    let mut talk = Talk::begin(options(TlsWish::Never));
    assert_eq!(talk.out, b"\0\0\0\x14\0\x03\0\0user\0bench\0\0");
    let session = talk.session(&[OK, SETTLED]).unwrap();
    assert_eq!((session.server_version(), session.process_id()), ("15.18", 1234));
    assert_eq!(session.parameter("in_hot_standby"), Some("off"));
    assert_eq!((session.auth_method, session.encrypted), ("trust", false));
    let mut out = Vec::new();
    crate::write_cancel(&mut out, &session.cancel_key.unwrap());
    assert_eq!(out[8..], *b"\0\0\x04\xd2\xde\xad\xbe\xef");
}

#[test]
fn scram_ends_with_a_server_that_has_proved_itself() {
    let mut talk = Talk::begin(options(TlsWish::Never));
    let last = talk.scram(PLAIN).unwrap();
    let session = talk.session(&[&last, OK, SETTLED]).unwrap();
    assert_eq!(session.auth_method, "scram-sha-256");
}

#[test]
fn scram_is_bound_to_the_tls_session_where_the_server_offers_that() {
    let mut talk = Talk::encrypted(options(TlsWish::Must));
    let last = talk.scram(BOTH).unwrap();
    let final_message = String::from_utf8(talk.out[5..].to_vec()).unwrap();
    let binding = [b"p=tls-server-end-point,,".as_slice(), CERTIFICATE].concat();
    assert!(final_message.starts_with(&format!("c={},r=", STANDARD.encode(binding))));
    let session = talk.session(&[&last, OK, SETTLED]).unwrap();
    assert_eq!((session.auth_method, session.encrypted), ("scram-sha-256-plus", true));
}

#[test]
fn a_server_without_a_proof_is_not_believed() {
    let not_proven = |result: Result<_, WireError>| {
        assert!(matches!(result, Err(WireError::ServerNotProven { .. })), "{result:?}");
    };
    let mut at_once = Talk::begin(options(TlsWish::Never));
    at_once.says(PLAIN).unwrap();
    not_proven(at_once.says(OK));
    let mut after_ours = Talk::begin(options(TlsWish::Never));
    after_ours.scram(PLAIN).unwrap();
    not_proven(after_ours.says(OK));
    let mut wrong = Talk::begin(options(TlsWish::Never));
    wrong.scram(PLAIN).unwrap();
    not_proven(wrong.says(&message(12, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")));
}

#[test]
fn a_required_binding_refuses_every_other_way() {
    let required = |tls| LoginOptions { channel_binding: ChannelBinding::Require, ..options(tls) };
    for said in [OK, CLEAR_TEXT, MD5, PLAIN] {
        let refused = Talk::encrypted(required(TlsWish::Must)).says(said);
        assert!(matches!(refused, Err(WireError::NotBound { .. })), "{refused:?}");
    }
    let in_clear = Talk::begin(required(TlsWish::Never)).says(BOTH);
    assert!(matches!(in_clear, Err(WireError::NotBound { .. })));
}

#[test]
fn md5_is_a_hash_of_password_user_and_salt() {
    let mut talk = Talk::begin(options(TlsWish::Never));
    talk.says(MD5).unwrap();
    let hash = postgres_protocol::authentication::md5_hash(b"bench", b"secret", *b"salt");
    assert_eq!(talk.out, [b"p\0\0\0\x28", hash.as_bytes(), b"\0"].concat());
    assert_eq!(talk.session(&[OK, SETTLED]).unwrap().auth_method, "md5");
}

#[test]
fn the_password_itself_goes_only_where_nobody_else_gets_it() {
    let withheld = Talk::begin(options(TlsWish::Never)).says(CLEAR_TEXT);
    assert!(matches!(withheld, Err(WireError::PasswordWithheld { .. })));
    let withheld = Talk::encrypted(options(TlsWish::Must)).says(CLEAR_TEXT);
    assert!(matches!(withheld, Err(WireError::PasswordWithheld { .. })));
    let proven = LoginOptions { server_proven: true, ..options(TlsWish::Must) };
    let allowed = LoginOptions { allow_clear_password: true, ..options(TlsWish::Must) };
    for options in [proven, allowed] {
        let mut talk = Talk::encrypted(options);
        talk.says(CLEAR_TEXT).unwrap();
        assert_eq!(talk.out, b"p\0\0\0\x0bsecret\0");
        assert_eq!(talk.session(&[OK, SETTLED]).unwrap().auth_method, "password");
    }
    let mut socket =
        Talk::begin(LoginOptions { transport_secure: true, ..options(TlsWish::Never) });
    socket.says(CLEAR_TEXT).unwrap();
    assert_eq!(socket.out, b"p\0\0\0\x0bsecret\0");
}

#[test]
fn a_second_request_for_a_password_is_refused() {
    for (first, second) in [(MD5, MD5), (MD5, PLAIN), (PLAIN, MD5), (PLAIN, PLAIN)] {
        let mut talk = Talk::begin(options(TlsWish::Never));
        talk.says(first).unwrap();
        assert!(matches!(talk.says(second), Err(WireError::BadField { .. })));
    }
}

#[test]
fn no_password_is_not_an_empty_one() {
    for said in [MD5, PLAIN] {
        let without = LoginOptions { password: Vec::new(), ..options(TlsWish::Never) };
        assert_eq!(Talk::begin(without).says(said), Err(WireError::NoPassword));
    }
}

#[test]
fn tls_is_asked_for_and_the_login_waits_for_it() {
    let mut talk = Talk::begin(options(TlsWish::IfOffered));
    assert_eq!(talk.out, [0, 0, 0, 8, 4, 210, 22, 47]);
    assert_eq!(talk.says(b"S"), Ok(LoginProgress::StartTls));
    assert!(talk.out.is_empty());
    assert_eq!(talk.says(b"R"), Err(WireError::EarlyBytes));
}

#[test]
fn a_server_without_tls_is_taken_or_refused() {
    let mut talk = Talk::begin(options(TlsWish::IfOffered));
    assert_eq!(talk.says(b"N"), Ok(LoginProgress::NeedBytes));
    assert_eq!(talk.out, b"\0\0\0\x14\0\x03\0\0user\0bench\0\0");
    assert!(!talk.session(&[OK, SETTLED]).unwrap().encrypted);
    assert_eq!(Talk::begin(options(TlsWish::Must)).says(b"N"), Err(WireError::TlsNotOffered));
}

#[test]
fn nothing_that_is_said_in_clear_passes_for_something_said_within_tls() {
    let injected = [b"S".as_slice(), OK].concat();
    for tls in [TlsWish::IfOffered, TlsWish::Must] {
        let mut talk = Talk::begin(options(tls));
        assert_eq!(talk.login.feed(&injected, &mut talk.out), Err(WireError::EarlyBytes));
    }
    let error = b"E\0\0\0\x12SFATAL\0Mfoul\0\0";
    let mut talk = Talk::begin(options(TlsWish::Must));
    assert_eq!(talk.login.feed(error, &mut talk.out), Err(WireError::TlsRequestRefused));
}

#[test]
fn a_direct_handshake_comes_before_any_word() {
    let mut out = Vec::new();
    let begun = Login::begin(Arc::new(options(TlsWish::Direct)), &mut out);
    let (mut login, progress) = begun.unwrap();
    assert_eq!((progress, out.len()), (LoginProgress::StartTls, 0));
    login.tls_established(None, &mut out).unwrap();
    assert_eq!(out, b"\0\0\0\x14\0\x03\0\0user\0bench\0\0");
    let again = login.tls_established(None, &mut out);
    assert_eq!(again, Err(WireError::OutOfTurn { call: "tls_established" }));
}

#[test]
fn refusals_are_those_of_the_server() {
    let refused = b"E\0\0\0\x3aSFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0";
    let mut talk = Talk::begin(options(TlsWish::Never));
    let Err(WireError::Server(error)) = talk.says(refused) else { panic!() };
    assert_eq!(error.code, error_code(b"28P01"));
    assert_eq!(talk.says(b"Z"), Err(WireError::OutOfTurn { call: "feed" }));
    let old = b"Ecould not fork new process for connection: out of memory\n\0";
    let Err(WireError::Server(error)) = Talk::begin(options(TlsWish::Never)).says(old) else {
        panic!()
    };
    assert_eq!(error.message, "could not fork new process for connection: out of memory");
}

#[test]
fn an_older_version_of_the_protocol_is_agreed_on() {
    let wanted = LoginOptions { version: ProtocolVersion::V3_2, ..options(TlsWish::Never) };
    let mut talk = Talk::begin(wanted);
    assert_eq!(talk.out[4..8], [0, 3, 0, 2]);
    let older = b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0";
    assert_eq!(talk.session(&[older, OK, SETTLED]).unwrap().minor_version, 0);
    let newer = b"v\0\0\0\x0c\0\x03\0\x02\0\0\0\0";
    let refused = Talk::begin(options(TlsWish::Never)).says(newer);
    assert_eq!(refused, Err(WireError::OtherVersion { major: 3, minor: 2 }));
}

#[test]
fn a_server_that_goes_on_and_on_is_left() {
    let mut talk = Talk::begin(options(TlsWish::Never));
    talk.says(OK).unwrap();
    let notice = b"N\0\0\0\x0bSNOTE\0\0".repeat(600);
    assert_eq!(talk.says(&notice), Err(WireError::EndlessLogin { messages: 500 }));
    let huge = b"S\x7f\xff\xff\xff";
    let mut talk = Talk::begin(options(TlsWish::Never));
    talk.says(OK).unwrap();
    assert!(matches!(talk.says(huge), Err(WireError::TooLarge { .. })));
}

#[test]
fn a_login_goes_the_same_way_in_any_pieces() {
    let mut whole = Talk::begin(options(TlsWish::Never));
    let last = whole.scram(PLAIN).unwrap();
    let expected = whole.session(&[&last, OK, SETTLED]).unwrap();
    for piece in 1..40 {
        let mut talk = Talk::begin(options(TlsWish::Never));
        let said = [talk.scram(PLAIN).unwrap().as_slice(), OK, SETTLED].concat();
        let mut session = None;
        for part in said.chunks(piece) {
            if let LoginProgress::Done(done) = talk.says(part).unwrap() {
                session = Some(*done);
            }
        }
        assert_eq!(session.as_ref(), Some(&expected), "in pieces of {piece}");
    }
}

#[test]
fn messages_of_a_session_come_after_the_login() {
    for said in [SETTLED, b"D\0\0\0\x06\0\0", b"v\0\0\0\x04"] {
        assert!(Talk::begin(options(TlsWish::Never)).says(said).is_err());
    }
    let mut talk = Talk::begin(options(TlsWish::Never));
    talk.says(OK).unwrap();
    assert!(matches!(talk.says(OK), Err(WireError::BadField { .. })));
    let mut talk = Talk::begin(options(TlsWish::Never));
    talk.says(OK).unwrap();
    assert!(matches!(
        talk.says(b"D\0\0\0\x06\0\0"),
        Err(WireError::UnexpectedMessage { kind: b'D', .. })
    ));
}
