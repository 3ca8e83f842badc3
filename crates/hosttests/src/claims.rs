//! Claims of events: which thread may start one, and when it is due.

use crate::plan::HostPlan;
use loadstone_measure::Nanos;
use loadstone_workload::Arrival;
use loadstone_workload::arrival::{Gaps, OpenSchedule};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many events a thread claims at once if there are very many.
const BATCH: u64 = 1024;
/// A limit above this counts as very many events.
const VERY_MANY: u64 = 1_000_000;

/// Shared by all threads of a test.
pub(crate) struct Claims {
    stop: AtomicBool,
    /// Events that are not claimed yet; `None`: no limit.
    left: Option<AtomicU64>,
    batch: u64,
    schedule: Option<Mutex<Schedule>>,
    /// With a rate: the number of threads that are running an event.
    busy: AtomicU32,
    ends: Nanos,
}

/// The due times of a rate.
struct Schedule {
    /// The next event that a thread takes.
    next: OpenSchedule,
    taken: u64,
    /// The first event that is not due yet, as of the last check.
    ahead: OpenSchedule,
    due: u64,
}

/// What a thread may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// An event, now.
    Now,
    /// An event that is due then.
    Due(Nanos),
    /// No more events.
    Over,
}

impl Claims {
    pub(crate) fn new(plan: &HostPlan, of_test: Option<u64>) -> Self {
        let most = [plan.stop.events, of_test].into_iter().flatten().min();
        let arrival = plan.rate.map(|rate| Arrival::Open {
            rate,
            ramp: None,
            gaps: Gaps::Poisson,
            max_backlog: 1,
            latest_start_s: None,
        });
        let schedule = arrival
            .and_then(|arrival| arrival.open(plan.seed, 0, 1, Nanos::ZERO))
            .map(|next| Mutex::new(Schedule { ahead: next.clone(), next, taken: 0, due: 0 }));
        Self {
            stop: AtomicBool::new(false),
            left: most.map(AtomicU64::new),
            batch: if most.is_some_and(|most| most > VERY_MANY) { BATCH } else { 1 },
            schedule,
            busy: AtomicU32::new(0),
            ends: plan.stop.window_ends(),
        }
    }

    /// Asks all threads to start no more events.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// With a rate: how many events are due and not taken.
    pub(crate) fn waiting(&self, now: Nanos) -> Option<u64> {
        let mut schedule = self.schedule.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        while schedule.ahead.next() <= now {
            schedule.ahead.advance();
            schedule.due += 1;
        }
        // A thread that waits for its event has taken it before it is due.
        Some(schedule.due.saturating_sub(schedule.taken))
    }

    /// With a rate: how many events are running.
    pub(crate) fn busy(&self) -> Option<u32> {
        self.schedule.as_ref().map(|_| self.busy.load(Ordering::Relaxed))
    }

    /// A due event starts.
    pub(crate) fn begin(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// An event has ended.
    pub(crate) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// One more event, for a thread that holds `kept` claims of its own; the time is `now`.
    #[inline]
    pub(crate) fn claim(&self, kept: &mut u64, now: Nanos) -> Claim {
        if now >= self.ends || self.is_stopped() || !self.has_left(kept) {
            return Claim::Over;
        }
        match &self.schedule {
            None => Claim::Now,
            Some(schedule) => self.next_due(schedule),
        }
    }

    fn next_due(&self, schedule: &Mutex<Schedule>) -> Claim {
        let mut schedule = schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let due = schedule.next.next();
        if due >= self.ends {
            return Claim::Over;
        }
        schedule.next.advance();
        schedule.taken += 1;
        Claim::Due(due)
    }

    #[inline]
    fn has_left(&self, kept: &mut u64) -> bool {
        let Some(left) = &self.left else { return true };
        if *kept == 0 {
            let some = |left: u64| left.checked_sub(self.batch.min(left));
            let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, some);
            *kept = before.unwrap_or(0).min(self.batch);
        }
        if *kept == 0 {
            return false;
        }
        *kept -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(changes: &str) -> Claims {
        let plan = format!(
            r#"{{"command": "run", "test": {{"kind": "cpu", "max_prime": 10}}, "threads": 1,
            "interval_s": 1, "quantile": 0.95, "seed": 1, "tag": "t", {changes}}}"#
        );
        Claims::new(&HostPlan::from_json(&plan).expect("a plan"), None)
    }

    #[test]
    fn no_more_events_are_claimed_than_there_are() {
        for (events, threads) in [(10_u64, 3), (3_000_000, 4)] {
            let stop = format!(
                r#""rate": null,
                "stop": {{"events": {events}, "duration_s": null, "warmup_s": 0}}"#
            );
            let claims = claims(&stop);
            let mut kept = vec![0; threads];
            let mut claimed = 0;
            while kept.iter_mut().any(|kept| claims.claim(kept, Nanos::ZERO) == Claim::Now) {
                claimed += 1;
            }
            assert_eq!(claimed, events);
        }
    }

    #[test]
    fn a_rate_gives_due_times_and_says_how_many_wait() {
        let claims =
            claims(r#""rate": 1000, "stop": {"events": null, "duration_s": 2, "warmup_s": 0}"#);
        let mut taken = 0_u64;
        let mut last = Nanos::ZERO;
        while let Claim::Due(due) = claims.claim(&mut 0, Nanos::ZERO) {
            assert!(due >= last && due < Nanos::from_seconds(2.0));
            (taken, last) = (taken + 1, due);
            if taken == 100 {
                let waiting = claims.waiting(due + Nanos::from_millis(500));
                assert!(waiting.is_some_and(|waiting| waiting.abs_diff(500) < 100));
            }
        }
        assert!(taken.abs_diff(2000) < 200, "{taken}");
        assert!(claims.waiting(last).is_some_and(|waiting| waiting == 0));
    }

    #[test]
    fn nothing_begins_after_the_end_or_a_stop() {
        let claims =
            claims(r#""rate": null, "stop": {"events": null, "duration_s": 1, "warmup_s": 1}"#);
        assert_eq!(claims.claim(&mut 0, Nanos::from_seconds(1.9)), Claim::Now);
        assert_eq!(claims.claim(&mut 0, Nanos::from_seconds(2.0)), Claim::Over);
        claims.stop();
        assert_eq!(claims.claim(&mut 0, Nanos::ZERO), Claim::Over);
    }
}
