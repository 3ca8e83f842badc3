//! Drives load: a thread per shard, an epoll loop in each, any number of virtual users on it.
//!
//! [`Plan`] says what to do and [`Drive`] does it; what happens comes as [`Record`]s. Whoever talks to a
//! server one statement at a time, as the loader of tables does, uses [`client`]. The crate knows no
//! Python, no file and no report.
//!
//! Its modules, each of which uses only those before it: `error` and `clock`; `plan`, what is asked;
//! `record`, what is answered; `connection`, sockets and what travels on them; `metering`, counting and
//! adding up; `shard`, what the users of one event loop share; `user` and `scripted`, the two sorts of
//! virtual users; `step`, which puts them to work.

mod allocator;
mod clock;
mod connection;
mod error;
mod metering;
pub mod plan;
pub mod record;
mod scripted;
mod shard;
mod step;
mod user;

pub use allocator::{Allocator, keep_large_blocks_apart};
pub use clock::{Clock, thread_cpu};
pub use connection::{ServerFamily, client};
pub use error::{Failure, FailureKind, PlanError};
pub use plan::{GeneralOption, Plan, ScriptSpec};
pub use record::{Next, Record, next_record};
pub use scripted::{Servers, ServersHandle};
pub use step::Drive;
