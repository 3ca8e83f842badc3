//! The timers of a null server, soonest first; of two at the same time, the one set first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What comes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The connection with this token continues answering.
    Answer(u64),
    /// Connections are dropped by this rule.
    Drop { rule: usize, script: u64 },
    /// Accepting resumes.
    Accept,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64, Alarm)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, at_ns: u64, alarm: Alarm) {
        self.set += 1;
        self.heap.push(Reverse((at_ns, self.set, alarm)));
    }

    /// When the next one comes.
    pub(crate) fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes out the next one that is due by `now`.
    pub(crate) fn pop(&mut self, now: u64) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, alarm))| alarm)
    }
}
