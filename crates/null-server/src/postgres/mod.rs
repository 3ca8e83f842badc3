//! PostgreSQL's side of a null server: protocol 3.0, with text results. Any user is let in without a
//! password. Written independently of `loadstone-wire-postgres`, so that a mistake there is not
//! repeated here.

mod commands;
mod login;
mod messages;
mod session;

pub(crate) use messages::{put_complete, put_data_row, put_description};
pub(crate) use session::Session;
