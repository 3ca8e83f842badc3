//! The open loop: events become due by the schedule, wait in a queue, and are taken by free users.

use crate::metering::ALONE;
use loadstone_measure::Nanos;
use loadstone_workload::WeightedPicker;
use loadstone_workload::arrival::OpenSchedule;
use std::collections::VecDeque;

/// The events of one shard that are due and have not started, and the users that could start one.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    schedule: OpenSchedule,
    /// When the load started, on the step's clock.
    began: Nanos,
    /// Waiting events, oldest first.
    waiting: VecDeque<Due>,
    /// Draws the member of a mix that each event belongs to.
    picker: Option<WeightedPicker>,
    /// How many may wait; any more are skipped, so that no overload exhausts our memory.
    most_waiting: usize,
    /// How long after it was due one may start.
    latest_start: Nanos,
    /// The load is on hold: events that become due are skipped.
    held: bool,
    /// Users that were idle when they were added, longest first; some may have lost their
    /// connection since.
    free: VecDeque<u32>,
}

/// An event that waits for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// When it became due.
    pub(crate) at: Nanos,
    /// The member of a mix.
    pub(crate) member: u16,
}

/// What happened to an event when it became due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// It waits for a user.
    Waits,
    /// Too many wait already, or the load is on hold.
    Skipped,
}

impl OpenLoop {
    pub(crate) fn new(
        schedule: OpenSchedule,
        most_waiting: usize,
        picker: Option<WeightedPicker>,
    ) -> Self {
        let (waiting, free) = (VecDeque::new(), VecDeque::new());
        Self {
            schedule,
            began: Nanos::ZERO,
            waiting,
            picker,
            most_waiting,
            latest_start: Nanos::MAX,
            held: false,
            free,
        }
    }

    /// No event starts later than this after it was due.
    pub(crate) fn with_latest_start(mut self, latest_start: Option<Nanos>) -> Self {
        self.latest_start = latest_start.unwrap_or(Nanos::MAX);
        self
    }

    pub(crate) fn begin(&mut self, at: Nanos) {
        self.began = at;
    }

    /// When the next event is due, on the step's clock.
    pub(crate) fn next_due(&self) -> Nanos {
        self.began + self.schedule.next()
    }

    /// From `now` on, on the step's clock, `rate` events per second are due over all shards.
    pub(crate) fn change_rate(&mut self, now: Nanos, rate: f64) {
        self.schedule.change_rate(now - self.began, rate);
    }

    /// From now on events that become due are skipped, or wait again.
    pub(crate) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// The next event is due. Returns what happens to it, and the member that it belongs to.
    pub(crate) fn admit(&mut self) -> (Admitted, u16) {
        let at = self.next_due();
        self.schedule.advance();
        let member = self.picker.as_mut().map_or(ALONE, WeightedPicker::draw);
        if self.held || self.waiting.len() >= self.most_waiting {
            return (Admitted::Skipped, member);
        }
        self.waiting.push_back(Due { at, member });
        (Admitted::Waits, member)
    }

    /// The event that has waited longest.
    pub(crate) fn take_waiting(&mut self) -> Option<Due> {
        self.waiting.pop_front()
    }

    /// Whether it is too late at `now` to start this event.
    pub(crate) fn is_too_late(&self, due: Due, now: Nanos) -> bool {
        now.since(due.at) > self.latest_start
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The user that has been free longest.
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        self.free.pop_front()
    }

    pub(crate) fn put_free(&mut self, user: u32) {
        self.free.push_back(user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_workload::arrival::{Gaps, RateCurve};

    #[test]
    fn beyond_the_backlog_events_are_skipped_and_the_oldest_goes_first() {
        let curve = RateCurve::new(1000.0, None, Nanos::ZERO);
        let mut open = OpenLoop::new(OpenSchedule::new(curve, Gaps::Even, 0, 0, 1), 2, None);
        open.begin(Nanos::from_millis(100));
        let admitted: Vec<_> = (0..3).map(|_| open.admit().0).collect();
        assert_eq!(admitted, [Admitted::Waits, Admitted::Waits, Admitted::Skipped]);
        assert_eq!(open.next_due(), Nanos::from_millis(103));
        let mut taken = || open.take_waiting().map(|due| due.at);
        assert_eq!(taken(), Some(Nanos::from_millis(100)));
        assert_eq!(taken(), Some(Nanos::from_millis(101)));
        assert!(!open.has_waiting());
    }

    #[test]
    fn an_event_is_late_when_more_than_the_longest_wait_has_passed() {
        let open = |latest: Option<u64>| {
            let curve = RateCurve::new(1000.0, None, Nanos::ZERO);
            OpenLoop::new(OpenSchedule::new(curve, Gaps::Even, 0, 0, 1), 9, None)
                .with_latest_start(latest.map(Nanos::from_millis))
        };
        let due = Due { at: Nanos::from_millis(10), member: ALONE };
        let is_late = |latest, now| open(latest).is_too_late(due, Nanos::from_millis(now));
        assert_eq!([is_late(Some(5), 15), is_late(Some(5), 16)], [false, true]);
        assert!(!is_late(Some(5), 9) && !is_late(None, 1_000_000));
    }

    #[test]
    fn while_the_load_is_held_events_are_due_and_skipped() {
        let curve = RateCurve::new(1000.0, None, Nanos::ZERO);
        let mut open = OpenLoop::new(OpenSchedule::new(curve, Gaps::Even, 0, 0, 1), 9, None);
        open.hold(true);
        assert_eq!([open.admit().0, open.admit().0], [Admitted::Skipped; 2]);
        open.hold(false);
        assert_eq!(open.admit().0, Admitted::Waits);
        assert_eq!(open.take_waiting().map(|due| due.at), Some(Nanos::from_millis(2)));
    }
}
