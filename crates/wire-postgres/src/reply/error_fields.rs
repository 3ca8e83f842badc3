//! ErrorResponse and NoticeResponse: fields, each with a letter before it.
//!
//! <https://www.postgresql.org/docs/current/protocol-error-fields.html>

use loadstone_protocol::sanitize::{MESSAGE, plain};
use loadstone_protocol::{Code, ErrorCode};

use crate::codes::{FAMILY, error_code};
use crate::{ServerError, WireError};

/// An error that names no state, or something that is none: `internal_error`.
const UNKNOWN_STATE: [u8; 5] = *b"XX000";

/// What is read of an error or a notice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) error: ServerError,
    /// The server closes the connection after it.
    pub(crate) is_fatal: bool,
    pub(crate) is_warning: bool,
}

impl Report {
    /// Reads the fields up to their end, which may have been cut off.
    #[cold]
    pub(crate) fn parse(body: &[u8]) -> Self {
        let field = |letter| {
            let mut fields = body.split(|&byte| byte == 0);
            fields.find_map(|field| field.strip_prefix(&[letter]))
        };
        // 'V' is never translated; servers before 9.6 have only 'S'.
        let severity = field(b'V').or_else(|| field(b'S')).unwrap_or_default();
        let state = field(b'C').and_then(<[u8]>::first_chunk).copied().unwrap_or(UNKNOWN_STATE);
        let (sql_state, code) = match Code::of_state(&state) {
            Some(code) => (state, ErrorCode { family: FAMILY, code }),
            None => (UNKNOWN_STATE, error_code(&UNKNOWN_STATE)),
        };
        let position =
            field(b'P').and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let message = plain(field(b'M').unwrap_or_default(), MESSAGE);
        Self {
            error: ServerError { code, sql_state, message, position },
            is_fatal: matches!(severity, b"FATAL" | b"PANIC"),
            is_warning: severity == b"WARNING",
        }
    }
}

/// An error of a server that has not got as far as protocol 3: a text alone.
pub(crate) fn old_error(text: &[u8]) -> WireError {
    let state = *b"08004";
    let message = plain(text.trim_ascii(), MESSAGE);
    WireError::Server(ServerError {
        code: error_code(&state),
        sql_state: state,
        message,
        position: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// postgres 15.18, `SELECT * FROM missing`.
    const NO_SUCH_TABLE: &[u8] = b"SERROR\0VERROR\0C42P01\0Mrelation \"missing\" does not exist\0\
        P15\0Fparse_relation.c\0L1392\0RparserOpenTable\0\0";

    #[test]
    fn an_error_of_postgres_15_is_read() {
        let Report { error, is_fatal, is_warning } = Report::parse(NO_SUCH_TABLE);
        assert_eq!((error.code, &error.sql_state), (error_code(b"42P01"), b"42P01"));
        assert_eq!(error.to_string(), "relation \"missing\" does not exist (42P01)");
        assert!(!is_fatal && !is_warning);
    }

    #[test]
    fn severity_is_read_where_it_is_not_translated() {
        let fatal = Report::parse(b"SFATAL\0VFATAL\0C57P01\0Mterminating\0\0");
        assert!(fatal.is_fatal);
        assert!(Report::parse(b"SSCHWERWIEGEND\0VFATAL\0C57P01\0Mx\0\0").is_fatal);
        assert!(Report::parse(b"SPANIC\0C57P01\0Mx\0\0").is_fatal);
        assert!(Report::parse(b"SWARNUNG\0VWARNING\0C01000\0Mx\0\0").is_warning);
        assert!(!Report::parse(b"SNOTICE\0VNOTICE\0C00000\0Mx\0\0").is_warning);
    }

    #[test]
    fn what_is_missing_or_would_drive_a_terminal_is_replaced() {
        for body in [b"".as_slice(), b"\0", b"C", b"C123\0", b"C\x1b[31m\0", b"SERROR\0"] {
            let report = Report::parse(body);
            assert_eq!((report.error.code, report.is_fatal), (error_code(b"XX000"), false));
            assert_eq!(report.error.sql_state_text(), "XX000");
        }
        assert_eq!(Report::parse(b"C42601\0Ma\x1b[2Jb").error.message, "a\u{fffd}[2Jb");
    }

    #[test]
    fn an_old_error_is_its_text() {
        let WireError::Server(error) = old_error(b"could not fork\n") else { panic!() };
        assert_eq!(error.to_string(), "could not fork (08004)");
    }
}
