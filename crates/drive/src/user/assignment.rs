//! Assigns workloads to users: the same to all, or those of a mix.

use crate::plan::{Plan, Protocol, Workloads};
use loadstone_measure::Nanos;
use loadstone_workload::{Catalogue, Machine, Pipelined, WeightedPicker};
use std::sync::Arc;

/// What each user of a step does.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    workloads: Workloads,
    /// Users that belong to one member of a mix. The others, numbered after them, run all members
    /// with a weight, drawn for each event.
    dedicated: Vec<DedicatedUsers>,
}

/// Users with a workload of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DedicatedUsers {
    member: u16,
    /// The number of the first of them, among all users.
    first: u64,
    count: u64,
    think: Nanos,
}

/// What one user does, and when it does so on its own.
pub(crate) struct UserSpec {
    pub(crate) machine: Box<dyn Machine>,
    /// The member of a mix that its next event belongs to.
    pub(crate) member: u16,
    /// Draws that member, if it varies.
    pub(crate) picker: Option<WeightedPicker>,
    /// How long it thinks between two events, where its loop is closed.
    pub(crate) think: Nanos,
    /// Its loop is closed, even if the step also has an open one.
    pub(crate) is_closed_loop: bool,
    /// How many events it may start in the window; `None`: as many as all users together.
    pub(crate) events_left: Option<u64>,
}

impl Assignment {
    pub(crate) fn new(plan: &Plan, workloads: Workloads) -> Self {
        Self { workloads, dedicated: dedicated_users(plan) }
    }

    /// The catalogue of all statements.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.workloads.catalogue()
    }

    /// Whether a user keeps the rows that its statements return.
    pub(crate) fn reads_rows(&self) -> bool {
        self.workloads.reads_rows()
    }

    /// What the user with this number among all users does.
    pub(crate) fn user(&self, plan: &Plan, number: u64) -> UserSpec {
        let (seed, all) = (plan.seed, u64::from(plan.users));
        let spec = |mut machine: Box<dyn Machine>| {
            if plan.figures_by_command {
                machine.return_after_each_command();
            }
            if plan.protocol == Protocol::Pipelined {
                machine = Box::new(Pipelined::new(machine));
            }
            UserSpec {
                machine,
                member: 0,
                picker: None,
                think: plan.arrival.think(),
                is_closed_loop: false,
                events_left: plan.stop.events_of_each_user(),
            }
        };
        match &self.workloads {
            Workloads::One(workload) => spec(workload.machine(seed, number, all)),
            Workloads::Several(mix) => {
                let has = |users: &&DedicatedUsers| number < users.first + users.count;
                if let Some(users) = self.dedicated.iter().find(has) {
                    let user = number - users.first;
                    let machine = mix.machine_of(users.member, seed, user, users.count);
                    let (member, think) = (users.member, users.think);
                    return UserSpec { member, think, is_closed_loop: true, ..spec(machine) };
                }
                let first = all - u64::from(plan.pool());
                let machine = mix.machine(seed, number - first, all - first);
                let picker = Some(mix.picker(seed, &[0, number]));
                UserSpec { picker, ..spec(machine) }
            }
        }
    }

    /// Draws the members of an open loop's events on a shard, if there is a choice.
    pub(crate) fn picker(&self, seed: u64, shard: u64) -> Option<WeightedPicker> {
        match &self.workloads {
            Workloads::One(_) => None,
            Workloads::Several(mix) => Some(mix.picker(seed, &[1, shard])),
        }
    }
}

/// The dedicated users in the plan's order, from number 0 on.
fn dedicated_users(plan: &Plan) -> Vec<DedicatedUsers> {
    let mut first = 0;
    let mut dedicated = Vec::new();
    for (member, one) in (0_u16..).zip(&plan.members) {
        let Some(users) = one.users else { continue };
        let count = u64::from(users.get());
        let think = one.think_s.map_or(plan.arrival.think(), Nanos::from_seconds);
        dedicated.push(DedicatedUsers { member, first, count, think });
        first += count;
    }
    dedicated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(users: u32, arrival: &str) -> Plan {
        let text = format!(
            r#"{{"targets": [{{"host": "127.0.0.1", "port": 3306, "user": "u", "password": "p",
                "database": null, "tls": {{"mode": "disabled"}}}}],
            "members": [
                {{"name": "often", "weight": 9, "workload": {{"name": "oltp_point_select"}}}},
                {{"name": "report", "users": 2, "think_s": 3, "workload": {{"name": "oltp_read_only"}}}},
                {{"name": "rare", "weight": 1, "workload": {{"name": "oltp_update_index"}}}}],
            "protocol": "text", "users": {users}, "arrival": {arrival},
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
        let workloads = plan.build_workloads().expect("known workloads").expect("no script");
        let assignment = Assignment::new(&plan, workloads);
        let users: Vec<UserSpec> = (0..6).map(|number| assignment.user(&plan, number)).collect();
        let think = |user: &UserSpec| user.think.seconds();
        assert!(users[..2].iter().all(|user| user.member == 1 && user.is_closed_loop));
        assert!(users[..2].iter().all(|user| user.picker.is_none() && think(user) == 3.0));
        assert!(users[2..].iter().all(|user| user.picker.is_some() && !user.is_closed_loop));
        assert!(users[2..].iter().all(|user| think(user) == 1.0));
    }

    #[test]
    fn each_shard_of_an_open_loop_has_a_user_that_takes_its_events() {
        let open = r#"{"kind": "open", "rate": 10}"#;
        for users in 3..12 {
            let plan = plan(users, open);
            assert_eq!(plan.shards, 8.min(users - 2));
            let own = |number: u64| number < 2;
            for shard in 0..plan.shards as usize {
                let mut numbers = plan.stride_of(shard).numbers(u64::from(users));
                assert!(numbers.any(|number| !own(number)), "shard {shard} of {users} users");
            }
        }
    }
}
