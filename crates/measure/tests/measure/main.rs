//! Latencies against the values that went in, and against other tools.

mod interval_log;
mod latency;
