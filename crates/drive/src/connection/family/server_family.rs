//! The families of servers, and the facts about each that need no connection.

use super::{mysql, postgres};
use crate::error::{Failure, FailureKind};
use crate::plan::SessionPlan;
use loadstone_protocol::{Code, Conflict, ErrorCode, Family, Fault, Usual, Verdict};
use loadstone_workload::dialect::Dialect;

/// A family that this program speaks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerFamily {
    /// MySQL and MariaDB; the default where no server is named yet.
    #[default]
    MySql,
    /// PostgreSQL.
    Postgres,
}

impl ServerFamily {
    /// The family with this name.
    #[must_use]
    pub fn of(family: Family) -> Option<Self> {
        match family {
            mysql::FAMILY => Some(Self::MySql),
            postgres::FAMILY => Some(Self::Postgres),
            _ => None,
        }
    }

    /// What is usual in it.
    #[must_use]
    pub fn usual(self) -> Usual {
        match self {
            Self::MySql => mysql::USUAL,
            Self::Postgres => postgres::USUAL,
        }
    }

    /// Whether sysbench's driver of this family rolls back by itself after this error, before the script learns of
    /// it: PostgreSQL's does after those that restart an event, whose transaction would stay open.
    pub(crate) fn scripts_roll_back_after(self, code: ErrorCode) -> bool {
        match self {
            Self::MySql => false,
            Self::Postgres => self.usual().restarts.contains(&code.code),
        }
    }

    /// How its SQL is written.
    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::MySql => &mysql::DIALECT,
            Self::Postgres => &postgres::DIALECT,
        }
    }

    /// The statements to send after each login, so that the session is as the plan says.
    pub(crate) fn session_statements(self, session: &SessionPlan) -> Vec<String> {
        match self {
            Self::MySql => mysql::session_statements(session),
            Self::Postgres => postgres::session_statements(session),
        }
    }

    /// The code of an error that has this number; PostgreSQL's errors have none.
    #[must_use]
    pub fn error_code(self, number: u16) -> ErrorCode {
        match self {
            Self::MySql => mysql::error_code(number),
            Self::Postgres => ErrorCode { family: postgres::FAMILY, code: Code::of_number(number) },
        }
    }

    /// The application protocol that its TLS handshakes name (RFC 7301), if they name one.
    pub(crate) fn alpn(self) -> Option<&'static [u8]> {
        match self {
            Self::MySql => None,
            Self::Postgres => Some(postgres::ALPN),
        }
    }

    /// Whether its servers encrypt connections over a unix socket.
    pub(crate) fn encrypts_sockets(self) -> bool {
        matches!(self, Self::MySql)
    }

    /// Whether its clients log in once more without TLS where that is only preferred and the server refuses a login
    /// over it: PostgreSQL's rules may be for connections in clear alone (`hostnossl`).
    pub(crate) fn has_logins_in_clear_alone(self) -> bool {
        matches!(self, Self::Postgres)
    }

    /// The code that the family's own clients give for a fault.
    #[must_use]
    pub fn code_of(self, fault: Fault) -> ErrorCode {
        match self {
            Self::MySql => mysql::code_of_fault(fault),
            Self::Postgres => postgres::code_of_fault(fault),
        }
    }

    /// The failure that a fault makes of a connection attempt.
    pub(crate) fn failure(
        self,
        kind: FailureKind,
        fault: Fault,
        message: impl Into<String>,
    ) -> Failure {
        Failure::new(kind, Some(self.code_of(fault)), message)
    }
}

/// The meaning of an error code in its own family.
pub(crate) fn verdict(code: ErrorCode) -> Verdict {
    match ServerFamily::of(code.family) {
        Some(ServerFamily::MySql) => mysql::verdict(code.code),
        Some(ServerFamily::Postgres) => postgres::verdict(code.code),
        None => Verdict::default(),
    }
}

/// The conflict that an error code reports in its own family.
pub(crate) fn conflict(code: ErrorCode) -> Option<Conflict> {
    match ServerFamily::of(code.family)? {
        ServerFamily::MySql => mysql::conflict(code.code),
        ServerFamily::Postgres => postgres::conflict(code.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_familys_dialect_is_of_the_family_that_its_errors_are_of() {
        for family in [ServerFamily::MySql, ServerFamily::Postgres] {
            let of_dialect = Family::new(family.dialect().family());
            assert_eq!(ServerFamily::of(of_dialect), Some(family));
            assert_eq!(family.code_of(Fault::TimedOut).family, of_dialect);
        }
    }
}
