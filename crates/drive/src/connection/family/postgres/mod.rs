//! PostgreSQL: its protocol, which is `loadstone-wire-postgres`'s, and what a plan means in it.

mod failure_kind;
mod login_options;
mod session;

pub(super) use failure_kind::failure_kind;
pub(super) use loadstone_wire_postgres::{
    ALPN, Conversation, FAMILY, Login, LoginOptions, LoginProgress, TlsWish, USUAL, WireError,
    code_of_fault, conflict, silent_rollback, verdict,
};
pub(super) use login_options::login_options;
pub(super) use session::session_statements;

use loadstone_workload::dialect::PostgreSql;

/// How its SQL is written.
pub(super) static DIALECT: PostgreSql = PostgreSql;
