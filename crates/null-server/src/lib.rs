//! A MySQL or PostgreSQL server without a database: it answers at once from prepared bytes, and on request of its
//! script waits, stalls, slows down, splits, drops and fails. It measures load generators, and its
//! log of timestamps gives tests the true latencies.
//!
//! [`NullServer::start`] takes [`Settings`] and serves from one thread until it is stopped. It is
//! also available as a program, `loadstone-null-server`. Over the protocol, `SHOW NULL STATUS`
//! returns the counters, `FLUSH NULL STATUS` resets counters and log and restarts the script's
//! time, and `SET NULL SCRIPT {...}` replaces the script.

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
mod postgres_catalog;
mod postgres_commands;
mod postgres_login;
mod postgres_messages;
mod postgres_session;
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
pub use settings::{Auth, Protocol, Settings, TlsFiles};
pub use stats::Stats;
