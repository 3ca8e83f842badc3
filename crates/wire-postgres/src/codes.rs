//! SQLSTATEs of PostgreSQL and what they mean. Class 08 is that of connections: what a client
//! notices itself has codes of it, as other drivers give them.
//!
//! <https://www.postgresql.org/docs/current/errcodes-appendix.html>

use loadstone_protocol::{
    Code, Completion, Conflict, ErrorCode, Family, Fault, ServerError, Usual, Verdict,
};

use crate::{WireError, status};

/// The family that this crate implements.
pub const FAMILY: Family = Family::new("postgresql");

/// Serialization failure, deadlock, and a row that is there already: a DELETE at READ COMMITTED that
/// has waited for another one of the same row finds nothing, although the other transaction has
/// inserted the row again. The INSERT behind it fails.
const RESTARTED: [Code; 3] =
    [error_code(b"40001").code, error_code(b"40P01").code, error_code(b"23505").code];

/// The defaults of the family.
pub const USUAL: Usual =
    Usual { restarts: &RESTARTED, connection_gone: code_of_fault(Fault::ConnectionGone).code };

/// The error code of an SQLSTATE.
///
/// # Panics
/// If it has anything but digits and upper-case letters.
#[must_use]
pub const fn error_code(state: &[u8; 5]) -> ErrorCode {
    match Code::of_state(state) {
        Some(code) => ErrorCode { family: FAMILY, code },
        None => panic!("an SQLSTATE has five digits and upper-case letters"),
    }
}

/// What an error means. For codes that are not listed here, only the statement fails.
///
/// No error has the verdict `RolledBack`: a transaction that fails, by a deadlock too, stays open
/// until the client rolls it back.
#[must_use]
pub fn verdict(code: Code) -> Verdict {
    match code.to_string().as_str() {
        // The outcome is not known.
        "40003" => Verdict::Refused,
        // The server itself ends the connection, or has not started yet.
        "57P01" | "57P02" | "57P03" => Verdict::ConnectionEnds { passes: true },
        // The connection timed out (idle, idle in a transaction, by the transaction's own limit),
        // or its database was dropped.
        "57P04" | "57P05" | "25P03" | "25P04" => Verdict::ConnectionEnds { passes: false },
        "08003" | "08006" | "08007" => Verdict::ConnectionLost,
        "08001" => Verdict::NobodyListens,
        "08P01" => Verdict::Garbled,
        "53300" => Verdict::TooManyConnections,
        "28000" | "28P01" => Verdict::LoginRefused,
        "3D000" => Verdict::UnknownDatabase,
        state => verdict_of_class(state.get(..2).unwrap_or_default()),
    }
}

/// Constraint, state of the transaction, rollback, a view's check, and what a trigger raised: after
/// these nothing was committed. A canceled statement is not among them.
fn verdict_of_class(class: &str) -> Verdict {
    match class {
        "23" | "25" | "40" | "44" | "P0" => Verdict::NotCommitted,
        _ => Verdict::Refused,
    }
}

/// The conflict of transactions that a code reports.
#[must_use]
pub fn conflict(code: Code) -> Option<Conflict> {
    match code {
        _ if code == RESTARTED[0] => Some(Conflict::Serialization),
        _ if code == RESTARTED[1] => Some(Conflict::Deadlock),
        _ => None,
    }
}

/// The error that the answer to a COMMIT stands for, if the server has rolled back instead of
/// committing. It says so by the name of the command that it completed, and sends no error:
/// <https://www.postgresql.org/docs/current/sql-commit.html>. The code is the one that a statement
/// in such a transaction gets, as other drivers report it.
#[must_use]
#[inline]
pub fn silent_rollback(completion: &Completion) -> Option<ServerError> {
    (completion.status & status::ROLLED_BACK != 0).then(|| ServerError {
        code: error_code(b"25P02"),
        sql_state: *b"25P02",
        message: "the server answered COMMIT with ROLLBACK: the transaction was aborted".to_owned(),
        position: None,
    })
}

/// The code that drivers report for a fault; libpq itself has none.
#[must_use]
pub const fn code_of_fault(fault: Fault) -> ErrorCode {
    error_code(match fault {
        Fault::NoSocket { .. } | Fault::UnknownHost | Fault::TimedOut | Fault::Tls => b"08000",
        Fault::CannotConnect { .. } => b"08001",
        Fault::ConnectionGone => b"08003",
        Fault::ConnectionLost => b"08006",
        Fault::Garbled => b"08P01",
        Fault::NotPrepared => b"26000",
        Fault::NoData => b"02000",
    })
}

