//! Errors of the engine: plans that are refused, and the failure that ends a step or a load.

use loadstone_wire::{ServerError, WireError};
use serde::Serialize;

/// A plan that cannot be carried out; one line that names the key.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct PlanError {
    text: String,
}

impl PlanError {
    /// The line.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// JSON that is no plan.
    pub fn from_json(error: serde_json::Error) -> Self {
        Self::new(format!("the plan is not as docs/engine.md says: {error}"))
    }
}

/// Why a step or a load ended before its time. Kinds are stable names; see `docs/engine.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The stable name.
    pub kind: FailureKind,
    /// The server's error number, or the field's number for a client-side failure.
    pub errno: Option<u16>,
    /// Five characters, where the server gave them.
    pub sql_state: Option<String>,
    /// One line.
    pub message: String,
    /// Which of the plan's targets.
    pub target: usize,
    /// The statement, where one was under way.
    pub statement: Option<String>,
}

/// The stable names of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The name has no address.
    UnknownHost,
    /// Nobody listens there, or the socket's path does not exist.
    Unreachable,
    /// Too many connects wait at a unix socket; never in a record, as it passes.
    QueueFull,
    /// No answer within the time allowed.
    TimedOut,
    /// Wrong user, password or host.
    LoginRefused,
    /// `max_connections` is used up.
    TooManyConnections,
    /// The schema does not exist or may not be used.
    UnknownDatabase,
    /// TLS was required and the server does not offer it.
    TlsRefused,
    /// The TLS handshake failed.
    TlsFailed,
    /// Compression was asked for and the server does not offer it.
    CompressionRefused,
    /// A script cannot be loaded, or raised an error.
    Script,
    /// A statement failed and the policy says that this ends the step.
    StatementFailed,
    /// The server said something that the protocol does not know.
    Protocol,
    /// This process may open no more files.
    Descriptors,
    /// caching_sha2_password without TLS needs the server's public key.
    PublicKeyNeeded,
    /// The server asks for the password itself, and has not proved who it is.
    PasswordWithheld,
    /// An authentication method or server version that is not built.
    NotSupported,
    /// Whoever started the step gave no sign of life.
    Abandoned,
    /// A statement did not come on for too long.
    Stalled,
    /// The plan or a file that it names is wrong.
    Plan,
    /// A table that this load did not make stands under a name that it wants.
    TableInTheWay,
    /// A bug of ours.
    Internal,
}

/// EADDRNOTAVAIL of connect(2): each connection of the last minute keeps its port (ip(7), tcp(7)).
const NO_PORT: &str = "no local port is left for another connection: see \
                       net.ipv4.ip_local_port_range and net.ipv4.tcp_tw_reuse";

impl Failure {
    /// Not the server's, or not known to be: without an SQL state.
    pub fn new(kind: FailureKind, errno: Option<u16>, message: impl Into<String>) -> Self {
        Self { kind, errno, sql_state: None, message: message.into(), target: 0, statement: None }
    }

    /// A panic of ours.
    pub fn bug(what: &str) -> Self {
        let text = format!("{what} of the engine panicked; this is a bug of Loadstone");
        Self::new(FailureKind::Internal, None, text)
    }

    pub(crate) fn at(mut self, target: usize) -> Self {
        self.target = target;
        self
    }

    /// The same, of this statement.
    #[must_use]
    pub fn during(mut self, statement: String) -> Self {
        self.statement = Some(statement);
        self
    }

    /// An error packet of the server, by what its number means.
    pub(crate) fn from_server(error: &ServerError) -> Self {
        let kind = match error.errno {
            1040 | 1203 | 1226 => FailureKind::TooManyConnections,
            1045 | 1130 | 1129 | 1698 | 1820 | 1862 | 3118 | 4151 => FailureKind::LoginRefused,
            1044 | 1049 => FailureKind::UnknownDatabase,
            1251 | 1275 => FailureKind::NotSupported,
            3159 => FailureKind::TlsRefused,
            _ => FailureKind::StatementFailed,
        };
        Self {
            sql_state: Some(String::from_utf8_lossy(&error.sql_state).into_owned()),
            ..Self::new(kind, Some(error.errno), error.message.clone())
        }
    }

    /// An error packet that ends a step: whatever its number, a statement has failed.
    pub(crate) fn of_statement(error: &ServerError, statement: String) -> Self {
        Self { kind: FailureKind::StatementFailed, ..Self::from_server(error).during(statement) }
    }

