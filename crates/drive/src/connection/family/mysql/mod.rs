//! MySQL and MariaDB: their protocol, which is `loadstone-wire`'s, and what a plan means in it.

mod compression;
mod failure_kind;
mod login_options;
mod session;

pub(super) use compression::CompressionLayer;
pub(super) use failure_kind::failure_kind;
pub(super) use loadstone_wire::{
    Conversation, FAMILY, Login, LoginOptions, LoginProgress, USUAL, WireError, code_of_fault,
    error_code, verdict,
};
pub(super) use login_options::login_options;
pub(super) use session::session_statements;

use loadstone_workload::dialect::MySql;

/// How its SQL is written.
pub(super) static DIALECT: MySql = MySql;
