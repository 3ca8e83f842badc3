//! Error codes of MySQL and MariaDB and their meanings; those from 2000 on belong to their clients.
//!
//! <https://dev.mysql.com/doc/mysql-errors/8.4/en/>, <https://mariadb.com/docs/server/reference/error-codes>

use loadstone_protocol::{Code, Conflict, ErrorCode, Family, Fault, Usual, Verdict};

use crate::WireError;

/// The family that this crate implements.
pub const FAMILY: Family = Family::new("mysql");

/// Deadlock, record has changed since it was last read, lock wait timeout.
const RESTARTED: [Code; 3] = [Code::of_number(1213), Code::of_number(1020), Code::of_number(1205)];

/// The defaults of the family.
pub const USUAL: Usual =
    Usual { restarts: &RESTARTED, connection_gone: code_of_fault(Fault::ConnectionGone).code };

/// The error code of a number.
#[must_use]
pub const fn error_code(number: u16) -> ErrorCode {
    ErrorCode { family: FAMILY, code: Code::of_number(number) }
}

/// What an error means. For codes that are not listed here, only the statement fails. That includes
/// 1153, a statement above `max_allowed_packet`, although the server closes the connection after
/// it.
#[must_use]
pub fn verdict(code: Code) -> Verdict {
    match code.number().unwrap_or_default() {
        // Deadlock, and the conflicts of Galera.
        1213 => Verdict::RolledBack,
        // Lock wait timeout, read-only server, read-only transaction, read-only mode, rolled back
        // by group replication. Any other answer of a server or proxy to COMMIT leaves the outcome
        // open.
        1205 | 1290 | 1792 | 1836 | 3101 => Verdict::NotCommitted,
        1295 => Verdict::CannotPrepare,
        1243 => Verdict::HandleUnknown,
        // Shutdown in progress, the network failed.
        1053 | 1158..=1161 => Verdict::ConnectionEnds { passes: true },
        // Connection killed, disconnected for inactivity (MySQL 8.0.24+), aborted.
        1927 | 4031 | 1152 | 1154..=1157 | 1184 => Verdict::ConnectionEnds { passes: false },
        2006 | 2013 => Verdict::ConnectionLost,
        2027 => Verdict::Garbled,
        2003 => Verdict::NobodyListens,
        1040 | 1203 | 1226 => Verdict::TooManyConnections,
        1045 | 1130 | 1129 | 1698 | 1820 | 1862 | 3118 | 4151 => Verdict::LoginRefused,
        1044 | 1049 => Verdict::UnknownDatabase,
        1251 | 1275 => Verdict::NotSupported,
        3159 => Verdict::TlsRefused,
        _ => Verdict::Refused,
    }
}

/// The conflict of transactions that a code reports.
#[must_use]
pub fn conflict(code: Code) -> Option<Conflict> {
    (code == RESTARTED[0]).then_some(Conflict::Deadlock)
}

/// The code that common clients report for a fault.
#[must_use]
pub const fn code_of_fault(fault: Fault) -> ErrorCode {
    error_code(match fault {
        Fault::TimedOut => 110, // ETIMEDOUT: they report the system's code
        Fault::NoSocket { unix: true } => 2001,
        Fault::CannotConnect { unix: true } => 2002,
        Fault::CannotConnect { unix: false } => 2003,
        Fault::NoSocket { unix: false } => 2004,
        Fault::UnknownHost => 2005,
        Fault::ConnectionGone => 2006,
        Fault::ConnectionLost => 2013,
        Fault::Tls => 2026,
        Fault::Garbled => 2027,
        Fault::NotPrepared => 2030,
        Fault::NoData => 2051,
    })
}

impl WireError {
    /// The server's code, or the one that common clients report.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        error_code(match self {
            Self::Server(error) => return error.code,
            Self::OldServer { .. } => 2007,
            Self::TlsNotOffered => 2026,
            Self::AuthNotSupported { .. } => 2059,
            Self::PublicKeyNeeded { .. }
            | Self::BadPublicKey { .. }
            | Self::PasswordWithheld { .. } => 2061,
            Self::CompressionNotOffered { .. } => 2066,
            _ => return code_of_fault(Fault::Garbled),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_a_deadlock() {
        let of = |number| conflict(Code::of_number(number));
        assert_eq!([of(1213), of(1205)], [Some(Conflict::Deadlock), None]);
    }

    fn of(number: u16) -> Verdict {
        verdict(Code::of_number(number))
    }

    #[test]
    fn a_deadlock_has_rolled_back_and_a_lock_wait_has_not() {
        assert_eq!(of(1213), Verdict::RolledBack);
        for number in [1205, 1290, 1792, 1836, 3101] {
            assert_eq!(of(number), Verdict::NotCommitted, "{number}");
        }
    }

    #[test]
    fn a_connection_ends_after_what_the_server_says_while_it_closes_it() {
        for number in [1053, 1158, 1159, 1160, 1161] {
            assert_eq!(of(number), Verdict::ConnectionEnds { passes: true }, "{number}");
        }
        for number in [1152, 1154, 1155, 1156, 1157, 1184, 1927, 4031] {
            assert_eq!(of(number), Verdict::ConnectionEnds { passes: false }, "{number}");
        }
        // The server closes the connection after the first one too, but it is the statement that
        // failed.
        for number in [1153, 1062, 1064, 1146, 1180, 1317] {
            assert_eq!(of(number), Verdict::Refused, "{number}");
        }
    }

    #[test]
    fn what_a_client_notices_has_a_code_that_means_it() {
        let cases = [
            (Fault::ConnectionGone, Verdict::ConnectionLost),
            (Fault::ConnectionLost, Verdict::ConnectionLost),
            (Fault::Garbled, Verdict::Garbled),
            (Fault::CannotConnect { unix: false }, Verdict::NobodyListens),
            (Fault::CannotConnect { unix: true }, Verdict::Refused),
            (Fault::NoData, Verdict::Refused),
        ];
        for (fault, expected) in cases {
            let ErrorCode { family, code } = code_of_fault(fault);
            assert_eq!((family, verdict(code)), (FAMILY, expected), "{fault:?}");
        }
    }

    #[test]
    fn logins_are_refused_for_reasons_of_their_own() {
        assert_eq!(of(1040), Verdict::TooManyConnections);
        assert_eq!(of(1045), Verdict::LoginRefused);
        assert_eq!(of(1049), Verdict::UnknownDatabase);
        assert_eq!(of(1295), Verdict::CannotPrepare);
        assert_eq!(of(1243), Verdict::HandleUnknown);
        assert_eq!(of(3159), Verdict::TlsRefused);
        assert_eq!(WireError::TlsNotOffered.code(), error_code(2026));
        assert_eq!(WireError::EarlyBytes.code(), error_code(2027));
    }

    #[test]
    fn a_code_of_another_family_means_nothing_here() {
        assert_eq!(verdict(Code::try_from("40P01".to_owned()).unwrap()), Verdict::Refused);
    }

    #[test]
    fn the_usual_restarts_are_deadlock_changed_row_and_lock_wait() {
        let usual = [1213, 1020, 1205].map(Code::of_number);
        assert!(usual.iter().all(|code| USUAL.restarts.contains(code)));
        assert!(!USUAL.restarts.contains(&Code::of_number(1062)));
    }
}
