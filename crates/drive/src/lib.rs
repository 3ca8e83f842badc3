//! Drives load: one thread per shard, each with an epoll loop and any number of virtual users.
//!
//! [`Plan`] says what to do and [`Drive`] does it, reporting [`Record`]s. Code that talks to a
//! server one statement at a time, such as the loader of tables, uses [`client`]. The crate knows
//! no Python, no file and no report.
//!
//! Its modules, each of which uses only those before it: `error` and `clock`; `plan`, the input;
//! `record`, the output; `connection`, sockets and their traffic; `metering`, counting and adding
//! up; `programs`, which scripts run; `shard`, what the users of one event loop share; `user` and
//! `scripted`, the two kinds of virtual users; `step`, which runs them.

mod clock;
mod connection;
mod error;
mod metering;
pub mod plan;
mod programs;
pub mod record;
mod scripted;
mod shard;
mod step;
mod user;

pub use clock::{Clock, thread_cpu};
pub use connection::{ServerFamily, client, connections_to, ed25519_answer, parsec_answer};
pub use error::{Failure, FailureKind, PlanError};
pub use plan::{GeneralOption, Plan, ScriptSpec};
pub use record::{Next, Record, next_record};
pub use scripted::{ScriptCounts, Servers, ServersHandle, Turns};
pub use step::Drive;
