//! The handle of a running step: start it, read its records, change its load, stop it.

mod any_user;
mod assembly;
mod coordinator;
mod event_loop;
mod prefetch;

use crate::error::PlanError;
use crate::plan::Plan;
use crate::record::{Next, Record, next_record};
use crate::shard::Control;
use coordinator::Order;
use crossbeam_channel::{Receiver, Sender, unbounded};
use loadstone_measure::Nanos;
use loadstone_workload::arrival::{Arrival, Gaps};
use std::sync::Arc;
use std::time::Duration;

/// A step that is under way.
#[derive(Debug)]
pub struct Drive {
    control: Arc<Control>,
    records: Receiver<Record>,
    orders: Sender<Order>,
    limits: Limits,
}

/// The limits for changes while the step runs.
#[derive(Clone, Copy, Debug)]
struct Limits {
    is_open: bool,
    /// The plan's phases determine the load.
    has_phases: bool,
    /// Each shard has its share of an open loop's events, and so needs a user.
    fewest_users: u32,
    most_users: u32,
}

impl Limits {
    fn of(plan: &Plan) -> Self {
        let is_open = !matches!(plan.arrival, Arrival::Closed { .. });
        let (most_users, of_members) = (plan.own_users(), plan.own_users_of_members());
        let pool = most_users - of_members;
        let fewest_users =
            if is_open { of_members + plan.shards.min(pool) } else { of_members.max(1) };
        let has_phases = !plan.phases.is_empty();
        Self { is_open, has_phases, fewest_users, most_users }
    }

    fn refuse_with_phases(self) -> Result<(), PlanError> {
        if self.has_phases {
            return Err(PlanError::new("the step goes by its phases, and by nothing else"));
        }
        Ok(())
    }
}

impl Drive {
    /// Starts the step and returns at once; errors are reported by the end record.
    ///
    /// # Errors
    /// The operating system refuses threads or descriptors.
    pub fn start(plan: Plan) -> std::io::Result<Self> {
        let control = Arc::new(Control::new(plan.shards, plan.own_events(), plan.own_at_once())?);
        let limits = Limits::of(&plan);
        let (sender, records) = unbounded();
        let (orders, receiver) = unbounded();
        let (plan, shared) = (Arc::new(plan), control.clone());
        std::thread::Builder::new()
            .name("coordinator".to_owned())
            .spawn(move || assembly::run_step(&plan, shared, sender, receiver))?;
        Ok(Self { control, records, orders, limits })
    }

    /// Starts the load of a step whose plan has `waits_for_start`: at this instant of
    /// CLOCK_MONOTONIC, or as soon as all users are connected if that is later.
    pub fn begin_at(&self, monotonic: Nanos) {
        // A step that is over needs no order.
        let _ = self.orders.send(Order::BeginAt(monotonic));
    }

    /// Renews the lease of a step that has one.
    pub fn renew(&self) {
        let _ = self.orders.send(Order::Renew);
    }

    /// The next record, or why there is none after `timeout`.
    pub fn next(&self, timeout: Duration) -> Next {
        next_record(&self.records, timeout)
    }

    /// From now on this many events per second are due instead of the plan's rate. Before the load
    /// starts, the change applies from its start.
    ///
    /// # Errors
    /// The loop is closed, or the rate is impossible.
    pub fn set_rate(&self, rate: f64) -> Result<(), PlanError> {
        self.limits.refuse_with_phases()?;
        if !self.limits.is_open {
            return Err(PlanError::new("rate: a closed loop has none"));
        }
        let (gaps, max_backlog, latest_start_s) = (Gaps::default(), 1, None);
        let arrival = Arrival::Open { rate, ramp: None, gaps, max_backlog, latest_start_s };
        arrival.check().map_err(|error| PlanError::new(error.to_string()))?;
        self.control.set_rate(rate);
        Ok(())
    }

    /// From now on only the first `users` of this engine's virtual users start events; the others
    /// finish theirs and rest, with their connections, until they are allowed again.
    ///
    /// # Errors
    /// More users than this part of the step has, or too few.
    pub fn set_users(&self, users: u32) -> Result<(), PlanError> {
        self.limits.refuse_with_phases()?;
        let Limits { fewest_users, most_users, .. } = self.limits;
        if !(fewest_users..=most_users).contains(&users) {
            let allowed = format!("users: {fewest_users} to {most_users} in this step");
            return Err(PlanError::new(allowed));
        }
        self.control.set_active(users);
        Ok(())
    }

    /// From now on no events start, until this is called again with `false`. Users finish theirs
    /// and rest, with their connections. Events of an open loop that wait or become due in the
    /// meantime are skipped, so that they do not follow in a burst.
    pub fn hold(&self, held: bool) {
        self.control.hold(held);
    }

    /// Asks for a clean end; records follow until the last one.
    pub fn stop(&self) {
        self.control.stop();
    }
}

/// Dropping a step ends it without waiting for its threads: they hold nothing but their own
/// connections, and need seconds if a server has stopped answering.
impl Drop for Drive {
    fn drop(&mut self) {
        self.control.stop();
    }
}
