//! A connection while it is opened: connect, TLS, login, session statements.

use super::Connection;
use super::endpoint::Endpoint;
use super::family::{LoggedIn, Login, LoginProgress, ServerFamily, Session};
use super::numbers::Numbered;
use super::poller::Interest;
use super::received::Received;
use super::stream::{Stream, protocol_error};
use super::tls::{Refused, TlsMaker};
use super::transport::Transport;
use crate::error::{Failure, FailureKind, os_text};
use crate::record::WhyInClear;
use loadstone_measure::Nanos;
use loadstone_protocol::{Expect, Fault, Reply};
use rustix::fd::BorrowedFd;
use std::sync::Arc;

/// One attempt.
pub(crate) struct Opening {
    endpoint: Arc<Endpoint>,
    /// The way of the endpoint's TLS that it takes.
    tls_way: usize,
    stream: Stream,
    stage: Stage,
    /// When the attempt has taken too long.
    pub(crate) deadline: Nanos,
    /// What the poller watches for.
    pub(crate) interest: Interest,
    /// Since the login, while the session statements are sent.
    number: Option<Box<Numbered>>,
    bytes_in: u64,
    bytes_out: u64,
}

enum Stage {
    /// connect(2) is under way. Next: `LoggingIn`.
    Connecting,
    /// The login. Next: `Encrypting` when both sides want TLS, else `Session`.
    LoggingIn(Box<Login>),
    /// TLS handshake. Next: `LoggingIn` again, now encrypted.
    Encrypting(Box<Login>),
    /// Logged in; statement number `next - 1` of the session is unanswered. Next: a `Connection`.
    Session { logged_in: Box<LoggedIn>, next: usize },
}

/// A connection that is ready for events, and what the server reported about itself.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// What the login has found out.
    pub(crate) session: Session,
    pub(crate) cipher: Option<String>,
    /// Why it goes without TLS although that is preferred and offered.
    pub(crate) why_in_clear: Option<WhyInClear>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

/// How far an attempt has come.
pub(crate) enum Advance {
    Pending(Box<Opening>),
    Open(Box<Opened>),
}