impl WireError {
    /// The server's code, or the one that drivers report.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Server(error) => error.code,
            Self::TlsNotOffered | Self::TlsRequestRefused => code_of_fault(Fault::Tls),
            Self::AuthNotSupported { .. }
            | Self::OtherVersion { .. }
            | Self::UnknownOption { .. } => error_code(b"0A000"),
            Self::NoPassword
            | Self::PasswordWithheld { .. }
            | Self::NotBound { .. }
            | Self::ServerNotProven { .. } => error_code(b"28000"),
            _ => code_of_fault(Fault::Garbled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_was_answered_with_rollback_is_an_error() {
        let rolled_back = Completion { status: status::ROLLED_BACK, ..Completion::default() };
        let error = silent_rollback(&rolled_back).unwrap();
        assert_eq!(verdict(error.code.code), Verdict::NotCommitted);
        assert_eq!(error.sql_state_text(), "25P02");
        assert_eq!(silent_rollback(&Completion::default()), None);
    }

    #[test]
    fn conflicts_are_serialization_failures_and_deadlocks() {
        let of = |state: &[u8; 5]| conflict(error_code(state).code);
        assert_eq!(of(b"40001"), Some(Conflict::Serialization));
        assert_eq!(of(b"40P01"), Some(Conflict::Deadlock));
        assert_eq!([of(b"23505"), of(b"40002")], [None, None]);
    }

    fn of(state: &[u8; 5]) -> Verdict {
        verdict(error_code(state).code)
    }

    #[test]
    fn a_transaction_that_failed_is_not_committed_and_is_still_to_be_rolled_back() {
        for state in [b"40001", b"40P01", b"40002", b"23505", b"25006", b"25P02", b"P0001"] {
            assert_eq!(of(state), Verdict::NotCommitted);
        }
        for state in [b"40003", b"57014", b"42601", b"42P01", b"22012", b"55P03", b"XX000"] {
            assert_eq!(of(state), Verdict::Refused);
        }
    }

    #[test]
    fn a_connection_ends_after_what_the_server_says_while_it_closes_it() {
        for state in [b"57P01", b"57P02", b"57P03"] {
            assert_eq!(of(state), Verdict::ConnectionEnds { passes: true });
        }
        for state in [b"57P04", b"57P05", b"25P03", b"25P04"] {
            assert_eq!(of(state), Verdict::ConnectionEnds { passes: false });
        }
    }

    #[test]
    fn logins_are_refused_for_reasons_of_their_own() {
        assert_eq!(of(b"53300"), Verdict::TooManyConnections);
        assert_eq!(of(b"28P01"), Verdict::LoginRefused);
        assert_eq!(of(b"28000"), Verdict::LoginRefused);
        assert_eq!(of(b"3D000"), Verdict::UnknownDatabase);
        assert_eq!(WireError::NoPassword.code(), error_code(b"28000"));
        assert_eq!(WireError::EarlyBytes.code(), error_code(b"08P01"));
    }

    #[test]
    fn what_a_client_notices_has_a_code_that_means_it() {
        let cases = [
            (Fault::ConnectionGone, Verdict::ConnectionLost),
            (Fault::ConnectionLost, Verdict::ConnectionLost),
            (Fault::Garbled, Verdict::Garbled),
            (Fault::CannotConnect { unix: false }, Verdict::NobodyListens),
            (Fault::TimedOut, Verdict::Refused),
            (Fault::UnknownHost, Verdict::Refused),
            (Fault::NotPrepared, Verdict::Refused),
            (Fault::NoData, Verdict::Refused),
        ];
        for (fault, expected) in cases {
            let ErrorCode { family, code } = code_of_fault(fault);
            assert_eq!((family, verdict(code)), (FAMILY, expected), "{fault:?}");
        }
    }

    #[test]
    fn a_code_of_another_family_means_nothing_here() {
        assert_eq!(verdict(Code::of_number(1213)), Verdict::Refused);
        assert_eq!(verdict(Code::OTHER), Verdict::Refused);
    }

    #[test]
    fn the_usual_restarts_are_conflicts_with_other_transactions() {
        let usual = [b"40001", b"40P01", b"23505"].map(|state| error_code(state).code);
        assert_eq!(USUAL.restarts, usual);
    }
}
