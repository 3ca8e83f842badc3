//! The part `stop` of a step's plan: how long the step lasts.

use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::SpecError;

/// When a step is over: the part `stop` of its plan.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum StopRule {
    /// After the warm-up and the window.
    Time {
        /// The warm-up before the window, in seconds.
        #[serde(default)]
        warmup_s: f64,
        /// The window, in seconds.
        duration_s: f64,
    },
    /// After this many events of the window, or after the window, whichever comes first.
    Events {
        /// How many events may start in the window.
        events: u64,
        /// Each user may start as many, rather than all users together.
        #[serde(default)]
        of_each_user: bool,
        /// The warm-up before the window, in seconds.
        #[serde(default)]
        warmup_s: f64,
        /// The longest window, in seconds.
        duration_s: f64,
    },
}

/// The part of a step that a moment belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The load runs and counts in no figure. Next: `Window`.
    Warmup,
    /// The measured part. Next: `Over`.
    Window,
    /// No more events start.
    Over,
}

impl StopRule {
    /// The longest duration of a step: a year.
    pub const LONGEST_S: f64 = 366.0 * 86_400.0;

    /// Checks that it can be run.
    ///
    /// # Errors
    /// [`SpecError::OutOfRange`].
    pub fn check(&self) -> Result<(), SpecError> {
        let (warmup_s, duration_s) = self.seconds();
        if !(0.0..=Self::LONGEST_S).contains(&warmup_s) {
            return Err(SpecError::OutOfRange { what: "stop.warmup_s", allowed: "0 to a year" });
        }
        if !(duration_s > 0.0 && duration_s <= Self::LONGEST_S) {
            let (what, allowed) = ("stop.duration_s", "above 0 and at most a year");
            return Err(SpecError::OutOfRange { what, allowed });
        }
        if self.events() == Some(0) {
            return Err(SpecError::OutOfRange { what: "stop.events", allowed: "1 and above" });
        }
        Ok(())
    }

    /// When the window starts, from the start of the load.
    #[must_use]
    pub fn window_begins(&self) -> Nanos {
        Nanos::from_seconds(self.seconds().0)
    }

    /// When the window ends at the latest.
    #[must_use]
    pub fn window_ends(&self) -> Nanos {
        let (warmup_s, duration_s) = self.seconds();
        Nanos::from_seconds(warmup_s) + Nanos::from_seconds(duration_s)
    }

    /// The number of events in the plan, of all users together or of each; `None`: it has none.
    #[must_use]
    pub fn events(&self) -> Option<u64> {
        match *self {
            Self::Time { .. } => None,
            Self::Events { events, .. } => Some(events),
        }
    }

    /// How many events all users together may start in the window; `None`: any number.
    #[must_use]
    pub fn events_of_all(&self) -> Option<u64> {
        self.events().filter(|_| !self.is_of_each_user())
    }

    /// How many events each user may start in the window; `None`: any number.
    #[must_use]
    pub fn events_of_each_user(&self) -> Option<u64> {
        self.events().filter(|_| self.is_of_each_user())
    }

    fn is_of_each_user(&self) -> bool {
        matches!(self, Self::Events { of_each_user: true, .. })
    }

    /// The phase at `now`, when `window_events` events of the window have started.
    #[must_use]
    pub fn phase(&self, now: Nanos, window_events: u64) -> Phase {
        if now >= self.window_ends()
            || self.events_of_all().is_some_and(|limit| window_events >= limit)
        {
            Phase::Over
        } else if now >= self.window_begins() {
            Phase::Window
        } else {
            Phase::Warmup
        }
    }

    fn seconds(&self) -> (f64, f64) {
        match *self {
            Self::Time { warmup_s, duration_s } | Self::Events { warmup_s, duration_s, .. } => {
                (warmup_s, duration_s)
            }
        }
    }
}
