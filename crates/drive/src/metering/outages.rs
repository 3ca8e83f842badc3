//! Finds outages: from the first user that loses its connection to the moment when all users are
//! connected again.

use super::interval::Connectivity;
use crate::record::{Outage, Seconds};
use loadstone_measure::Nanos;

#[derive(Debug)]
pub(crate) struct Outages {
    /// Users without a connection, by shard.
    down: Vec<u64>,
    current: Option<Outage>,
}

impl Outages {
    pub(crate) fn new(shards: usize) -> Self {
        Self { down: vec![0; shards], current: None }
    }

    /// Processes one interval's events, as pairs of shard and event; returns the outages that
    /// ended.
    pub(crate) fn follow(&mut self, mut events: Vec<(usize, Connectivity)>) -> Vec<Outage> {
        events.sort_by_key(|(_, event)| event.at);
        events.into_iter().filter_map(|(shard, event)| self.take(shard, event)).collect()
    }

    /// The outage that the step's end cut off.
    pub(crate) fn unfinished(&mut self) -> Option<Outage> {
        self.current.take()
    }

    fn take(&mut self, shard: usize, event: Connectivity) -> Option<Outage> {
        self.down[shard] = event.down;
        let users: u64 = self.down.iter().sum();
        if users == 0 {
            let over = self.current.take()?;
            return Some(Outage { to_s: Some(Seconds(event.at)), ..over });
        }
        let current = self.current.get_or_insert_with(|| begun(event.at, event.reason));
        current.users = current.users.max(users);
        None
    }
}

fn begun(at: Nanos, reason: Option<String>) -> Outage {
    Outage { from_s: Seconds(at), to_s: None, users: 0, reason: reason.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ms: u64, down: u64, reason: Option<&str>) -> Connectivity {
        Connectivity { at: Nanos::from_millis(at_ms), down, reason: reason.map(str::to_owned) }
    }

    #[test]
    fn an_outage_lasts_from_the_first_loss_to_the_last_return_over_all_shards() {
        let mut outages = Outages::new(2);
        let begun = outages.follow(vec![
            (1, event(20, 1, Some("later"))),
            (0, event(10, 1, Some("first"))),
            (0, event(30, 0, None)),
        ]);
        assert!(begun.is_empty());
        let over = outages.follow(vec![(1, event(2_000, 0, None))]);
        assert_eq!(over.len(), 1);
        assert_eq!((over[0].users, over[0].reason.as_str()), (2, "first"));
        assert_eq!(over[0].from_s, Seconds(Nanos::from_millis(10)));
        assert_eq!(over[0].to_s, Some(Seconds(Nanos::from_millis(2_000))));
        assert!(outages.unfinished().is_none());
    }

    #[test]
    fn an_outage_that_the_end_cuts_off_has_no_end() {
        let mut outages = Outages::new(1);
        outages.follow(vec![(0, event(5, 3, Some("gone")))]);
        assert_eq!(outages.unfinished().map(|o| (o.users, o.to_s)), Some((3, None)));
    }
}