    /// A failure of the operating system while connecting.
    pub(crate) fn from_connect(error: &std::io::Error, unix: bool) -> Self {
        use rustix::io::Errno;
        let unreachable = if unix { 2002 } else { 2003 };
        let no_socket = if unix { 2001 } else { 2004 };
        let (kind, errno) = match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => (FailureKind::Descriptors, no_socket),
            Some(Errno::TIMEDOUT) => (FailureKind::TimedOut, unreachable),
            Some(Errno::ADDRNOTAVAIL) => {
                return Self::new(FailureKind::Unreachable, Some(unreachable), NO_PORT);
            }
            Some(Errno::AGAIN) if unix => (FailureKind::QueueFull, unreachable),
            _ => (FailureKind::Unreachable, unreachable),
        };
        Self::new(kind, Some(errno), os_text(error))
    }

    /// Bytes that the protocol does not allow, or a refusal that the client makes.
    pub(crate) fn from_wire(error: &WireError) -> Self {
        let (kind, errno) = match error {
            WireError::Server(server) => return Self::from_server(server),
            WireError::NulByte { .. } => (FailureKind::Plan, 2027),
            WireError::TlsNotOffered => (FailureKind::TlsRefused, 2026),
            WireError::CompressionNotOffered { .. } => (FailureKind::CompressionRefused, 2066),
            WireError::PublicKeyNeeded { .. } => (FailureKind::PublicKeyNeeded, 2061),
            WireError::BadPublicKey { .. } => (FailureKind::Plan, 2061),
            WireError::AuthNotSupported { .. } => (FailureKind::NotSupported, 2059),
            WireError::PasswordWithheld { .. } => (FailureKind::PasswordWithheld, 2061),
            WireError::OldServer { .. } => (FailureKind::NotSupported, 2007),
            _ => (FailureKind::Protocol, 2027),
        };
        Self::new(kind, Some(errno), error.to_string())
    }

    /// A TLS handshake that came to nothing.
    pub(crate) fn from_handshake(error: &std::io::Error) -> Self {
        use rustls::{AlertDescription, Error};
        let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        let text = match reason {
            Some(
                Error::PeerIncompatible(_)
                | Error::AlertReceived(AlertDescription::ProtocolVersion),
            ) => {
                format!("the server speaks neither TLS 1.2 nor 1.3 ({error})")
            }
            Some(Error::General(ours)) => ours.clone(),
            Some(_) => os_text(error),
            // It broke, which is no verdict: the next attempt may do better.
            None => {
                let text = format!("the connection broke in the TLS handshake: {}", os_text(error));
                return Self::new(FailureKind::TlsFailed, Some(2013), text);
            }
        };
        Self::new(FailureKind::TlsFailed, Some(2026), text)
    }

    /// Whether nobody listens at the address, where another one of the same name may do.
    pub(crate) fn is_refused(&self) -> bool {
        self.kind == FailureKind::Unreachable && self.errno == Some(2003)
    }

    /// Whether trying again could help before the load has begun.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::Unreachable | FailureKind::TimedOut | FailureKind::TooManyConnections
        ) || self.kind == FailureKind::QueueFull
            || matches!(self.errno, Some(2013 | 2006 | 1053 | 1158..=1161))
    }
}

/// The operating system's words without Rust's "(os error N)".
pub(crate) fn os_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_handshake_that_breaks_is_tried_again_and_one_that_is_judged_is_not() {
        let broke = Failure::from_handshake(&Error::from(ErrorKind::UnexpectedEof));
        assert_eq!((broke.kind, broke.errno), (FailureKind::TlsFailed, Some(2013)));
        assert!(broke.may_pass());
        let judged = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let judged = Failure::from_handshake(&Error::new(ErrorKind::InvalidData, judged));
        assert_eq!((judged.kind, judged.errno), (FailureKind::TlsFailed, Some(2026)));
        assert!(!judged.may_pass());
    }

    #[test]
    fn another_address_is_tried_where_nobody_listens_and_not_where_somebody_refuses() {
        let closed = Error::from_raw_os_error(rustix::io::Errno::CONNREFUSED.raw_os_error());
        assert!(Failure::from_connect(&closed, false).is_refused());
        assert!(!Failure::from_connect(&closed, true).is_refused());
        let full = Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        for (unix, errno) in [(false, 2004), (true, 2001)] {
            let full = Failure::from_connect(&full, unix);
            assert_eq!((full.kind, full.errno), (FailureKind::Descriptors, Some(errno)));
            assert!(!full.is_refused() && !full.may_pass());
        }
    }
}
