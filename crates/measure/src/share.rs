//! The events of one user or thread among many: how many, and how long they took.

use crate::Nanos;
use serde::{Serialize, Serializer};

/// The events that one of many users or threads completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of events.
    pub events: u64,
    /// The sum of the response times.
    pub busy: Nanos,
    /// The least response time; zero if there are no events.
    pub least: Nanos,
    /// The greatest response time.
    pub greatest: Nanos,
}

impl Share {
    /// Adds one event.
    pub fn add_event(&mut self, response: Nanos) {
        self.least = if self.events == 0 { response } else { self.least.min(response) };
        self.greatest = self.greatest.max(response);
        self.busy += response;
        self.events += 1;
    }

    /// Adds another share of the same user or thread.
    pub fn add(&mut self, other: &Self) {
        self.least = match (self.events, other.events) {
            (_, 0) => self.least,
            (0, _) => other.least,
            _ => self.least.min(other.least),
        };
        self.greatest = self.greatest.max(other.greatest);
        self.busy += other.busy;
        self.events += other.events;
    }
}

/// A user's or thread's number and share, written as one short row: there may be thousands in each
/// sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedShare(pub u64, pub Share);

impl Serialize for NumberedShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(number, share) = self;
        (number, share.events, share.busy.0, share.least.0, share.greatest.0).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole_and_nothing_is_no_least_time() {
        let of = |times: &[u64]| {
            let mut share = Share::default();
            times.iter().for_each(|&time| share.add_event(Nanos(time)));
            share
        };
        for (first, second) in [(&[5, 3][..], &[4, 9][..]), (&[], &[7]), (&[7], &[]), (&[], &[])] {
            let mut sum = of(first);
            sum.add(&of(second));
            assert_eq!(sum, of(&[first, second].concat()));
        }
        assert_eq!(of(&[5, 3]).least, Nanos(3));
    }
}
