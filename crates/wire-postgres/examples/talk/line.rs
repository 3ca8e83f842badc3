//! A connection that waits for each answer.

use crate::target::Target;
use aws_lc_rs::digest;
use loadstone_wire_postgres::{
    ALPN, Completion, Conversation, Expect, Login, LoginProgress, Param, Reply, Session,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A missing answer is a failure with a message after this time.
const PATIENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 64 * 1024;

enum Socket {
    Clear(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Socket {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        let read = match self {
            Self::Clear(socket) => socket.read(buffer),
            Self::Encrypted(socket) => socket.read(buffer),
        };
        read.map_err(|error| format!("cannot receive: {error}"))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = match self {
            Self::Clear(socket) => socket.write_all(bytes),
            Self::Encrypted(socket) => socket.write_all(bytes).and_then(|()| socket.flush()),
        };
        sent.map_err(|error| format!("cannot send: {error}"))
    }
}

pub(crate) struct Line {
    socket: Socket,
    pub(crate) session: Session,
    pub(crate) conversation: Conversation,
    buffer: Vec<u8>,
    /// Received and not yet fed: from the first to the second place of the buffer.
    unread: (usize, usize),
}

/// A socket without anything said on it.
pub(crate) fn connect(target: &Target) -> Result<TcpStream, String> {
    let socket = TcpStream::connect((target.host.as_str(), target.port))
        .and_then(|socket| socket.set_nodelay(true).map(|()| socket))
        .and_then(|socket| socket.set_read_timeout(Some(PATIENCE)).map(|()| socket));
    socket.map_err(|error| format!("cannot connect: {error}"))
}

impl Line {
    pub(crate) fn open(target: &Target) -> Result<Self, String> {
        let mut socket = Socket::Clear(connect(target)?);
        let (mut out, mut buffer) = (Vec::new(), vec![0; BUFFER]);
        let begun = Login::begin(Arc::new(target.options.clone()), &mut out);
        let (mut login, mut progress) = begun.map_err(|error| error.to_string())?;
        loop {
            socket.send(&out)?;
            out.clear();
            match progress {
                LoginProgress::NeedBytes => {}
                LoginProgress::StartTls => {
                    let (encrypted, certificate) = encrypt(socket, target)?;
                    socket = encrypted;
                    let established = login.tls_established(Some(&certificate), &mut out);
                    established.map_err(|error| error.to_string())?;
                    progress = LoginProgress::NeedBytes;
                    continue;
                }
                LoginProgress::Done(session) => {
                    let conversation = Conversation::new(&session);
                    let session = *session;
                    return Ok(Self { socket, session, conversation, buffer, unread: (0, 0) });
                }
            }
            let count = socket.receive(&mut buffer)?;
            if count == 0 {
                return Err("the server closed the connection".to_owned());
            }
            let fed = login.feed(&buffer[..count], &mut out).map_err(|error| error.to_string())?;
            if fed.0 < count {
                return Err("bytes are left after the login".to_owned());
            }
            progress = fed.1;
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.socket.send(bytes)
    }

    /// The next reply.
    pub(crate) fn reply(&mut self) -> Result<Reply, String> {
        loop {
            let (start, end) = self.unread;
            let fed = self.conversation.feed(&self.buffer[start..end]);
            let (used, reply) = fed.map_err(|error| error.to_string())?;
            self.unread.0 += used;
            if let Some(reply) = reply {
                return Ok(reply);
            }
            match self.socket.receive(&mut self.buffer)? {
                0 => return Err("the server closed the connection".to_owned()),
                count => self.unread = (0, count),
            }
        }
    }

    /// The next reply, of a command that must have been executed.
    pub(crate) fn done(&mut self) -> Result<Completion, String> {
        match self.reply()? {
            Reply::Done(completion) => Ok(completion),
            Reply::Failed(error) => Err(error.to_string()),
            other => Err(format!("another reply: {other:?}")),
        }
    }

    /// The state of the next reply, which must be an error.
    pub(crate) fn refused(&mut self) -> Result<String, String> {
        match self.reply()? {
            Reply::Failed(error) => Ok(error.code.to_string()),
            other => Err(format!("no error: {other:?}")),
        }
    }

    /// Executes a statement as text.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Completion, String> {
        self.begin_query(sql)?;
        self.done().map_err(|text| format!("{sql}: {text}"))
    }

    /// Sends a statement as text, whose reply comes next.
    pub(crate) fn begin_query(&mut self, sql: &str) -> Result<(), String> {
        let mut out = Vec::new();
        self.conversation.write_query(&mut out, sql.as_bytes());
        self.conversation.expect(Expect::Query);
        self.send(&out)
    }

    /// The bytes of the reply to one execution.
    pub(crate) fn recorded(&mut self, id: u32, param: Param<'_>) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        self.conversation.write_execute(&mut out, id, std::iter::once(param));
        self.conversation.expect(Expect::Execute);
        self.send(&out)?;
        let mut recorded = Vec::new();
        loop {
            let count = self.socket.receive(&mut self.buffer)?;
            let bytes = &self.buffer[..count];
            recorded.extend_from_slice(bytes);
            let (_, reply) = self.conversation.feed(bytes).map_err(|error| error.to_string())?;
            match reply {
                Some(_) => return Ok(recorded),
                None if count == 0 => return Err("the server closed the connection".to_owned()),
                None => {}
            }
        }
    }

    /// Says goodbye; the server must close the connection without another word.
    pub(crate) fn close(mut self) -> Result<(), String> {
        let mut out = Vec::new();
        self.conversation.write_quit(&mut out);
        self.send(&out)?;
        match self.socket.receive(&mut self.buffer) {
            Ok(0) | Err(_) => Ok(()),
            Ok(count) => Err(format!("{count} bytes after the goodbye")),
        }
    }
}

/// The encrypted connection, and what a login is bound to on it.
fn encrypt(socket: Socket, target: &Target) -> Result<(Socket, Vec<u8>), String> {
    let Socket::Clear(mut socket) = socket else { return Err("TLS within TLS".to_owned()) };
    let ca = target.ca.as_deref().ok_or("TLS needs ca=FILE")?;
    let name = ServerName::try_from("localhost").map_err(|error| error.to_string())?;
    let client = ClientConnection::new(Arc::new(configuration(ca)?), name);
    let mut client = client.map_err(|error| error.to_string())?;
    while client.is_handshaking() {
        client.complete_io(&mut socket).map_err(|error| format!("no handshake: {error}"))?;
    }
    // The certificates of these tests are signed with SHA-256, so that is the hash to bind to.
    let certificate = client.peer_certificates().and_then(|chain| chain.first());
    let certificate = certificate.ok_or("no certificate")?;
    let hash = digest::digest(&digest::SHA256, certificate).as_ref().to_vec();
    Ok((Socket::Encrypted(Box::new(StreamOwned::new(client, socket))), hash))
}

fn configuration(ca: &Path) -> Result<ClientConfig, String> {
    let text = |error: &dyn std::fmt::Display| format!("{}: {error}", ca.display());
    let certificate = CertificateDer::from_pem_file(ca).map_err(|error| text(&error))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(|error| text(&error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| text(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    configuration.alpn_protocols = vec![ALPN.to_vec()];
    Ok(configuration)
}
