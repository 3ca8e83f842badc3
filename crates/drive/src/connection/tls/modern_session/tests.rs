//! Sessions against rustls' own server, over a pair of sockets.

use super::*;
use crate::connection::tls::TlsMaker;
use crate::connection::tls::TlsSession;
use crate::plan::TargetPlan;
use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::{X509Builder, X509NameBuilder};
use rustix::fd::AsFd;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// As long as an event loop's.
const BUFFER: usize = 256 * 1024;

const VERSIONS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];

fn certificate() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a curve");
    let key = PKey::from_ec_key(EcKey::generate(&group).expect("a key")).expect("a key");
    let mut name = X509NameBuilder::new().expect("a name");
    name.append_entry_by_text("CN", "localhost").expect("a name");
    let name = name.build();
    let mut certificate = X509Builder::new().expect("a certificate");
    certificate.set_version(2).expect("version 3");
    certificate.set_subject_name(&name).expect("a subject");
    certificate.set_issuer_name(&name).expect("an issuer");
    certificate.set_pubkey(&key).expect("its key");
    let (from, to) = (Asn1Time::from_unix(0), Asn1Time::days_from_now(9));
    certificate.set_not_before(&from.expect("a time")).expect("a beginning");
    certificate.set_not_after(&to.expect("a time")).expect("an end");
    certificate.sign(&key, MessageDigest::sha256()).expect("a signature");
    let key = PrivatePkcs8KeyDer::from(key.private_key_to_pkcs8().expect("a key"));
    (certificate.build().to_der().expect("a certificate").into(), key.into())
}

fn server_config() -> ServerConfig {
    let (certificate, key) = certificate();
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("its own certificate");
    // What is written before the handshake's end goes with it.
    config.send_half_rtt_data = true;
    config
}

/// A client's session and the server that it talks to.
struct Talk {
    session: Box<ModernSession>,
    socket: UnixStream,
    server: ServerConnection,
    far: UnixStream,
    buffer: Vec<u8>,
}

impl Talk {
    fn begin(version: &str) -> Self {
        let target = format!(
            r#"{{"host": "localhost", "port": 1, "user": "u", "password": "p", "database": null,
                 "tls": {{"mode": "required", "versions": ["{version}"]}}}}"#
        );
        let target: TargetPlan = serde_json::from_str(&target).expect("a target");
        let maker = TlsMaker::for_target(&target, None).expect("a plan").expect("TLS");
        let Ok(TlsSession::Modern(session)) = maker.session(maker.way()) else {
            panic!("rustls has {version}");
        };
        let mut server = ServerConnection::new(Arc::new(server_config())).expect("a server");
        server.set_buffer_limit(None);
        let (socket, far) = UnixStream::pair().expect("a pair");
        for end in [&socket, &far] {
            end.set_nonblocking(true).expect("it is a socket");
        }
        Self { session, socket, server, far, buffer: vec![0; BUFFER] }
    }

    /// With the handshake finished.
    fn new(version: &str) -> Self {
        let mut talk = Self::begin(version);
        while !talk.session.handshake(talk.socket.as_fd()).expect("a handshake") {
            talk.serve();
        }
        talk.serve();
        assert!(!talk.server.is_handshaking());
        talk
    }

    /// The server reads what there is, and sends what it has.
    fn serve(&mut self) -> Vec<u8> {
        let mut clear = Vec::new();
        while self.server.read_tls(&mut self.far).is_ok_and(|count| count > 0) {
            self.server.process_new_packets().expect("records");
            // It ends with an error, as nothing more has arrived.
            drop(self.server.reader().read_to_end(&mut clear));
        }
        self.server_sends();
        clear
    }

    fn server_sends(&mut self) {
        while self.server.wants_write() {
            self.server.write_tls(&mut self.far).expect("room");
        }
    }

    /// The records of what the server says, not sent yet.
    fn records(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.server.writer().write_all(bytes).expect("no limit");
        let mut records = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut records).expect("a vector");
        }
        records
    }

    fn receive(&mut self) -> io::Result<Received> {
        self.session.receive(self.socket.as_fd(), &mut self.buffer)
    }

    /// What one call receives, and whether there may be more.
    fn received(&mut self) -> (Vec<u8>, bool) {
        match self.receive().expect("records") {
            Received::Bytes { count, more, .. } => (self.buffer[..count].to_vec(), more),
            other => panic!("{other:?}"),
        }
    }
}

/// Bytes that differ from those next to them.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

