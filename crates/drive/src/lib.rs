//! Drives load: a thread per shard, an epoll loop in each, any number of virtual users on it.
//!
//! [`Plan`] says what to do and [`Drive`] does it; [`LoadPlan`](load::LoadPlan) and
//! [`Load`](load::Load) fill tables. What happens comes as [`Record`]s. The crate knows no Python,
//! no file and no report.

mod blocks;
mod cast;
mod channel;
mod ciphers;
mod client;
mod clock;
mod connecting;
mod connection;
mod control;
mod coordinator;
mod core;
mod drive;
mod endpoint;
mod error;
mod idle;
mod interval;
pub mod load;
mod loss;
mod member;
mod merge;
mod meter;
mod open_loop;
mod opening;
mod outages;
mod outbox;
mod pacing;
mod pauses;
mod plan;
mod poller;
mod pulse;
mod ramp;
pub mod record;
mod run_queue;
mod scheduling;
mod scripted;
mod shard;
mod ticks;
mod timers;
mod tls;
mod transport;
mod user;

pub use blocks::{Allocator, keep_large_blocks_apart};
pub use drive::{Drive, Heard};
pub use error::{Failure, FailureKind, PlanError};
pub use plan::Plan;
pub use record::Record;
pub use scripted::{GeneralOption, ScriptSpec, Servers, ServersHandle};
