//! The timers of a shard, soonest first.

use loadstone_measure::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Why a user is woken. A timer is a hint: the user checks that it still applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// Its next event is due.
    Due,
    /// It may try to connect again.
    Retry,
    /// Its attempt to connect takes too long.
    ConnectTimeout,
    /// Its script's sleep is over.
    Slept,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u32, Alarm)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Nanos, user: u32, alarm: Alarm) {
        self.heap.push(Reverse((at, user, alarm)));
    }

    /// When the next one comes.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes out the next one that is due by `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<(u32, Alarm)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, user, alarm))| (user, alarm))
    }
}
