//! Counters of the test's threads, and their way to the coordinator once a second.

use crate::record::Done;
use loadstone_measure::{Latency, LatencyRecorder, Nanos, Share};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// All threads of a test share one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Time since the test started.
    pub(crate) fn now(self) -> Nanos {
        Nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// What some threads have recorded since the last drain.
#[derive(Debug)]
pub(crate) struct Slot(Mutex<Interval>);

/// What was done in an interval.
#[derive(Debug)]
struct Interval {
    done: Done,
    latency: LatencyRecorder,
    /// The shares by thread.
    shares: Vec<Share>,
}

impl Slot {
    /// A slot for this many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self(Mutex::new(Interval {
            done: Done::default(),
            latency: LatencyRecorder::new(),
            shares: vec![Share::default(); threads],
        }))
    }

    /// Adds the interval to the sums and starts again; returns what each thread did.
    pub(crate) fn drain_into(&self, done: &mut Done, latency: &mut Latency) -> Vec<Share> {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        done.add(&std::mem::take(&mut interval.done));
        interval.latency.drain_into(latency);
        let none = vec![Share::default(); interval.shares.len()];
        std::mem::replace(&mut interval.shares, none)
    }
}

/// Events are handed over in batches: at a few hundred nanoseconds each, a lock per event would
/// cost too much.
const KEPT: usize = 256;
/// Long events must not be reported late either.
const LONGEST_KEPT: Nanos = Nanos::from_millis(1);

/// One thread's counters.
pub(crate) struct Meter {
    clock: Clock,
    slot: Arc<Slot>,
    /// The thread's place in its slot.
    place: usize,
    done: Done,
    latencies: Vec<Nanos>,
    put_down: Nanos,
    share: Share,
}

impl Meter {
    pub(crate) fn new(clock: Clock, slot: Arc<Slot>, place: usize) -> Self {
        Self {
            clock,
            slot,
            place,
            done: Done::default(),
            latencies: Vec::with_capacity(KEPT),
            put_down: Nanos::ZERO,
            share: Share::default(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// An event that was due, or started, at `from` has ended. Returns the time.
    #[inline]
    pub(crate) fn event(&mut self, from: Nanos, done: &Done) -> Nanos {
        let now = self.clock.now();
        let latency = now - from;
        self.done.add(done);
        self.done.events += 1;
        self.share.add_event(latency);
        self.latencies.push(latency);
        if self.latencies.len() == KEPT || now - self.put_down >= LONGEST_KEPT {
            self.put_down(now);
        }
        now
    }

    /// Records something that is not an event.
    pub(crate) fn beside(&mut self, done: &Done) {
        self.done.add(done);
    }

    fn put_down(&mut self, now: Nanos) {
        self.put_down = now;
        let mut interval = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        interval.done.add(&std::mem::take(&mut self.done));
        if let Some(share) = interval.shares.get_mut(self.place) {
            share.add(&std::mem::take(&mut self.share));
        }
        for latency in self.latencies.drain(..) {
            interval.latency.record(latency);
        }
    }

    /// Hands over what is left.
    pub(crate) fn finish(mut self) {
        let now = self.clock.now();
        self.put_down(now);
    }
}
