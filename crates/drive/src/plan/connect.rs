//! The part `connect` of a plan: how connections are opened, and how often that is tried.

use crate::error::PlanError;
use loadstone_workload::random::{Purpose, Random};
use serde::Deserialize;
use std::net::IpAddr;
use std::time::Duration;

/// How connections are opened: servers fail under a storm of a thousand connects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectPlan {
    /// The most attempts that may be under way at once, over all shards.
    pub at_once: u32,
    /// How long one attempt may take, login included.
    pub timeout_s: f64,
    /// How often one connection is tried again before the load has begun.
    pub retries: u32,
    /// The first wait between two attempts; it doubles up to the longest one.
    pub backoff_s: f64,
    /// The longest wait between two attempts; keep it short to measure how long a server was away.
    #[serde(default = "default_longest_backoff_s")]
    pub longest_backoff_s: f64,
    /// Addresses of this machine that connections over TCP leave from, in turn; none: the kernel's choice.
    #[serde(default)]
    pub source_addresses: Vec<IpAddr>,
}

fn default_longest_backoff_s() -> f64 {
    1.0
}

impl ConnectPlan {
    /// The shortest wait between two attempts: without any, a server that refuses would cost the whole processor.
    pub const SHORTEST_BACKOFF: Duration = Duration::from_millis(1);

    /// How long to wait before attempt number `attempt` (the first is 0).
    pub fn backoff(&self, attempt: u32) -> Duration {
        let doubled = self.backoff_s * f64::from(2_u32.saturating_pow(attempt.min(16)));
        Duration::from_secs_f64(doubled.min(self.longest_backoff_s)).max(Self::SHORTEST_BACKOFF)
    }

    /// How long this user waits before attempt number `attempt`: between a half and all of [`Self::backoff`]. Users that
    /// have lost their connections together would otherwise try again together.
    pub(crate) fn own_backoff(&self, attempt: u32, user: u32) -> Duration {
        let share = Random::new(0, Purpose::Backoff, &[user.into(), attempt.into()]).unit();
        self.backoff(attempt).mul_f64(0.5 + share / 2.0).max(Self::SHORTEST_BACKOFF)
    }

    /// # Errors
    /// One line that names the key.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.at_once == 0 {
            return Err(PlanError::new("connect.at_once: at least 1"));
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= 3600.0) {
            return Err(PlanError::new("connect.timeout_s: more than 0, at most 3600"));
        }
        if !(self.backoff_s >= 0.0 && self.backoff_s <= 3600.0) {
            return Err(PlanError::new("connect.backoff_s: 0 to 3600"));
        }
        if !(self.longest_backoff_s >= 0.0 && self.longest_backoff_s <= 3600.0) {
            return Err(PlanError::new("connect.longest_backoff_s: 0 to 3600"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_that_failed_together_do_not_try_again_together() {
        let text = r#"{"at_once": 1, "timeout_s": 1.0, "retries": 0, "backoff_s": 0.1}"#;
        let plan: ConnectPlan = serde_json::from_str(text).unwrap();
        for (attempt, longest) in [(0, 100), (1, 200), (9, 1000)] {
            let waits = (0..1000).map(|user| plan.own_backoff(attempt, user).as_millis());
            let mut tenths = [0; 10];
            for wait in waits {
                assert!((longest / 2..=longest).contains(&wait), "{wait}");
                tenths[((wait * 20 / longest) as usize - 10).min(9)] += 1;
            }
            // 100 of 1,000 in each tenth of the span; six standard deviations are 57.
            assert!(tenths.iter().all(|count| (43..=157).contains(count)), "{tenths:?}");
        }
        let hasty = ConnectPlan { backoff_s: 0.0, ..plan };
        assert_eq!(hasty.own_backoff(3, 7), ConnectPlan::SHORTEST_BACKOFF);
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_nothing() {
        let read = |text| serde_json::from_str::<ConnectPlan>(text).unwrap();
        let plan = |backoff_s| ConnectPlan {
            backoff_s,
            ..read(r#"{"at_once": 1, "timeout_s": 1.0, "retries": 0, "backoff_s": 0.1}"#)
        };
        let pauses = [0, 1, 2, 3, 4, 99].map(|attempt| plan(0.1).backoff(attempt).as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(plan(0.0).backoff(0), ConnectPlan::SHORTEST_BACKOFF);
        assert_eq!(plan(0.0).backoff(u32::MAX), ConnectPlan::SHORTEST_BACKOFF);
        assert_eq!(plan(3600.0).backoff(u32::MAX), Duration::from_secs(1));
        let hasty = ConnectPlan { longest_backoff_s: 0.15, ..plan(0.1) };
        assert_eq!([0, 1, 9].map(|attempt| hasty.backoff(attempt).as_millis()), [100, 150, 150]);
    }
}
