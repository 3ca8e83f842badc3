//! Failures while connecting, and what errors of the server mean for a step.

use super::family::{ServerFamily, verdict};
use super::tls::Refused;
use crate::error::{Failure, FailureKind, os_text};
use loadstone_protocol::{Fault, ServerError, Verdict};

/// EADDRNOTAVAIL of connect(2): each connection of the last minute keeps its port (ip(7), tcp(7)).
const NO_PORT: &str = "no local port is left for another connection: see \
                       net.ipv4.ip_local_port_range and net.ipv4.tcp_tw_reuse";

impl Failure {
    /// An error of the server, by what its code means.
    pub(crate) fn from_server(error: &ServerError) -> Self {
        let kind = match verdict(error.code) {
            Verdict::TooManyConnections => FailureKind::TooManyConnections,
            Verdict::LoginRefused => FailureKind::LoginRefused,
            Verdict::UnknownDatabase => FailureKind::UnknownDatabase,
            Verdict::NotSupported => FailureKind::NotSupported,
            Verdict::TlsRefused => FailureKind::TlsRefused,
            _ => FailureKind::StatementFailed,
        };
        Self {
            sql_state: Some(String::from_utf8_lossy(&error.sql_state).into()),
            ..Self::new(kind, Some(error.code), error.message.clone())
        }
    }

    /// An error that ends a step: whatever its code, a statement has failed.
    pub(crate) fn of_statement(error: &ServerError, statement: String) -> Self {
        Self { kind: FailureKind::StatementFailed, ..Self::from_server(error).during(statement) }
    }

    /// A failure of the operating system while connecting.
    pub(crate) fn from_connect(family: ServerFamily, error: &std::io::Error, unix: bool) -> Self {
        use rustix::io::Errno;
        let unreachable = Fault::CannotConnect { unix };
        let (kind, fault) = match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => {
                (FailureKind::Descriptors, Fault::NoSocket { unix })
            }
            Some(Errno::TIMEDOUT) => (FailureKind::TimedOut, unreachable),
            Some(Errno::ADDRNOTAVAIL) => {
                return family.failure(FailureKind::Unreachable, unreachable, NO_PORT);
            }
            Some(Errno::AGAIN) if unix => (FailureKind::QueueFull, unreachable),
            _ => (FailureKind::Unreachable, unreachable),
        };
        family.failure(kind, fault, os_text(error))
    }

    /// A TLS handshake that failed.
    pub(crate) fn from_handshake(family: ServerFamily, error: &std::io::Error) -> Self {
        let Some(refused) = error.get_ref().and_then(|inner| inner.downcast_ref::<Refused>())
        else {
            // The connection broke, which says nothing about TLS: the next attempt may succeed.
            let text = format!("the connection broke in the TLS handshake: {}", os_text(error));
            return family.failure(FailureKind::TlsFailed, Fault::ConnectionLost, text);
        };
        let text = refused.text.clone();
        family.failure(FailureKind::TlsFailed, Fault::Tls, text)
    }

    /// Whether the same is to be tried at once another way, which counts as no failed attempt.
    pub(crate) fn is_tried_another_way(&self) -> bool {
        self.kind == FailureKind::OtherTls
    }

    /// The meaning of its error code.
    pub(crate) fn verdict(&self) -> Verdict {
        self.code.map(verdict).unwrap_or_default()
    }

    /// Whether the address refused the connection; another address of the same name may accept it.
    pub(crate) fn is_refused(&self) -> bool {
        self.kind == FailureKind::Unreachable && self.verdict() == Verdict::NobodyListens
    }

    /// Whether trying again could help before the load has begun.
    pub fn may_pass(&self) -> bool {
        let by_kind = matches!(
            self.kind,
            FailureKind::Unreachable
                | FailureKind::TimedOut
                | FailureKind::TooManyConnections
                | FailureKind::QueueFull
        );
        by_kind
            || matches!(
                self.verdict(),
                Verdict::ConnectionLost | Verdict::ConnectionEnds { passes: true }
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_protocol::Code;
    use std::io::{Error, ErrorKind};

    const FAMILY: ServerFamily = ServerFamily::MySql;

    fn told(failure: &Failure) -> (FailureKind, Option<u16>) {
        (failure.kind, failure.code.and_then(|code| code.code.number()))
    }

    #[test]
    fn a_handshake_that_breaks_is_tried_again_and_one_that_is_judged_is_not() {
        let broke = Failure::from_handshake(FAMILY, &Error::from(ErrorKind::UnexpectedEof));
        assert_eq!(told(&broke), (FailureKind::TlsFailed, Some(2013)));
        assert!(broke.may_pass());
        let judged = Refused { text: "who signed it?".to_owned(), nothing_in_common: false };
        let judged = Failure::from_handshake(FAMILY, &Error::new(ErrorKind::InvalidData, judged));
        assert_eq!(told(&judged), (FailureKind::TlsFailed, Some(2026)));
        assert!(!judged.may_pass());
    }

    #[test]
    fn another_address_is_tried_where_nobody_listens_and_not_where_somebody_refuses() {
        let closed = Error::from_raw_os_error(rustix::io::Errno::CONNREFUSED.raw_os_error());
        assert!(Failure::from_connect(FAMILY, &closed, false).is_refused());
        assert!(!Failure::from_connect(FAMILY, &closed, true).is_refused());
        let full = Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        for (unix, number) in [(false, 2004), (true, 2001)] {
            let full = Failure::from_connect(FAMILY, &full, unix);
            assert_eq!(told(&full), (FailureKind::Descriptors, Some(number)));
            assert!(!full.is_refused() && !full.may_pass());
        }
    }

    #[test]
    fn an_error_of_the_server_ends_a_step_under_the_name_of_what_it_means() {
        let cases = [
            (1040, FailureKind::TooManyConnections, true),
            (1045, FailureKind::LoginRefused, false),
            (1049, FailureKind::UnknownDatabase, false),
            (1251, FailureKind::NotSupported, false),
            (3159, FailureKind::TlsRefused, false),
            (1053, FailureKind::StatementFailed, true),
            (1927, FailureKind::StatementFailed, false),
            (1146, FailureKind::StatementFailed, false),
        ];
        for (number, kind, may_pass) in cases {
            let (code, message) = (FAMILY.error_code(number), "no".to_owned());
            let error = ServerError { code, sql_state: *b"HY000", message, position: None };
            let failure = Failure::from_server(&error);
            assert_eq!(told(&failure), (kind, Some(number)));
            assert_eq!(failure.may_pass(), may_pass, "{number}");
            let statement = Failure::of_statement(&error, "SELECT 1".to_owned());
            assert_eq!(statement.kind, FailureKind::StatementFailed);
        }
    }

    #[test]
    fn a_code_of_a_family_that_nobody_speaks_means_nothing() {
        let family = loadstone_protocol::Family::new("other");
        let code = loadstone_protocol::ErrorCode { family, code: Code::of_number(1040) };
        let error =
            ServerError { code, sql_state: *b"HY000", message: String::new(), position: None };
        assert_eq!(Failure::from_server(&error).kind, FailureKind::StatementFailed);
    }
}
