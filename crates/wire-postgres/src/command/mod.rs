//! Commands: each function appends complete messages to `out`.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html>

mod bind;
mod cancel;
mod close;
mod copy;
mod execute;
mod parse;
mod plain;
mod query;
mod statement_name;

pub use bind::{Bind, write_bind};
pub use cancel::{CancelKey, write_cancel};
pub use close::write_close_statement;
pub use copy::{write_copy_data, write_copy_done, write_copy_fail};
pub use execute::{ALL_ROWS, write_describe_portal, write_execute_portal};
pub(crate) use parse::write_parse_with;
pub use parse::{write_describe_statement, write_parse};
pub use plain::{write_flush, write_sync, write_terminate};
pub use query::{CommandMark, begin_query, end, write_query};
pub use statement_name::StatementName;
