//! When events are due: [`Arrival`] is the part `arrival` of a step's plan.
//!
//! Closed loop: a user's next event is due when its last one has ended. Open loop: events are due
//! by a schedule of their own, whatever users and server do, and the first free user takes each.

mod open;
mod rate;

pub use open::{Gaps, OpenSchedule};
pub use rate::{Ramp, RateCurve};

use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::SpecError;
use crate::phases::Stretch;

/// The arrival schedule of a step.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Arrival {
    /// Each virtual user starts its next event when its last one has ended, after a think time.
    Closed {
        /// How long a user thinks between two events, in seconds.
        #[serde(default)]
        think_s: f64,
    },
    /// Events are due at a rate, over all users together.
    Open {
        /// Events per second; the rate before the ramp, if there is one.
        rate: f64,
        /// A change of the rate that starts with the window.
        #[serde(default)]
        ramp: Option<Ramp>,
        /// How the gaps between events are distributed.
        #[serde(default)]
        gaps: Gaps,
        /// How many due events may wait for a user; any more are skipped.
        #[serde(default = "default_backlog")]
        max_backlog: u64,
        /// An event that no user takes within this time after it was due is skipped, in seconds.
        #[serde(default)]
        latest_start_s: Option<f64>,
    },
}

/// A backlog of a day at a thousand events per second is beyond any use.
const MOST_BACKLOG: u64 = 100_000_000;
/// More than any server answers, and far below the numbers that lose precision.
const HIGHEST_RATE: f64 = 10_000_000.0;

fn default_backlog() -> u64 {
    100_000
}

impl Default for Arrival {
    fn default() -> Self {
        Self::Closed { think_s: 0.0 }
    }
}

impl Arrival {
    /// Checks that the schedule can be run.
    ///
    /// # Errors
    /// [`SpecError::OutOfRange`].
    pub fn check(&self) -> Result<(), SpecError> {
        let refuse = |what, allowed| Err(SpecError::OutOfRange { what, allowed });
        match *self {
            Self::Closed { think_s } if !(0.0..=86_400.0).contains(&think_s) => {
                refuse("arrival.think_s", "0 to 86400")
            }
            Self::Closed { .. } => Ok(()),
            Self::Open { rate, ramp, max_backlog, latest_start_s, .. } => {
                let to = ramp.map_or(rate, |ramp| ramp.to);
                let over_s = ramp.map_or(1.0, |ramp| ramp.over_s);
                if !Self::is_rate(rate) || !Self::is_rate(to) || rate.max(to) <= 0.0 {
                    return refuse("arrival.rate", "above 0 and at most 10000000 events a second");
                }
                if !(over_s > 0.0 && over_s <= 31_622_400.0) {
                    return refuse("arrival.ramp.over_s", "above 0 and at most a year");
                }
                if !(1..=MOST_BACKLOG).contains(&max_backlog) {
                    return refuse("arrival.max_backlog", "1 to 100000000");
                }
                if latest_start_s.is_some_and(|latest_s| !(latest_s > 0.0 && latest_s <= 86_400.0))
                {
                    return refuse("arrival.latest_start_s", "above 0 and at most 86400");
                }
                Ok(())
            }
        }
    }

    /// How long a user of a closed loop thinks between two events; zero in an open loop.
    #[must_use]
    pub fn think(&self) -> Nanos {
        match *self {
            Self::Closed { think_s } => Nanos::from_seconds(think_s),
            Self::Open { .. } => Nanos::ZERO,
        }
    }

    /// How long after it was due an event of an open loop may start; `None`: at any time.
    #[must_use]
    pub fn latest_start(&self) -> Option<Nanos> {
        match *self {
            Self::Closed { .. } => None,
            Self::Open { latest_start_s, .. } => latest_start_s.map(Nanos::from_seconds),
        }
    }

    /// The share of an open loop's events of one shard of `shards`; a ramp starts with the window.
    #[must_use]
    pub fn open(
        &self,
        seed: u64,
        shard: u64,
        shards: u64,
        window_begins: Nanos,
    ) -> Option<OpenSchedule> {
        match *self {
            Self::Closed { .. } => None,
            Self::Open { rate, ramp, gaps, .. } => {
                let curve = RateCurve::new(rate, ramp, window_begins);
                Some(OpenSchedule::new(curve, gaps, seed, shard, shards))
            }
        }
    }

    /// The same share if the rate changes by phases, from the start of the load.
    #[must_use]
    pub fn open_by_phases(
        &self,
        seed: u64,
        shard: u64,
        shards: u64,
        phases: &[Stretch],
    ) -> Option<OpenSchedule> {
        match *self {
            Self::Closed { .. } => None,
            Self::Open { rate, gaps, .. } => {
                Some(OpenSchedule::new(RateCurve::of(rate, phases), gaps, seed, shard, shards))
            }
        }
    }

    /// Whether this many events per second can be due.
    #[must_use]
    pub fn is_rate(rate: f64) -> bool {
        (0.0..=HIGHEST_RATE).contains(&rate)
    }

    /// How many events may wait on one shard of `shards`.
    #[must_use]
    pub fn backlog(&self, shards: u64) -> usize {
        match *self {
            Self::Closed { .. } => 0,
            Self::Open { max_backlog, .. } => {
                usize::try_from(max_backlog.div_ceil(shards)).unwrap_or(usize::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate: f64, ramp: Option<Ramp>) -> Arrival {
        Arrival::Open { rate, ramp, gaps: Gaps::Even, max_backlog: 10, latest_start_s: None }
    }

    fn with_limits(max_backlog: u64, latest_start_s: Option<f64>) -> Arrival {
        let gaps = Gaps::Poisson;
        Arrival::Open { rate: 1.0, ramp: None, gaps, max_backlog, latest_start_s }
    }

    #[test]
    fn what_cannot_be_carried_out_is_named() {
        let wrong = [
            open(0.0, None),
            open(f64::NAN, None),
            open(-1.0, None),
            open(1.0, Some(Ramp { to: f64::INFINITY, over_s: 1.0 })),
            open(1.0, Some(Ramp { to: 2.0, over_s: 0.0 })),
            with_limits(0, None),
            with_limits(1, Some(0.0)),
            with_limits(1, Some(86_401.0)),
            Arrival::Closed { think_s: -1.0 },
        ];
        for arrival in wrong {
            let error = arrival.check().expect_err("not possible").to_string();
            assert!(error.contains("arrival."), "{error}");
        }
        open(0.0, Some(Ramp { to: 5.0, over_s: 1.0 }))
            .check()
            .expect("a ramp may begin at nothing");
    }

    #[test]
    fn the_backlog_is_shared_out_and_never_nothing() {
        assert_eq!(open(1.0, None).backlog(4), 3);
        assert_eq!(open(1.0, None).backlog(100), 1);
    }
}
