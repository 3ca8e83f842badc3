//! Clients that ask for TLS and clients that do not, by the bytes that they send.

use loadstone_null_server::{Kind, NullServer, Settings, TlsFiles};
use loadstone_wire::{
    Expect, Login, LoginOptions, LoginProgress, Reply, ReplyReader, TlsWish, write_query,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A missing answer is a failure with a message after this time, never a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificate").join(name)
}

fn start(script: &str) -> NullServer {
    let text = format!(r#"{{"log_records_max": 1000, "script": {script}}}"#);
    let mut settings = Settings::from_json(&text).expect("settings");
    settings.tls = Some(TlsFiles { cert: file("cert.pem"), key: file("key.pem") });
    NullServer::start(settings).expect("a server")
}

fn tls(version: &'static SupportedProtocolVersion) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("cert.pem")).expect("PEM")).expect("a root");
    let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a client")
}

/// A connection whose TLS request is in `out`, not sent yet.
fn knock(server: &NullServer, wish: TlsWish, out: &mut Vec<u8>) -> (TcpStream, Login) {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port())).expect("connect");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let options = LoginOptions { tls: wish, ..LoginOptions::default() };
    let mut login = Login::new(Arc::new(options));
    let mut buffer = [0; 4096];
    loop {
        let count = socket.read(&mut buffer).expect("receive");
        assert!(count > 0, "the server closed the connection");
        let (_, progress) = login.feed(&buffer[..count], out).expect("login");
        if progress == LoginProgress::StartTls || !out.is_empty() {
            return (socket, login);
        }
    }
}

/// Logs in over an open stream, and asks one question.
fn log_in_and_ask(way: &mut (impl Read + Write), mut login: Login, mut out: Vec<u8>) -> Reply {
    let mut buffer = [0; 4096];
    let session = loop {
        way.write_all(&out).expect("send");
        out.clear();
        let count = way.read(&mut buffer).expect("receive");
        if let (_, LoginProgress::Done(session)) =
            login.feed(&buffer[..count], &mut out).expect("login")
        {
            break session;
        }
    };
    let mut reader = ReplyReader::new(session.capabilities);
    write_query(&mut out, b"SELECT c FROM sbtest1 WHERE id=1");
    way.write_all(&out).expect("send");
    reader.expect(Expect::Query);
    let mut received = Vec::new();
    loop {
        let (used, reply) = reader.feed(&received).expect("protocol");
        received.drain(..used);
        if let Some(reply) = reply {
            return reply;
        }
        let count = way.read(&mut buffer).expect("receive");
        assert!(count > 0, "the server closed the connection");
        received.extend_from_slice(&buffer[..count]);
    }
}

fn ask_encrypted(server: &NullServer, version: &'static SupportedProtocolVersion) {
    let mut out = Vec::new();
    let (mut socket, mut login) = knock(server, TlsWish::Must, &mut out);
    socket.write_all(&out).expect("send");
    out.clear();
    login.tls_established(&mut out).expect("in turn");
    let mut way = StreamOwned::new(tls(version), socket);
    let reply = log_in_and_ask(&mut way, login, out);
    assert!(matches!(reply, Reply::Done(done) if done.rows == 1));
    assert_eq!(way.conn.protocol_version(), Some(version.version));
}

#[test]
fn both_versions_are_spoken_and_a_client_without_tls_gets_in() {
    let server = start("{}");
    ask_encrypted(&server, &TLS12);
    ask_encrypted(&server, &TLS13);
    let mut out = Vec::new();
    let (mut socket, login) = knock(&server, TlsWish::Never, &mut out);
    let reply = log_in_and_ask(&mut socket, login, out);
    assert!(matches!(reply, Reply::Done(done) if done.rows == 1));
    let served = server.stop().expect("the end");
    let stats = served.stats;
    assert_eq!((stats.encrypted, stats.logins, stats.queries, stats.answered), (2, 3, 3, 3));
    assert_eq!((stats.tls_failed, stats.garbled), (0, 0));
    let handshakes = served.log.records().filter(|one| one.kind == Kind::Handshake);
    assert_eq!(handshakes.map(|one| one.connection).collect::<Vec<_>>(), [1, 1, 2]);
}

#[test]
fn records_may_be_cut_anywhere() {
    for script in [r#"{"pieces": {"bytes": 1, "login": true}}"#, r#"{"pieces": {"bytes": 7}}"#] {
        let server = start(script);
        ask_encrypted(&server, &TLS12);
        ask_encrypted(&server, &TLS13);
        assert_eq!(server.stats().expect("stats").answered, 2);
    }
}

#[test]
fn a_stall_holds_the_handshake_back() {
    let server = start(r#"{"origin": "start", "stalls": [{"at_s": 0, "for_s": 0.5}]}"#);
    ask_encrypted(&server, &TLS13);
    let served = server.stop().expect("the end");
    assert!(served.log.records().all(|one| one.sent_ns >= one.due_ns));
    assert!(served.stats.timed >= 1 && served.stats.wall_us >= 500_000);
}

#[test]
fn a_hello_in_the_same_segment_is_taken_and_nothing_follows_the_handshake() {
    let server = start("{}");
    let mut out = Vec::new();
    let (mut socket, _) = knock(&server, TlsWish::Must, &mut out);
    let mut tls = tls(&TLS13);
    tls.write_tls(&mut out).expect("a hello");
    socket.write_all(&out).expect("send");
    while tls.is_handshaking() {
        tls.complete_io(&mut socket).expect("a handshake");
    }
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let nothing = socket.read(&mut [0; 16]).expect_err("no ticket comes");
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    assert_eq!(server.stats().expect("stats").encrypted, 1);
}

#[test]
fn commands_in_clear_behind_a_wish_for_tls_are_no_commands() {
    let server = start("{}");
    let mut out = Vec::new();
    let (mut socket, _) = knock(&server, TlsWish::Must, &mut out);
    write_query(&mut out, b"COMMIT");
    socket.write_all(&out).expect("send");
    let mut said = Vec::new();
    socket.read_to_end(&mut said).expect("the end");
    assert!(said.first().is_none_or(|&first| first == 21), "an alert at most: {said:?}");
    let stats = server.stats().expect("stats");
    assert_eq!((stats.tls_failed, stats.queries, stats.open), (1, 0, 0));
}
