//! The library's interface: a server in a thread, queried and stopped by its owner.

use loadstone_null_server::{Kind, NullServer, NullServerError, Script, Settings};
use loadstone_wire::{
    Expect, Login, LoginOptions, LoginProgress, Param, Reply, ReplyReader, Session, TlsWish,
    write_execute, write_prepare, write_query,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A missing answer is a failure with a message after this time, never a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

struct Client {
    socket: TcpStream,
    reader: ReplyReader,
    /// The rest of an earlier read: two answers may arrive in one.
    received: Vec<u8>,
}

impl Client {
    fn connect(server: &NullServer) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port())).expect("connect");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let session = log_in(&mut socket);
        Self { socket, reader: ReplyReader::new(session.capabilities), received: Vec::new() }
    }

    fn ask(&mut self, command: &[u8], expect: Expect) -> Reply {
        self.socket.write_all(command).expect("send");
        self.reader.expect(expect);
        let mut buffer = [0; 16384];
        loop {
            let (used, reply) = self.reader.feed(&self.received).expect("protocol");
            self.received.drain(..used);
            if let Some(reply) = reply {
                return reply;
            }
            let count = self.socket.read(&mut buffer).expect("receive");
            assert!(count > 0, "the server closed the connection");
            self.received.extend_from_slice(&buffer[..count]);
        }
    }

    fn query(&mut self, sql: &str) -> Reply {
        let mut command = Vec::new();
        write_query(&mut command, sql.as_bytes());
        self.ask(&command, Expect::Query)
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        let mut command = Vec::new();
        write_prepare(&mut command, sql.as_bytes());
        match self.ask(&command, Expect::Prepare) {
            Reply::Prepared(prepared) => prepared.statement_id,
            other => panic!("{other:?}"),
        }
    }

    fn execute(&mut self, id: u32) -> Reply {
        let mut command = Vec::new();
        write_execute(&mut command, id, [Param::Int(5)].into_iter(), true);
        self.ask(&command, Expect::Execute)
    }
}

fn log_in(socket: &mut TcpStream) -> Session {
    let options = LoginOptions {
        password: b"any".to_vec(),
        database: Some("sbtest".to_owned()),
        tls: TlsWish::Never,
        ..LoginOptions::default()
    };
    let mut login = Login::new(Arc::new(options));
    let (mut buffer, mut out) = ([0; 4096], Vec::new());
    loop {
        let count = socket.read(&mut buffer).expect("receive");
        let (_, progress) = login.feed(&buffer[..count], &mut out).expect("login");
        socket.write_all(&out).expect("send");
        out.clear();
        if let LoginProgress::Done(session) = progress {
            return session;
        }
    }
}

fn start(settings: &str) -> NullServer {
    NullServer::start(Settings::from_json(settings).expect("settings")).expect("a server")
}

#[test]
fn what_was_done_is_counted_and_stamped() {
    let server = start(r#"{"log_records_max": 100}"#);
    let mut client = Client::connect(&server);
    let id = client.prepare("SELECT c FROM sbtest1 WHERE id=?");
    for _ in 0..5 {
        assert!(matches!(client.execute(id), Reply::Done(done) if done.rows == 1));
    }
    assert!(
        matches!(client.query("UPDATE t SET a=1"), Reply::Done(done) if done.affected_rows == 1)
    );
    let stats = server.stats().expect("stats");
    assert_eq!((stats.executes, stats.queries, stats.prepares, stats.open), (5, 1, 1, 1));
    assert!(stats.balances());
    let served = server.stop().expect("the end");
    let executes: Vec<_> =
        served.log.records().filter(|record| record.kind == Kind::Execute).collect();
    assert_eq!(executes.len(), 5);
    assert!(executes.iter().all(|one| one.received_ns <= one.sent_ns && one.connection == 1));
}

#[test]
fn an_unknown_statement_is_an_error_and_a_closed_place_is_given_again() {
    let server = start("{}");
    let mut client = Client::connect(&server);
    assert!(
        matches!(client.execute(9), Reply::Failed(error) if error.code == loadstone_wire::error_code(1243))
    );
    let first = client.prepare("SELECT c FROM sbtest1 WHERE id=?");
    let mut close = Vec::new();
    loadstone_wire::write_close_statement(&mut close, first);
    client.socket.write_all(&close).expect("send");
    assert_eq!(client.prepare("DELETE FROM sbtest1 WHERE id=?"), first);
    assert!(matches!(client.execute(first), Reply::Done(done) if done.affected_rows == 1));
}

#[test]
fn commands_that_come_together_are_answered_in_order() {
    let server = start(r#"{"script": {"service": {"kind": "constant", "us": 2000}}}"#);
    let mut client = Client::connect(&server);
    let mut command = Vec::new();
    write_query(&mut command, b"SELECT c FROM sbtest1 WHERE id=1");
    write_query(&mut command, b"COMMIT");
    let begun = Instant::now();
    let first = client.ask(&command, Expect::Query);
    let second = client.ask(&[], Expect::Query);
    assert!(begun.elapsed() >= Duration::from_millis(4), "one after the other");
    assert!(matches!(first, Reply::Done(done) if done.has_result_set));
    assert!(matches!(second, Reply::Done(done) if !done.has_result_set));
}

#[test]
fn a_script_is_changed_while_it_runs() {
    let server = start("{}");
    let mut client = Client::connect(&server);
    let script = r#"{"errors": [{"errno": 1205, "message": "waited", "every": 1}]}"#;
    server.set_script(Script::from_json(script).expect("script")).expect("taken");
    // The script and the statement reach the server by different ways.
    server.stats().expect("stats");
    assert!(
        matches!(client.query("COMMIT"), Reply::Failed(error) if error.code == loadstone_wire::error_code(1205))
    );
    server.flush().expect("flushed");
    assert_eq!(server.stats().expect("stats").queries, 0);
}

#[test]
fn wrong_settings_and_taken_ports_are_named() {
    let unknown = Settings::from_json(r#"{"prt": 1}"#);
    assert!(matches!(unknown, Err(NullServerError::Plan(line)) if line.contains("`prt`")));
    let server = start("{}");
    let taken = Settings { port: server.port(), ..Settings::default() };
    let error = NullServer::start(taken).expect_err("taken").to_string();
    assert!(error.starts_with("cannot listen on 127.0.0.1:"), "{error}");
}
