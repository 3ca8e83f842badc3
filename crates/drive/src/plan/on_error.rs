//! The parts of a plan about events that the server refuses: `on_error`, `restart_on`, and how often they are tried.

use loadstone_measure::Nanos;
use loadstone_protocol::Code;
use serde::Deserialize;
use std::num::NonZeroU32;

/// The errors after which an event is restarted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RestartOn {
    /// Any error.
    All,
    /// The errors with these codes.
    #[serde(untagged)]
    These(Vec<Code>),
}

impl RestartOn {
    /// Whether this error is one of them.
    pub fn has(&self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::These(codes) => codes.contains(&code),
        }
    }
}

/// What an error packet means for the event it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The event is restarted after the errors of the plan's `restart_on`; others end the step.
    Restart,
    /// Every error is counted, and the next event begins.
    Continue,
    /// Every error ends the step.
    Stop,
    /// The event is restarted after the errors of the plan's `restart_on`; others end the user that
    /// they happen to.
    #[serde(rename = "end_user")]
    EndUser,
}

impl OnError {
    /// Whether some errors restart the event.
    pub(crate) fn restarts(self) -> bool {
        matches!(self, Self::Restart | Self::EndUser)
    }
}

/// How often an event is tried if errors restart it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TryLimit {
    /// The most tries.
    most: u32,
    /// No further one begins later than this after the event was due.
    within: Nanos,
}

impl TryLimit {
    /// The limit of a plan's `max_tries` and `tries_within_s`; `None` if it has neither.
    pub(super) fn new(max_tries: Option<NonZeroU32>, within_s: Option<f64>) -> Option<Self> {
        if max_tries.is_none() && within_s.is_none() {
            return None;
        }
        let most = max_tries.map_or(u32::MAX, NonZeroU32::get);
        Some(Self { most, within: within_s.map_or(Nanos::MAX, Nanos::from_seconds) })
    }

    /// Whether an event that was tried so often, and was due so long ago, may be tried again.
    pub(crate) fn allows(self, tries: u32, age: Nanos) -> bool {
        tries < self.most && age < self.within
    }

    /// The most tries, if they are limited.
    pub(crate) fn most(self) -> Option<u32> {
        (self.most < u32::MAX).then_some(self.most)
    }

    /// The share of the time for tries that has passed at this age, if that is limited.
    pub(crate) fn time_used(self, age: Nanos) -> Option<f64> {
        (self.within < Nanos::MAX).then(|| age.seconds() / self.within.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_tried_as_often_and_as_long_as_both_limits_say() {
        let limit = |most, within_s| TryLimit::new(NonZeroU32::new(most), within_s);
        let second = Nanos::from_seconds(1.0);
        assert_eq!(limit(0, None), None);
        let (few, short) = (limit(3, None).unwrap(), limit(0, Some(1.0)).unwrap());
        assert!(few.allows(2, Nanos::from_seconds(1e9)) && !few.allows(3, Nanos::ZERO));
        assert!(short.allows(1_000_000, second - Nanos(1)) && !short.allows(1, second));
        assert_eq!((few.most(), few.time_used(second)), (Some(3), None));
        assert_eq!((short.most(), short.time_used(Nanos(5 * second.0))), (None, Some(5.0)));
    }

    #[test]
    fn errors_that_restart_are_a_list_or_all() {
        let read = |text| serde_json::from_str::<RestartOn>(text);
        let listed = read(r#"["1062", "40P01"]"#).unwrap();
        assert!(listed.has(Code::of_number(1062)) && !listed.has(Code::of_number(1213)));
        assert!(read("\"all\"").unwrap().has(Code::of_number(1146)));
        for bad in ["\"some\"", "[1062]", "[\"\"]", "[\"deadlock\"]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
