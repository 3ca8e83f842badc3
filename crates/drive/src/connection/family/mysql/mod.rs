//! MySQL and MariaDB: their protocol, which is `loadstone-wire`'s, and what a plan means in it.

mod compression;
mod failure_kind;
mod login_options;
mod session;

pub(super) use compression::CompressionLayer;
pub(super) use failure_kind::failure_kind;
pub(super) use loadstone_wire::{
    Conversation, FAMILY, Login, LoginOptions, LoginProgress, TlsWish, USUAL, WireError,
    code_of_fault, conflict, error_code, verdict,
};
pub use loadstone_wire::{ed25519_answer, parsec_answer};
pub(super) use login_options::login_options;
pub(super) use session::session_statements;

use loadstone_workload::dialect::MySql;

/// How its SQL is written.
pub(super) static DIALECT: MySql = MySql;

#[cfg(test)]
pub(super) fn conversation_after_a_login() -> Conversation {
    Conversation::new(&loadstone_wire::Session {
        server_version: "8.0.0".to_owned(),
        connection_id: 1,
        capabilities: loadstone_wire::Capabilities::PROTOCOL_41,
        status: 2,
        mariadb: false,
        encrypted: false,
        compression: None,
        auth_plugin: "mysql_native_password",
    })
}
