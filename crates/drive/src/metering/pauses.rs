//! Pauses: times in which a user completed no event. They show what an outage means for each user.

use loadstone_measure::Nanos;

/// The time between two successes of a user, or from its last success to the step's end. Times are
/// since the start of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Its place in the shard.
    pub(crate) user: u32,
    /// The last success before it; the start of the load if there was none.
    pub(crate) from: Nanos,
    /// The first success after it; `None` if the step ended first.
    pub(crate) to: Option<Nanos>,
}

/// Watches all users of a shard, if requested.
#[derive(Debug)]
pub(crate) struct Pauses {
    least: Nanos,
    users: Vec<Since>,
    over: Vec<Pause>,
}

/// What a user has encountered since its last success.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    succeeded: Nanos,
    lost: bool,
    failed: bool,
}

impl Pauses {
    /// Watches this many users. Reports pauses of `least` and longer in which an event failed or
    /// that an event waited through, and pauses of any length in which the connection was lost.
    pub(crate) fn new(least: Nanos, users: usize) -> Self {
        Self { least, users: vec![Since::default(); users], over: Vec::new() }
    }

    /// A user has completed an event, `response` after it was due.
    pub(crate) fn succeeded(&mut self, user: u32, at: Nanos, response: Nanos) {
        let Some(since) = self.users.get_mut(user as usize) else { return };
        let from = since.succeeded;
        // A user that had nothing to do for a while did not wait for anything.
        let waited = at - from >= self.least && (since.failed || response >= self.least);
        if since.lost || waited {
            self.over.push(Pause { user, from, to: Some(at) });
        }
        *since = Since { succeeded: at, ..Since::default() };
    }

    /// The user's connection is gone, or the step ends while an event of it is unanswered.
    pub(crate) fn lost(&mut self, user: u32) {
        if let Some(since) = self.users.get_mut(user as usize) {
            since.lost = true;
        }
    }

    /// An event of the user was abandoned.
    pub(crate) fn failed(&mut self, user: u32) {
        if let Some(since) = self.users.get_mut(user as usize) {
            since.failed = true;
        }
    }

    /// Takes the pauses that ended since the last call.
    pub(crate) fn take(&mut self) -> Vec<Pause> {
        std::mem::take(&mut self.over)
    }

    /// The step ends at `at`: pauses that last until now have no end.
    pub(crate) fn end(&mut self, at: Nanos) {
        for (user, since) in self.users.iter().enumerate() {
            let failed_for_long = since.failed && at.since(since.succeeded) >= self.least;
            if since.lost || failed_for_long {
                let user = u32::try_from(user).unwrap_or(u32::MAX);
                self.over.push(Pause { user, from: since.succeeded, to: None });
            }
        }
        self.users.fill(Since { succeeded: at, ..Since::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Nanos = Nanos::from_millis(1_000);

    fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn pauses() -> Pauses {
        let mut pauses = Pauses::new(LEAST, 2);
        pauses.succeeded(1, ms(100), ms(1));
        pauses
    }

    fn told(pauses: &mut Pauses) -> Vec<(u32, Nanos, Option<Nanos>)> {
        pauses.take().into_iter().map(|pause| (pause.user, pause.from, pause.to)).collect()
    }

    #[test]
    fn a_lost_connection_makes_a_pause_from_the_last_success_to_the_next() {
        let mut pauses = pauses();
        pauses.lost(1);
        assert!(pauses.take().is_empty(), "it is not over");
        pauses.succeeded(1, ms(250), ms(140));
        assert_eq!(told(&mut pauses), [(1, ms(100), Some(ms(250)))]);
        pauses.succeeded(1, ms(260), ms(5));
        assert!(pauses.take().is_empty(), "told once");
    }

    #[test]
    fn a_long_wait_is_a_pause_and_having_nothing_to_do_is_none() {
        let mut pauses = pauses();
        pauses.succeeded(1, ms(5_000), ms(2));
        pauses.succeeded(1, ms(6_500), ms(1_500));
        assert_eq!(told(&mut pauses), [(1, ms(5_000), Some(ms(6_500)))]);
    }

    #[test]
    fn refusals_make_a_pause_where_they_go_on_for_long() {
        let mut pauses = pauses();
        pauses.failed(1);
        pauses.succeeded(1, ms(200), ms(1));
        assert!(pauses.take().is_empty());
        pauses.failed(1);
        pauses.succeeded(1, ms(1_300), ms(1));
        assert_eq!(told(&mut pauses), [(1, ms(200), Some(ms(1_300)))]);
    }

    #[test]
    fn what_is_not_over_at_the_end_has_no_end() {
        let mut pauses = pauses();
        pauses.lost(1);
        pauses.end(ms(900));
        assert_eq!(told(&mut pauses), [(1, ms(100), None)]);
        pauses.end(ms(950));
        assert!(pauses.take().is_empty());
    }
}
