//! A row for each event, or for a share of them, if the plan asks for it.

use crate::record::{EventRow, Outcome};
use loadstone_measure::Nanos;
use loadstone_workload::random::{Purpose, Random};

/// An event that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedEvent {
    /// The user's place in the shard.
    pub(crate) user: u32,
    /// The member of a mix.
    pub(crate) member: u16,
    /// When it ended, since 1970.
    pub(crate) end_unix_us: u64,
    /// Since it was due.
    pub(crate) latency: Nanos,
    /// Open loop: when it started, since it was due.
    pub(crate) lag: Option<Nanos>,
    /// How often it was started.
    pub(crate) tries: u32,
    pub(crate) outcome: Outcome,
}

/// The events of a shard's users.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// How many events of each user have ended.
    numbers: Vec<u64>,
    /// The share of events that is kept.
    share: f64,
    random: Random,
    /// With the users' places in the shard.
    rows: Vec<EventRow>,
}

impl EventLog {
    /// Of this many users. Each shard, with a number of its own, draws which events are kept.
    pub(crate) fn new(users: usize, share: f64, seed: u64, shard: u64) -> Self {
        let random = Random::new(seed, Purpose::Samples, &[shard]);
        Self { numbers: vec![0; users], share, random, rows: Vec::new() }
    }

    /// An event has ended.
    pub(crate) fn ended(&mut self, event: &EndedEvent) {
        let Some(number) = self.numbers.get_mut(event.user as usize) else { return };
        *number += 1;
        if self.share < 1.0 && self.random.unit() >= self.share {
            return;
        }
        let micros = |nanos: Nanos| nanos.0 / 1_000;
        let EndedEvent { user, member, end_unix_us, latency, lag, tries, outcome } = *event;
        let (latency, lag) = (micros(latency), lag.map(micros));
        let user = u64::from(user);
        self.rows.push(EventRow(user, *number, member, end_unix_us, latency, lag, tries, outcome));
    }

    /// Takes the rows of the interval.
    pub(crate) fn take(&mut self) -> Vec<EventRow> {
        std::mem::take(&mut self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(user: u32) -> EndedEvent {
        let (latency, lag) = (Nanos(5_000), Some(Nanos(1_999)));
        let (end_unix_us, outcome) = (9, Outcome::Ok);
        EndedEvent { user, member: 3, end_unix_us, latency, lag, tries: 2, outcome }
    }

    #[test]
    fn each_user_counts_its_own_events_over_all_intervals() {
        let mut log = EventLog::new(2, 1.0, 7, 0);
        [0, 1, 1].into_iter().for_each(|user| log.ended(&event(user)));
        let row = |user, number| EventRow(user, number, 3, 9, 5, Some(1), 2, Outcome::Ok);
        assert_eq!(log.take(), [row(0, 1), row(1, 1), row(1, 2)]);
        log.ended(&event(1));
        assert_eq!(log.take(), [row(1, 3)]);
        let json = serde_json::to_string(&row(1, 3)).expect("JSON");
        assert_eq!(json, r#"[1,3,3,9,5,1,2,"ok"]"#);
    }

    #[test]
    fn a_share_of_the_events_is_kept_and_all_are_numbered() {
        let mut log = EventLog::new(1, 0.1, 7, 0);
        (0..10_000).for_each(|_| log.ended(&event(0)));
        let numbers: Vec<u64> = log.take().iter().map(|row| row.1).collect();
        // Binomial with 0.1: six standard deviations are 180.
        assert!(numbers.len().abs_diff(1_000) < 180, "{}", numbers.len());
        assert!(numbers.is_sorted() && numbers.last().is_some_and(|last| *last > 9_000));
    }
}
