//! The part `members` of a plan: several workloads that share a step.

use crate::error::PlanError;
use loadstone_workload::WorkloadSpec;
use serde::Deserialize;
use std::num::NonZeroU32;

/// One of several workloads at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberPlan {
    /// The name of its figures in the results.
    pub name: String,
    /// The workload that makes its events.
    pub workload: WorkloadSpec,
    /// The number of the step's users reserved for it, in a closed loop. Either this or `weight` is set.
    #[serde(default)]
    pub users: Option<NonZeroU32>,
    /// The weight of its share in the events of the users that are not reserved for any member.
    #[serde(default)]
    pub weight: Option<f64>,
    /// Think time of its own users between two events, in seconds; `None`: that of the others.
    #[serde(default)]
    pub think_s: Option<f64>,
}

impl MemberPlan {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(format!("members: {}: {text}", self.name)));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(is_word) {
            return refuse("a name has letters, digits, dots, dashes and underscores");
        }
        if self.users.is_some() == self.weight.is_some() {
            return refuse("it has either users of its own or a weight");
        }
        if self.weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1e9)) {
            return refuse("weight: above 0 and at most 1000000000");
        }
        if self.think_s.is_some_and(|think_s| !(0.0..=86_400.0).contains(&think_s)) {
            return refuse("think_s: 0 to 86400");
        }
        if self.think_s.is_some() && self.users.is_none() {
            return refuse("think_s is of users of its own");
        }
        Ok(())
    }
}
