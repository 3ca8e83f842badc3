//! Which user does what, where no script says so: all the same workload, or those of a mix.

use crate::error::PlanError;
use crate::plan::{MemberPlan, Plan, build};
use loadstone_measure::Nanos;
use loadstone_workload::{Catalogue, Lot, Machine, Mix, Workload};
use std::sync::Arc;

/// What the users of a step do.
#[derive(Clone, Debug)]
pub(crate) enum Cast {
    /// All of them the same.
    One(Workload),
    /// Some a workload of their own; the others, whose numbers come after theirs, all that have a
    /// weight, drawn for each event.
    Several { mix: Mix, own: Vec<Own> },
}

/// Users with a workload of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    member: u16,
    /// The number of the first of them, among all users.
    first: u64,
    users: u64,
    think: Nanos,
}

/// What one user does, and when of its own accord.
pub(crate) struct Role {
    pub(crate) machine: Box<dyn Machine>,
    /// The member of a mix that its next event is of.
    pub(crate) member: u16,
    /// Draws that member, where it is not always the same.
    pub(crate) lot: Option<Lot>,
    /// How long it thinks between two events, where its loop is closed.
    pub(crate) think: Nanos,
    /// Its loop is closed, also beside an open one.
    pub(crate) is_beside: bool,
}

impl Cast {
    /// `None` where a script says what users do.
    ///
    /// # Errors
    /// An unknown workload or option.
    pub(crate) fn of_plan(plan: &Plan) -> Result<Option<Self>, PlanError> {
        if plan.members.is_empty() {
            return Ok(plan.build_workload()?.map(Self::One));
        }
        let member = |one: &MemberPlan| -> Result<(Workload, Option<f64>), PlanError> {
            let named =
                |error: PlanError| PlanError::new(format!("members: {}: {error}", one.name));
            Ok((build(&one.workload).map_err(named)?, one.weight))
        };
        let members = plan.members.iter().map(member).collect::<Result<Vec<_>, PlanError>>()?;
        let mix = Mix::new(members).map_err(|error| PlanError::new(error.to_string()))?;
        Ok(Some(Self::Several { mix, own: own_users(plan) }))
    }

    /// All statements.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        match self {
            Self::One(workload) => workload.catalogue(),
            Self::Several { mix, .. } => mix.catalogue(),
        }
    }

    /// The role of the user with this number among all users.
    pub(crate) fn role(&self, plan: &Plan, number: u64) -> Role {
        let (seed, all) = (plan.seed, u64::from(plan.concurrency));
        let role = |machine| Role {
            machine,
            member: 0,
            lot: None,
            think: plan.arrival.think(),
            is_beside: false,
        };
        match self {
            Self::One(workload) => role(workload.machine(seed, number, all)),
            Self::Several { mix, own } => {
                if let Some(own) = own.iter().find(|own| number < own.first + own.users) {
                    let user = number - own.first;
                    let machine = mix.machine_of(own.member, seed, user, own.users);
                    let (member, think) = (own.member, own.think);
                    return Role { member, think, is_beside: true, ..role(machine) };
                }
                let first = all - u64::from(plan.pool());
                let machine = mix.machine(seed, number - first, all - first);
                Role { lot: Some(mix.lot(seed, &[0, number])), ..role(machine) }
            }
        }
    }

    /// Draws the members of the events of an open loop's shard, where there is anything to draw.
    pub(crate) fn lot(&self, seed: u64, shard: u64) -> Option<Lot> {
        match self {
            Self::One(_) => None,
            Self::Several { mix, .. } => Some(mix.lot(seed, &[1, shard])),
        }
    }
}

/// In the plan's order, from number 0 on.
fn own_users(plan: &Plan) -> Vec<Own> {
    let mut first = 0;
    let mut own = Vec::new();
    for (member, one) in (0_u16..).zip(&plan.members) {
        let Some(users) = one.users else { continue };
        let users = u64::from(users.get());
        let think = one.think_s.map_or(plan.arrival.think(), Nanos::from_seconds);
        own.push(Own { member, first, users, think });
        first += users;
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(concurrency: u32, arrival: &str) -> Plan {
        let text = format!(
            r#"{{"targets": [{{"host": "127.0.0.1", "port": 3306, "user": "u", "password": "p",
                "database": null, "tls": {{"mode": "disabled"}}}}],
            "members": [
                {{"name": "often", "weight": 9, "workload": {{"name": "oltp_point_select"}}}},
                {{"name": "report", "users": 2, "think_s": 3, "workload": {{"name": "oltp_read_only"}}}},
                {{"name": "rare", "weight": 1, "workload": {{"name": "oltp_update_index"}}}}],
            "protocol": "text", "concurrency": {concurrency}, "arrival": {arrival},
            "stop": {{"kind": "time", "duration_s": 1}},
            "connect": {{"at_once": 1, "timeout_s": 1, "retries": 0, "backoff_s": 0}},
            "session": {{"init_sql": [], "isolation": null, "charset": null}},
            "on_error": "stop", "shards": 8, "seed": 3, "tag": "t"}}"#
        );
        Plan::from_json(&text).expect("a plan")
    }

    #[test]
    fn those_with_users_of_their_own_come_first_and_the_rest_is_drawn() {
        let plan = plan(6, r#"{"kind": "closed", "think_s": 1}"#);
        let cast = Cast::of_plan(&plan).expect("a cast").expect("no script");
        let roles: Vec<Role> = (0..6).map(|number| cast.role(&plan, number)).collect();
        let think = |role: &Role| role.think.seconds();
        assert!(roles[..2].iter().all(|role| role.member == 1 && role.is_beside));
        assert!(roles[..2].iter().all(|role| role.lot.is_none() && think(role) == 3.0));
        assert!(roles[2..].iter().all(|role| role.lot.is_some() && !role.is_beside));
        assert!(roles[2..].iter().all(|role| think(role) == 1.0));
    }

    #[test]
    fn each_shard_of_an_open_loop_has_a_user_that_takes_its_events() {
        let open = r#"{"kind": "open", "rate": 10}"#;
        for users in 3..12 {
            let plan = plan(users, open);
            assert_eq!(plan.shards, 8.min(users - 2));
            let own = |number: u64| number < 2;
            for shard in 0..plan.shards as usize {
                let mut numbers = plan.dealt_to(shard).numbers(u64::from(users));
                assert!(numbers.any(|number| !own(number)), "shard {shard} of {users} users");
            }
        }
    }
}
