//! The records that a host test writes while it runs; the format is documented in `docs/engine.md`.

use crate::error::{Damage, HostError};
use loadstone_measure::{LatencySummary, Nanos, NumberedShare};
use serde::Serialize;

/// One line of JSON each.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// All threads are there, and begin.
    Begun(Begun),
    /// What happened in an interval.
    Sample(Box<Sample>),
    /// The last record.
    End(Box<End>),
}

/// See [`Record::Begun`].
#[derive(Clone, Debug, Serialize)]
pub struct Begun {
    /// How many threads.
    pub threads: u32,
}

/// Which part of the test an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the window.
    Warmup,
    /// What is measured.
    Window,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Events that ended.
    pub events: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Files synchronised.
    pub syncs: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

impl Done {
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.reads += other.reads;
        self.writes += other.writes;
        self.syncs += other.syncs;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

/// See [`Record::Sample`].
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Part of the test.
    pub phase: Phase,
    /// Begin, seconds since the test began.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Threads that are at work.
    pub threads: u32,
    /// What was done.
    pub done: Done,
    /// Of events: from when they were due, else from when they began.
    pub latency_ns: LatencySummary,
    /// The quantile that was asked for.
    pub quantile_ns: Option<u64>,
    /// With a rate: events that are due and have not begun.
    pub waiting: Option<u64>,
    /// With a rate: events that are under way.
    pub in_flight: Option<u32>,
    /// What each thread did that had events, where that is wanted.
    pub per_thread: Vec<NumberedShare>,
    /// Lines for the latency log.
    pub hlog: Vec<String>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// As planned.
    Finished,
    /// Because it was asked to.
    Stopped,
    /// See the error.
    Failed,
}

/// See [`Record::End`]. Figures are of the window.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// How.
    pub reason: EndReason,
    /// Why, when it failed; one line.
    pub error: Option<String>,
    /// The block that was not as it was written, where that is why.
    pub damage: Option<Damage>,
    /// Length of the window, up to the end of its last event.
    pub seconds: f64,
    /// What was done.
    pub done: Done,
    /// Of all events together.
    pub latency_ns: LatencySummary,
    /// The quantile that was asked for.
    pub quantile_ns: Option<u64>,
    /// The sum of all latencies.
    pub latency_sum_ns: u64,
    /// What each thread did.
    pub threads: Vec<NumberedShare>,
}

pub(crate) fn whole(nanos: Option<Nanos>) -> Option<u64> {
    nanos.map(|nanos| nanos.0)
}

impl End {
    /// Nothing had to be done.
    pub(crate) fn nothing() -> Self {
        Self {
            reason: EndReason::Finished,
            error: None,
            damage: None,
            seconds: 0.0,
            done: Done::default(),
            latency_ns: LatencySummary::default(),
            quantile_ns: None,
            latency_sum_ns: 0,
            threads: Vec::new(),
        }
    }

    /// It could not begin.
    pub(crate) fn failed(error: &HostError) -> Self {
        Self {
            reason: EndReason::Failed,
            error: Some(error.to_string()),
            damage: error.damage(),
            ..Self::nothing()
        }
    }
}