#[test]
fn one_call_receives_all_records_that_have_arrived() {
    for version in VERSIONS {
        let mut talk = Talk::new(version);
        let said = bytes(6 * RECORD + 100);
        let records = talk.records(&said);
        // The session tickets of TLS 1.3, which are no data.
        assert_eq!(talk.receive().expect("records"), Received::Nothing);
        talk.far.write_all(&records).expect("room");
        // A call reads the socket once, unless that brought no whole record.
        assert_eq!(talk.received(), (said, false), "{version}");
        assert_eq!(talk.receive().expect("records"), Received::Nothing);
    }
}

#[test]
fn a_record_in_pieces_waits_for_its_rest_and_leaves_no_buffer_behind() {
    for version in VERSIONS {
        let mut talk = Talk::new(version);
        let said = bytes(RECORD + 5_000);
        let records = talk.records(&said);
        talk.receive().expect("session tickets");
        let mut heard: Vec<u8> = Vec::new();
        for piece in records.chunks(3_000) {
            talk.far.write_all(piece).expect("room");
            match talk.receive().expect("records") {
                Received::Bytes { count, .. } => heard.extend(&talk.buffer[..count]),
                other => assert_eq!(other, Received::Nothing),
            }
        }
        assert_eq!(heard, said, "{version}");
        assert_eq!(talk.session.partial.capacity(), 0);
    }
}

#[test]
fn data_that_comes_with_the_end_of_the_handshake_is_read_next() {
    let mut talk = Talk::begin("TLSv1.3");
    assert!(!talk.session.handshake(talk.socket.as_fd()).expect("a handshake"));
    talk.server.read_tls(&mut talk.far).expect("a hello");
    talk.server.process_new_packets().expect("a hello");
    let records = talk.records(b"early");
    talk.far.write_all(&records).expect("room");
    assert!(talk.session.handshake(talk.socket.as_fd()).expect("a handshake"));
    assert_eq!(talk.received(), (b"early".to_vec(), true));
    talk.serve();
    let records = talk.records(b"late");
    talk.far.write_all(&records).expect("room");
    assert_eq!(talk.received().0, b"late");
}

#[test]
fn the_end_is_seen_after_the_last_data() {
    for version in VERSIONS {
        let mut talk = Talk::new(version);
        talk.server.writer().write_all(b"bye").expect("no limit");
        talk.server.send_close_notify();
        talk.server_sends();
        assert_eq!(talk.received(), (b"bye".to_vec(), true), "{version}");
        assert_eq!(talk.receive().expect("an end"), Received::End);
    }
}

#[test]
fn a_connection_that_ends_within_a_record_has_ended() {
    let mut talk = Talk::new("TLSv1.3");
    let records = talk.records(&bytes(9_000));
    talk.far.write_all(&records[..4_000]).expect("room");
    drop(std::mem::replace(&mut talk.far, UnixStream::pair().expect("a pair").0));
    assert_eq!(talk.receive().expect("an end"), Received::End);
}

#[test]
fn new_keys_of_the_server_are_answered_and_used() {
    let mut talk = Talk::new("TLSv1.3");
    talk.server.refresh_traffic_keys().expect("TLS 1.3");
    talk.server.writer().write_all(b"new").expect("no limit");
    talk.server_sends();
    assert_eq!(talk.received().0, b"new");
    let said = bytes(3 * RECORD + 1);
    assert_eq!(talk.session.send(talk.socket.as_fd(), &said).expect("room"), said.len());
    assert_eq!(talk.serve(), said);
}

#[test]
fn what_the_socket_does_not_take_is_kept_up_to_one_record_and_sent_later() {
    for version in VERSIONS {
        let mut talk = Talk::new(version);
        let said = bytes(4 << 20);
        let mut sent = talk.session.send(talk.socket.as_fd(), &said).expect("room for some");
        assert!(sent < said.len() && talk.session.wants_write());
        assert!(talk.session.unsent.rest().len() < RECORD + 100);
        let mut heard = talk.serve();
        while heard.len() < said.len() {
            sent += talk.session.send(talk.socket.as_fd(), &said[sent..]).expect("some room");
            talk.session.flush(talk.socket.as_fd()).expect("some room");
            heard.extend(talk.serve());
        }
        assert!(heard == said && !talk.session.wants_write(), "{version}");
    }
}

#[test]
fn a_record_that_was_changed_on_its_way_is_an_error_that_the_server_is_told() {
    for version in VERSIONS {
        let mut talk = Talk::new(version);
        talk.receive().expect("session tickets");
        let mut records = talk.records(b"genuine");
        *records.last_mut().expect("a record") ^= 1;
        talk.far.write_all(&records).expect("room");
        let error = talk.receive().expect_err("another record");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{version}: {error}");
        talk.server.read_tls(&mut talk.far).expect("an alert");
        let told = talk.server.process_new_packets().expect_err("an alert");
        assert_eq!(told, Error::AlertReceived(rustls::AlertDescription::BadRecordMac));
    }
}
