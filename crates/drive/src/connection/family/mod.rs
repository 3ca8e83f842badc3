//! The families of servers that this program speaks to.
//!
//! Each family's protocol and error codes are in a crate of its own: `loadstone-wire` for MySQL and MariaDB,
//! `loadstone-wire-postgres` for PostgreSQL. Each family is a variant of the enums in this module, so a statement needs
//! a branch that always goes the same way, and no call through a pointer.
//!
//! A [`Login`] opens a connection: bytes in, bytes out, until it is done or has failed. It takes its
//! [`LoginOptions`] from the plan. A [`Conversation`] follows, above a [`CompressionLayer`] where both sides
//! agreed on one.
//!
//! To add a family, write a folder next to `mysql` and `postgres` with the same items, and add a variant to each enum in this
//! module. No other code names a family.

mod compression;
mod conversation;
mod extended;
mod login;
mod mysql;
mod postgres;
mod protocol_error;
mod server_family;

pub(crate) use compression::CompressionLayer;
pub(crate) use conversation::Conversation;
pub(crate) use extended::Extended;
pub(crate) use login::{LoggedIn, Login, LoginOptions, LoginProgress, Session};
pub use mysql::{ed25519_answer, parsec_answer};
pub(crate) use protocol_error::ProtocolError;
pub use server_family::ServerFamily;
pub(crate) use server_family::{conflict, verdict};
