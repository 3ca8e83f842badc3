//! The records that a host test writes while it runs; the format is documented in `docs/engine.md`.

use crate::error::{Damage, HostError};
use loadstone_measure::{LatencySummary, Nanos, NumberedShare};
use serde::Serialize;

/// A record; each is one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// All threads are ready and start.
    Begun(Begun),
    /// What happened in an interval.
    Sample(Box<Sample>),
    /// The last record.
    End(Box<End>),
}

/// See [`Record::Begun`].
#[derive(Clone, Debug, Serialize)]
pub struct Begun {
    /// The number of threads.
    pub threads: u32,
}

/// The phase of the test that an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the window.
    Warmup,
    /// The measured part.
    Window,
}

/// The work that was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Events that ended.
    pub events: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
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
    /// The phase of the test.
    pub phase: Phase,
    /// Start, in seconds since the start of the test.
    pub from_s: f64,
    /// End, in seconds since the start of the test.
    pub to_s: f64,
    /// Running threads.
    pub threads: u32,
    /// The work of the interval.
    pub done: Done,
    /// The latency of events, from their due time, or from their start if there is no rate.
    pub latency_ns: LatencySummary,
    /// The requested quantile.
    pub quantile_ns: Option<u64>,
    /// With a rate: events that are due and have not started.
    pub waiting: Option<u64>,
    /// With a rate: running events.
    pub in_flight: Option<u32>,
    /// What each thread with events did, if requested.
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
    /// Stopped on request.
    Stopped,
    /// Failed; see the error.
    Failed,
}

/// See [`Record::End`]. Figures cover the window.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// How it ended.
    pub reason: EndReason,
    /// Why it failed, in one line.
    pub error: Option<String>,
    /// The damaged block, if that is the reason.
    pub damage: Option<Damage>,
    /// Length of the window, up to the end of its last event.
    pub seconds: f64,
    /// The work of the window.
    pub done: Done,
    /// The latency of all events together.
    pub latency_ns: LatencySummary,
    /// The requested quantile.
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
    /// An end with nothing to do.
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

    /// The end of a test that could not start.
    pub(crate) fn failed(error: &HostError) -> Self {
        Self {
            reason: EndReason::Failed,
            error: Some(error.to_string()),
            damage: error.damage(),
            ..Self::nothing()
        }
    }
}
