//! An interval: what one shard counted in a second, or in what is left of one.

use super::commands::ByCommand;
use super::pauses::Pause;
use super::spares::Spares;
use crate::record::{
    Counts, EventRow, FirstError, IdleCounts, PhaseName, TargetCounts, WorkCounts,
};
use loadstone_measure::{Latency, LatencyRecorder, Nanos, Share, Tally};
use loadstone_protocol::Code;
use loadstone_workload::Entries;
use std::collections::BTreeMap;

/// What one member of a mix did in an interval; its tally counts since the start of the load.
#[derive(Debug, Default)]
pub(crate) struct OfMember<T> {
    pub(crate) tally: Tally,
    pub(crate) counts: WorkCounts,
    pub(crate) errors: BTreeMap<Code, u64>,
    pub(crate) response: T,
    pub(crate) service: T,
    pub(crate) unfinished: Unfinished<T>,
}

/// How old events were at the window's end that were due and had not ended.
#[derive(Debug, Default)]
pub(crate) struct Unfinished<T> {
    /// Since they were due. `None` until there is one: most intervals have none.
    pub(crate) response: Option<T>,
    /// Since they were sent, of those that were in flight.
    pub(crate) service: Option<T>,
}

impl<T> Unfinished<T> {
    /// Those that there are.
    pub(crate) fn into_all(self) -> impl Iterator<Item = T> {
        self.response.into_iter().chain(self.service)
    }
}

impl Unfinished<LatencyRecorder> {
    /// An event that was due since `response` and in flight since `service`, if it was.
    pub(crate) fn record(&mut self, response: Nanos, service: Option<Nanos>, spares: &Spares) {
        self.response.get_or_insert_with(|| spares.recorder()).record(response);
        if let Some(service) = service {
            self.service.get_or_insert_with(|| spares.recorder()).record(service);
        }
    }

    fn take(&mut self) -> Unfinished<Latency> {
        Unfinished {
            response: self.response.take().map(LatencyRecorder::finish),
            service: self.service.take().map(LatencyRecorder::finish),
        }
    }
}

impl OfMember<LatencyRecorder> {
    /// Takes everything; the interval's own figures start again from zero.
    pub(crate) fn take(&mut self, spares: &Spares) -> OfMember<Latency> {
        OfMember {
            tally: self.tally,
            counts: std::mem::take(&mut self.counts),
            errors: std::mem::take(&mut self.errors),
            response: spares.swap(&mut self.response),
            service: spares.swap(&mut self.service),
            unfinished: self.unfinished.take(),
        }
    }
}

impl<T> OfMember<T> {
    /// All its recorders, in no order that means anything.
    pub(crate) fn into_all(self) -> impl Iterator<Item = T> {
        [self.response, self.service].into_iter().chain(self.unfinished.into_all())
    }
}

/// The recorders of one interval.
#[derive(Debug, Default)]
pub(crate) struct Latencies<T> {
    pub(crate) response: T,
    pub(crate) service: T,
    pub(crate) read: T,
    pub(crate) write: T,
    pub(crate) other: T,
    /// From sending what is sent at once to its last answer, where several statements may be.
    pub(crate) flight: T,
    /// Start minus due time, whatever the reason.
    pub(crate) late: T,
    /// Start minus due time of events for which a user was free.
    pub(crate) dispatch: T,
    pub(crate) held: T,
    /// How long opening a connection took under load.
    pub(crate) connect: T,
    pub(crate) errors: BTreeMap<Code, T>,
    /// Response times by kind of event, where a workload has several.
    pub(crate) kinds: BTreeMap<&'static str, T>,
    pub(crate) unfinished: Unfinished<T>,
}

impl Latencies<LatencyRecorder> {
    /// Takes what the interval recorded; the next one goes on in spare histograms.
    pub(crate) fn take(&mut self, spares: &Spares) -> Latencies<Latency> {
        Latencies {
            response: spares.swap(&mut self.response),
            service: spares.swap(&mut self.service),
            read: spares.swap(&mut self.read),
            write: spares.swap(&mut self.write),
            other: spares.swap(&mut self.other),
            flight: spares.swap(&mut self.flight),
            late: spares.swap(&mut self.late),
            dispatch: spares.swap(&mut self.dispatch),
            held: spares.swap(&mut self.held),
            connect: spares.swap(&mut self.connect),
            errors: std::mem::take(&mut self.errors)
                .into_iter()
                .map(|(code, recorder)| (code, recorder.finish()))
                .collect(),
            kinds: self
                .kinds
                .iter_mut()
                .map(|(kind, recorder)| (*kind, spares.swap(recorder)))
                .collect(),
            unfinished: self.unfinished.take(),
        }
    }
}

impl<T> Latencies<T> {
    /// All of them, in no order that means anything.
    pub(crate) fn into_all(self) -> impl Iterator<Item = T> {
        let Self { response, service, late, dispatch, held, connect, .. } = self;
        [response, service, self.read, self.write, self.other, self.flight]
            .into_iter()
            .chain([late, dispatch, held, connect])
            .chain(self.errors.into_values())
            .chain(self.kinds.into_values())
            .chain(self.unfinished.into_all())
    }
}

/// The number of this shard's connected users changed.
#[derive(Clone, Debug)]
pub(crate) struct Connectivity {
    pub(crate) at: Nanos,
    /// Users without a connection.
    pub(crate) down: u64,
    /// Why a connection was lost, if one was.
    pub(crate) reason: Option<String>,
}

/// One interval of one shard. Times are since the start of the load.
#[derive(Debug)]
pub(crate) struct Interval {
    pub(crate) index: u64,
    pub(crate) phase: PhaseName,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    pub(crate) tally: Tally,
    pub(crate) counts: Counts,
    pub(crate) errors: BTreeMap<Code, u64>,
    pub(crate) connect_failures: BTreeMap<Code, u64>,
    pub(crate) targets: Vec<TargetCounts>,
    pub(crate) idle: IdleCounts,
    /// The members of a mix, in the plan's order.
    pub(crate) members: Vec<OfMember<Latency>>,
    /// Each user's share, by its place in the shard; empty unless requested.
    pub(crate) users: Vec<Share>,
    /// Users' pauses that are over.
    pub(crate) pauses: Vec<Pause>,
    /// The outcome of the entries of users that wrote some, by place in the shard.
    pub(crate) entries: BTreeMap<u32, Entries>,
    /// Figures by command; empty unless requested.
    pub(crate) commands: ByCommand,
    /// Events that have ended, by place in the shard; empty unless requested.
    pub(crate) event_log: Vec<EventRow>,
    pub(crate) latencies: Latencies<Latency>,
    /// Response times that equal service times; they are in neither of these two.
    pub(crate) punctual: Latency,
    /// Where all these histograms go when they were added up.
    pub(crate) spares: Spares,
    pub(crate) first_errors: Vec<FirstError>,
    pub(crate) connectivity: Vec<Connectivity>,
    pub(crate) cpu: Nanos,
    /// How long the thread was ready to run without running; `None` where the kernel does not say.
    pub(crate) run_delay: Option<Nanos>,
}
