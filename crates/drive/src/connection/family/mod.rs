//! The families of servers that this program speaks to.
//!
//! What one of them says, and what its codes mean, is its own crate's affair: `loadstone-wire` is that of MySQL
//! and MariaDB. Each is a variant of the enums in here, so a statement costs no call through a pointer: where
//! there is one, there is nothing to choose.
//!
//! A connection is opened by a [`Login`]: bytes in, bytes out, until it is done or has failed. What it needs of a
//! plan are its [`LoginOptions`]. Then comes a [`Conversation`], and below it a [`CompressionLayer`] where both
//! sides agreed on one.
//!
//! To add a family: write a folder beside `mysql` that has what that one has, and give each enum in here a
//! variant for it. Nobody else knows which families there are.

mod compression;
mod conversation;
mod login;
mod mysql;
mod protocol_error;
mod server_family;

pub(crate) use compression::CompressionLayer;
pub(crate) use conversation::Conversation;
pub(crate) use login::{LoggedIn, Login, LoginOptions, LoginProgress, Session};
pub(crate) use protocol_error::ProtocolError;
pub use server_family::ServerFamily;
pub(crate) use server_family::verdict;