impl Opening {
    pub(crate) fn begin(
        endpoint: Arc<Endpoint>,
        address: usize,
        deadline: Nanos,
    ) -> Result<Self, Failure> {
        let socket = endpoint.connect(address).map_err(|error| endpoint.connect_failure(&error))?;
        Ok(Self {
            tls_way: endpoint.tls.as_ref().map(TlsMaker::way).unwrap_or_default(),
            endpoint,
            stream: Stream::new(Transport::new(socket)),
            stage: Stage::Connecting,
            deadline,
            interest: Interest::ReadAndWrite,
            number: None,
            bytes_in: 0,
            bytes_out: 0,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.fd()
    }

    /// What the socket must be watched for now.
    pub(crate) fn wanted_interest(&self) -> Interest {
        if matches!(self.stage, Stage::Connecting) || self.stream.waits_for_room() {
            Interest::ReadAndWrite
        } else {
            Interest::Read
        }
    }

    /// Goes on as far as the socket allows.
    pub(crate) fn advance(mut self: Box<Self>, buffer: &mut [u8]) -> Result<Advance, Failure> {
        match self.try_advance(buffer) {
            Ok(true) => Ok(self.finish()),
            Ok(false) => Ok(Advance::Pending(self)),
            Err(failure) => Err(failure.at(self.endpoint.index)),
        }
    }

    /// `true` when the last session statement is answered.
    fn try_advance(&mut self, buffer: &mut [u8]) -> Result<bool, Failure> {
        if matches!(self.stage, Stage::Connecting) && !self.finish_connect()? {
            return Ok(false);
        }
        let family = self.endpoint.family;
        self.stream.flush().map_err(|error| lost(family, &error))?;
        loop {
            if matches!(self.stage, Stage::Encrypting(_)) && !self.shake_hands()? {
                return Ok(false);
            }
            let (count, more) =
                match self.stream.receive(buffer).map_err(|error| lost(family, &error))? {
                    Received::Nothing => return Ok(false),
                    Received::End => return Err(closed_early(family)),
                    Received::Bytes { count, wire, more } => {
                        self.bytes_in += wire as u64;
                        (count, more)
                    }
                };
            if self.take_bytes(buffer.get(..count).unwrap_or_default())? {
                return Ok(true);
            }
            // A peer that never stops sending must not keep us from checking the deadline.
            if !more && !matches!(self.stage, Stage::Encrypting(_)) {
                return Ok(false);
            }
        }
    }

    fn finish(self: Box<Self>) -> Advance {
        let cipher = self.stream.cipher();
        let why_in_clear =
            self.endpoint.tls.as_ref().and_then(|tls| tls.why_in_clear(self.tls_way));
        let bytes_in = self.bytes_in;
        let bytes_out = self.bytes_out;
        match self.stage {
            Stage::Session { logged_in, .. } => Advance::Open(Box::new(Opened {
                connection: Connection::new(
                    self.stream,
                    logged_in.conversation,
                    self.interest,
                    self.number,
                ),
                session: logged_in.session,
                cipher,
                why_in_clear,
                bytes_in,
                bytes_out,
            })),
            _ => Advance::Pending(self),
        }
    }

    /// `false` while connect(2) is under way.
    fn finish_connect(&mut self) -> Result<bool, Failure> {
        use rustix::net::sockopt::socket_error;
        let refused = |error: &std::io::Error| self.endpoint.connect_failure(error);
        match socket_error(self.stream.fd()) {
            Ok(Ok(())) => {}
            Ok(Err(errno)) | Err(errno) => return Err(refused(&errno.into())),
        }
        if rustix::net::getpeername(self.stream.fd()).is_err() {
            return Ok(false);
        }
        let mut out = Vec::new();
        let tls = self.endpoint.tls.as_ref();
        let in_clear = tls.is_some_and(|tls| tls.is_in_clear(self.tls_way));
        let begun = Login::begin(&self.endpoint.login, in_clear, &mut out);
        let (login, progress) = begun.map_err(|error| error.failure())?;
        self.stage = Stage::LoggingIn(Box::new(login));
        self.send(&out)?;
        if matches!(progress, LoginProgress::StartTls) {
            self.start_tls()?;
        }
        Ok(true)
    }

    fn shake_hands(&mut self) -> Result<bool, Failure> {
        match self.stream.handshake() {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => return Err(self.handshake_failed(&error)),
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Connecting);
        if let Stage::Encrypting(mut login) = stage {
            let mut out = Vec::new();
            login
                .tls_established(|| self.stream.end_point(), &mut out)
                .map_err(|error| error.failure())?;
            self.stage = Stage::LoggingIn(login);
            self.send(&out)?;
        }
        Ok(true)
    }

    fn handshake_failed(&self, error: &std::io::Error) -> Failure {
        let failure = Failure::from_handshake(self.endpoint.family, error);
        let refused = error.get_ref().and_then(|inner| inner.downcast_ref::<Refused>());
        let nothing_in_common = refused.is_some_and(|refused| refused.nothing_in_common);
        let goes_on = |tls: &TlsMaker| tls.goes_on(self.tls_way, &failure.message);
        if nothing_in_common && self.endpoint.tls.as_ref().is_some_and(goes_on) {
            return Failure { kind: FailureKind::OtherTls, ..failure };
        }
        failure
    }

    fn take_bytes(&mut self, mut bytes: &[u8]) -> Result<bool, Failure> {
        while !bytes.is_empty() {
            let consumed = match &mut self.stage {
                Stage::LoggingIn(_) => self.take_login_bytes(bytes)?,
                Stage::Session { .. } => self.take_session_bytes(bytes)?,
                Stage::Connecting | Stage::Encrypting(_) => return Err(self.unexpected_bytes()),
            };
            bytes = bytes.get(consumed..).unwrap_or_default();
            if self.send_next_statement()? {
                return if bytes.is_empty() { Ok(true) } else { Err(self.unexpected_bytes()) };
            }
        }
        Ok(false)
    }

    fn take_login_bytes(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let Stage::LoggingIn(login) = &mut self.stage else { return Ok(0) };
        let mut out = Vec::new();
        let fed = login.feed(bytes, &mut out);
        let (consumed, progress) = fed.map_err(|error| self.login_failed(error.failure()))?;
        self.send(&out)?;
        match progress {
            LoginProgress::NeedBytes => {}
            LoginProgress::StartTls => self.start_tls()?,
            LoginProgress::Done(mut logged_in) => {
                // No statement was sent yet, and these bytes may have to be decompressed.
                if consumed < bytes.len() {
                    return Err(self.unexpected_bytes());
                }
                if let Some(layer) = logged_in.compression.take() {
                    self.stream.compress(layer);
                }
                let number = logged_in.session.connection_id;
                self.number = Some(Box::new(Numbered::new(self.endpoint.place.clone(), number)));
                self.stage = Stage::Session { logged_in, next: 0 };
            }
        }
        Ok(consumed)
    }

    /// Where TLS is only preferred, a login that the server refuses over it is tried once without.
    fn login_failed(&self, failure: Failure) -> Failure {
        let Some(tls) = &self.endpoint.tls else { return failure };
        if tls.is_in_clear(self.tls_way) && !failure.may_pass() {
            return tls.refused_either_way(failure);
        }
        let is_refused = failure.kind == FailureKind::LoginRefused && failure.sql_state.is_some();
        let may_go_on = self.endpoint.family.has_logins_in_clear_alone()
            && self.stream.is_encrypted()
            && is_refused;
        if may_go_on && tls.goes_on_in_clear(self.tls_way, &failure) {
            return Failure { kind: FailureKind::OtherTls, ..failure };
        }
        failure
    }

    fn start_tls(&mut self) -> Result<(), Failure> {
        let stage = std::mem::replace(&mut self.stage, Stage::Connecting);
        let (Stage::LoggingIn(login), Some(maker)) = (stage, &self.endpoint.tls) else {
            return Err(self.unexpected_bytes());
        };
        // The request for TLS is a few bytes: a socket that does not accept it is broken.
        if self.stream.is_encrypted() || !self.stream.is_sent() {
            return Err(self.unexpected_bytes());
        }
        let family = self.endpoint.family;
        let session = maker
            .session(self.tls_way)
            .map_err(|error| family.failure(FailureKind::TlsFailed, Fault::Tls, error))?;
        self.stream.encrypt(session);
        self.stage = Stage::Encrypting(login);
        Ok(())
    }

    fn take_session_bytes(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let Stage::Session { logged_in, next } = &mut self.stage else { return Ok(0) };
        let (consumed, reply) =
            logged_in.conversation.feed(bytes).map_err(|error| error.failure())?;
        match reply {
            None | Some(Reply::Done(_)) => Ok(consumed),
            Some(Reply::Failed(error)) => {
                let statement = self.endpoint.session.get(next.wrapping_sub(1)).cloned();
                Err(Failure::from_server(&error).during(statement.unwrap_or_default()))
            }
            Some(Reply::Prepared(_) | Reply::WantsFile { .. }) => Err(self.unexpected_bytes()),
        }
    }

    /// Sends the next session statement. `true` when all are answered, so the connection is open.
    fn send_next_statement(&mut self) -> Result<bool, Failure> {
        let Stage::Session { logged_in, next } = &mut self.stage else { return Ok(false) };
        let conversation = &mut logged_in.conversation;
        if !conversation.is_idle() {
            return Ok(false);
        }
        let Some(statement) = self.endpoint.session.get(*next) else { return Ok(true) };
        *next += 1;
        conversation.expect(Expect::Query);
        let mut out = Vec::new();
        conversation.write_query(&mut out, statement.as_bytes());
        let family = self.endpoint.family;
        let sent = self.stream.send_command(&out).map_err(|error| lost(family, &error))?;
        self.bytes_out += sent as u64;
        Ok(false)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let family = self.endpoint.family;
        self.bytes_out += self.stream.send(bytes).map_err(|error| lost(family, &error))? as u64;
        Ok(())
    }

    fn unexpected_bytes(&self) -> Failure {
        let text = "the server spoke out of turn while logging in";
        self.endpoint.family.failure(FailureKind::Protocol, Fault::Garbled, text)
    }
}

fn lost(family: ServerFamily, error: &std::io::Error) -> Failure {
    if let Some(error) = protocol_error(error) {
        return error.failure();
    }
    let text = format!("the connection broke while logging in: {}", os_text(error));
    family.failure(FailureKind::Unreachable, Fault::ConnectionLost, text)
}

fn closed_early(family: ServerFamily) -> Failure {
    let text = "the server closed the connection while logging in";
    family.failure(FailureKind::Unreachable, Fault::ConnectionLost, text)
}
