//! Commands: each function appends complete packets to `out`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html>

mod close;
mod execute;
mod local_infile;
mod plain;
mod prepare;
mod query;

pub use close::write_close_statement;
pub use execute::write_execute;
pub use local_infile::{write_local_infile_data, write_local_infile_end};
pub use plain::{write_ping, write_quit, write_reset_connection};
pub use prepare::write_prepare;
pub use query::{CommandMark, begin_query, end, write_query};
