//! What the threads count, and how it gets to whoever looks once a second.

use crate::record::{Done, ThreadTotals};
use loadstone_measure::{Latency, LatencyRecorder, Nanos};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// One for all threads of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Since the test began.
    pub(crate) fn now(self) -> Nanos {
        Nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// What threads have put down since somebody looked.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Interval>);

/// What was done in an interval.
#[derive(Debug, Default)]
struct Interval {
    done: Done,
    latency: LatencyRecorder,
}

impl Slot {
    /// Adds what is here to the sums, and begins anew.
    pub(crate) fn drain_into(&self, done: &mut Done, latency: &mut Latency) {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        done.add(&std::mem::take(&mut interval.done));
        interval.latency.drain_into(latency);
    }
}

/// Events of a few hundred nanoseconds must not pay for a lock each.
const KEPT: usize = 256;
/// Nor may long ones be told late.
const LONGEST_KEPT: Nanos = Nanos::from_millis(1);

/// One thread's counters.
pub(crate) struct Meter {
    clock: Clock,
    slot: Arc<Slot>,
    done: Done,
    latencies: Vec<Nanos>,
    put_down: Nanos,
    totals: ThreadTotals,
}

impl Meter {
    pub(crate) fn new(clock: Clock, slot: Arc<Slot>) -> Self {
        Self {
            clock,
            slot,
            done: Done::default(),
            latencies: Vec::with_capacity(KEPT),
            put_down: Nanos::ZERO,
            totals: ThreadTotals::default(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// An event that was due, or began, at `from` has ended. Returns the time.
    #[inline]
    pub(crate) fn event(&mut self, from: Nanos, done: &Done) -> Nanos {
        let now = self.clock.now();
        let latency = now - from;
        self.done.add(done);
        self.done.events += 1;
        self.totals.events += 1;
        self.totals.latency_ns += latency.0;
        self.latencies.push(latency);
        if self.latencies.len() == KEPT || now - self.put_down >= LONGEST_KEPT {
            self.put_down(now);
        }
        now
    }

    /// Something was done that is no event.
    pub(crate) fn beside(&mut self, done: &Done) {
        self.done.add(done);
    }

    fn put_down(&mut self, now: Nanos) {
        self.put_down = now;
        let mut interval = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        interval.done.add(&std::mem::take(&mut self.done));
        for latency in self.latencies.drain(..) {
            interval.latency.record(latency);
        }
    }

    /// Everything is put down; what the thread did in all.
    pub(crate) fn finish(mut self) -> ThreadTotals {
        let now = self.clock.now();
        self.put_down(now);
        self.totals
    }
}
