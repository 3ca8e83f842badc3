//! A MySQL server without a database: it answers at once from prepared bytes, and on script waits,
//! stalls, slows, splits, drops and fails. It measures load generators, and its log of stamps tells
//! tests the truth about latencies.
//!
//! [`NullServer::start`] takes [`Settings`] and serves from one thread until it is stopped. The
//! same comes as a program, `loadstone-null-server`. Over the protocol, `SHOW NULL STATUS` gives the
//! counters, `FLUSH NULL STATUS` begins them, the log and the script's time anew, and
//! `SET NULL SCRIPT {...}` takes another script.

mod administration;
mod answer;
mod clock;
mod commands;
mod connection;
mod core;
mod encryption;
mod error;
mod greeting;
mod handle;
mod library;
mod listeners;
mod log;
mod packet;
mod poller;
mod random;
mod rows;
mod script;
mod scripted_faults;
mod server;
mod service;
mod settings;
mod sql;
mod stats;
mod timers;
mod tls;

pub use error::NullServerError;
pub use handle::NullServer;
pub use log::{Kind, Log, MAGIC, Outcome, RECORD_BYTES, Record};
pub use script::{Accept, Drop, ErrorRule, Origin, Pieces, Refuse, Script, Stall, Who};
pub use server::Outcome as Served;
pub use service::Service;
pub use settings::{Auth, Settings, TlsFiles};
pub use stats::Stats;
