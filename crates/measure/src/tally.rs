//! Event counters, and the invariant that they keep.

use serde::{Deserialize, Serialize};

/// The state of all events of a load.
///
/// `due == waiting + started + skipped` and `started == in_flight + succeeded + failed`, at every
/// instant. The methods keep this invariant; [`Tally::balances`] checks it at every interval and
/// over hosts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Events that became due.
    pub due: u64,
    /// Due, but no virtual user was free yet.
    pub waiting: u64,
    /// Started events.
    pub started: u64,
    /// Due, but abandoned before they started.
    pub skipped: u64,
    /// Started and not finished.
    pub in_flight: u64,
    /// Finished successfully.
    pub succeeded: u64,
    /// Finished with an error.
    pub failed: u64,
}

impl Tally {
    /// An event becomes due: it waits.
    pub fn became_due(&mut self) {
        self.due += 1;
        self.waiting += 1;
    }

    /// A waiting event starts.
    ///
    /// # Panics
    /// If none waits: that is a bug in the caller, and counting on would hide it.
    pub fn start(&mut self) {
        take_one(&mut self.waiting, "start() without a waiting event");
        self.started += 1;
        self.in_flight += 1;
    }

    /// A waiting event is abandoned.
    ///
    /// # Panics
    /// If none waits.
    pub fn skip(&mut self) {
        take_one(&mut self.waiting, "skip() without a waiting event");
        self.skipped += 1;
    }

    /// An event in flight succeeded.
    ///
    /// # Panics
    /// If none is in flight.
    pub fn succeed(&mut self) {
        take_one(&mut self.in_flight, "succeed() without an event in flight");
        self.succeeded += 1;
    }

    /// An event in flight failed.
    ///
    /// # Panics
    /// If none is in flight.
    pub fn fail(&mut self) {
        take_one(&mut self.in_flight, "fail() without an event in flight");
        self.failed += 1;
    }

    /// Whether the invariant above holds.
    #[must_use]
    pub fn balances(&self) -> bool {
        equals_sum(self.due, [self.waiting, self.started, self.skipped])
            && equals_sum(self.started, [self.in_flight, self.succeeded, self.failed])
    }

    /// Adds another shard's or host's tally.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.waiting += other.waiting;
        self.started += other.started;
        self.skipped += other.skipped;
        self.in_flight += other.in_flight;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
    }
}

fn take_one(counter: &mut u64, fault: &str) {
    assert!(*counter > 0, "{fault}");
    *counter -= 1;
}

/// Adds in 128 bits, so that a record from a damaged file cannot balance by wrapping around.
fn equals_sum(whole: u64, parts: [u64; 3]) -> bool {
    u128::from(whole) == parts.into_iter().map(u128::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs the action if it is possible now; returns whether it was.
    fn act(tally: &mut Tally, action: u8) -> bool {
        match action {
            0 => tally.became_due(),
            1 if tally.waiting > 0 => tally.start(),
            2 if tally.waiting > 0 => tally.skip(),
            3 if tally.in_flight > 0 => tally.succeed(),
            4 if tally.in_flight > 0 => tally.fail(),
            _ => return false,
        }
        true
    }

    proptest! {
        #[test]
        fn the_law_holds_after_any_actions(actions in proptest::collection::vec(0u8..5, 0..200)) {
            let (mut tally, mut whole) = (Tally::default(), Tally::default());
            for action in actions {
                act(&mut tally, action);
                prop_assert!(tally.balances());
            }
            whole.add(&tally);
            whole.add(&tally);
            prop_assert!(whole.balances());
            prop_assert_eq!(whole.due, 2 * tally.due);
        }
    }

    #[test]
    fn a_tally_that_lost_an_event_does_not_balance() {
        let tally = Tally { due: 3, waiting: 1, started: 1, in_flight: 1, ..Tally::default() };
        assert!(!tally.balances());
        let wrapped = Tally { due: 0, waiting: u64::MAX, skipped: 1, ..Tally::default() };
        assert!(!wrapped.balances());
    }

    #[test]
    #[should_panic(expected = "succeed() without an event in flight")]
    fn success_of_nothing_is_a_bug() {
        Tally::default().succeed();
    }
}
