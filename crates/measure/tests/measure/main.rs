//! Latencies compared with the recorded values, and with other tools.

mod interval_log;
mod latency;
