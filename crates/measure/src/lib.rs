//! Counters that keep an invariant, latency histograms, and the interval log that stores them.
//!
//! Nothing here reads a clock, opens a file or knows a thread: time is an argument, and every type is
//! plain data that one thread fills and another merges.

pub mod hlog;
mod latency;
mod nanos;
mod share;
mod stored;
mod tally;

pub use latency::{HIGHEST_TRACKABLE, Latency, LatencyRecorder, LatencySummary};
pub use nanos::Nanos;
pub use share::{NumberedShare, Share};
pub use tally::Tally;
