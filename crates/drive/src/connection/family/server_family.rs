//! The families of servers, and the facts about each that need no connection.

use super::mysql;
use crate::error::{Failure, FailureKind};
use crate::plan::SessionPlan;
use loadstone_protocol::{ErrorCode, Family, Fault, Usual, Verdict};
use loadstone_workload::dialect::Dialect;

/// A family that this program speaks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerFamily {
    /// MySQL and MariaDB; the default where no server is named yet.
    #[default]
    MySql,
}

impl ServerFamily {
    /// The family with this name.
    #[must_use]
    pub fn of(family: Family) -> Option<Self> {
        (family == mysql::FAMILY).then_some(Self::MySql)
    }

    /// What is usual in it.
    #[must_use]
    pub fn usual(self) -> Usual {
        match self {
            Self::MySql => mysql::USUAL,
        }
    }

    /// How its SQL is written.
    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::MySql => &mysql::DIALECT,
        }
    }

    /// The statements to send after each login, so that the session is as the plan says.
    pub(crate) fn session_statements(self, session: &SessionPlan) -> Vec<String> {
        match self {
            Self::MySql => mysql::session_statements(session),
        }
    }

    /// The code of an error that has this number.
    #[must_use]
    pub fn error_code(self, number: u16) -> ErrorCode {
        match self {
            Self::MySql => mysql::error_code(number),
        }
    }

    /// The code that the family's own clients give for a fault.
    #[must_use]
    pub fn code_of(self, fault: Fault) -> ErrorCode {
        match self {
            Self::MySql => mysql::code_of_fault(fault),
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
        None => Verdict::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_familys_dialect_is_of_the_family_that_its_errors_are_of() {
        let family = ServerFamily::MySql;
        let of_dialect = Family::new(family.dialect().family());
        assert_eq!(ServerFamily::of(of_dialect), Some(family));
        assert_eq!(family.code_of(Fault::TimedOut).family, of_dialect);
    }
}
