//! Stalls: what a load does about a statement that makes no progress. It is reported, killed, or an
//! error.
//!
//! Each worker shows a watchdog what it waits for and when it last received a byte. When a
//! statement has been silent for some seconds, the watchdog inspects it over another connection:
//! its own figures, what it waits for, and who holds that. A statement that makes progress is left
//! alone; one that waits for another session's lock is reported until the load gives up; one that
//! makes no progress at all is killed, so that its worker continues in another way.

mod judge;
mod look;
mod watchdog;

use crate::record::Holder;
use crate::target::LoadTarget;
use loadstone_drive::client::{Endpoint, Pulse, StopFlag};
use loadstone_drive::plan::ConnectPlan;
use loadstone_drive::{Clock, Failure, PlanError};
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub(super) use watchdog::watch;

/// How long a statement may make no progress; the format is documented in `docs/engine.md`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StallPlan {
    /// After this time it is reported.
    pub say_s: f64,
    /// This much later it is killed, if it waits for no lock.
    pub end_s: f64,
    /// After this time the load ends.
    pub fail_s: f64,
}

impl Default for StallPlan {
    fn default() -> Self {
        Self { say_s: 5.0, end_s: 10.0, fail_s: 60.0 }
    }
}

impl StallPlan {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let Self { say_s, end_s, fail_s } = *self;
        match [say_s, end_s, fail_s].iter().all(|span| (0.1..=3600.0).contains(span)) {
            true if fail_s > say_s => Ok(()),
            true => Err(PlanError::new("stall.fail_s: more than say_s")),
            false => Err(PlanError::new("stall: each 0.1 to 3600")),
        }
    }
}

impl Holder {
    pub(super) fn text(&self) -> String {
        let user = self.user.as_ref().map_or_else(String::new, |user| format!(" ({user})"));
        let since = self.seconds.map_or_else(String::new, |span| format!(" for {span} s"));
        let doing = match &self.statement {
            Some(statement) => format!(", which is at `{statement}`"),
            None => String::new(),
        };
        format!("connection {}{user}{since}{doing}", self.connection)
    }
}

/// What a load's threads and its watchdog share.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) server: &'static dyn LoadTarget,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) connect: ConnectPlan,
    pub(super) stop: StopFlag,
    pub(super) clock: Clock,
    plan: StallPlan,
    pulses: Mutex<Vec<Weak<Pulse>>>,
    /// The pulse of the watchdog's own connection.
    own: Arc<Pulse>,
    is_over: AtomicBool,
}

impl Board {
    pub(super) fn new(
        (server, endpoint): (&'static dyn LoadTarget, Arc<Endpoint>),
        connect: ConnectPlan,
        plan: StallPlan,
        stop: &StopFlag,
        clock: Clock,
    ) -> Self {
        Self {
            server,
            endpoint,
            connect,
            stop: stop.clone(),
            clock,
            plan,
            pulses: Mutex::default(),
            own: Arc::new(Pulse::new(clock)),
            is_over: AtomicBool::new(false),
        }
    }

    /// The pulse of a thread that is about to wait for the server. It is watched for as long as it
    /// keeps this.
    pub(super) fn pulse(&self) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse::new(self.clock));
        let mut pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.retain(|pulse| pulse.strong_count() > 0);
        pulses.push(Arc::downgrade(&pulse));
        pulse
    }

    /// The longest lock wait, in seconds, after which the server itself ends a statement, should
    /// nobody else do so.
    pub(super) fn longest_lock_wait_s(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let seconds = self.plan.fail_s.ceil() as u64;
        seconds + 5
    }

    /// The load is over; nothing is watched any more.
    pub(super) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.own.set_deadline(self.clock.now());
    }

    fn pulses(&self) -> Vec<Arc<Pulse>> {
        let pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.iter().filter_map(Weak::upgrade).collect()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// A failure that the load may end with.
fn stalled(text: String, statement: &str) -> Failure {
    use loadstone_drive::FailureKind;
    Failure::new(FailureKind::Stalled, None, text).during(statement.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_make_no_sense_are_refused() {
        let plan = |say_s, end_s, fail_s| StallPlan { say_s, end_s, fail_s }.check();
        assert!(StallPlan::default().check().is_ok());
        assert!(plan(0.2, 0.2, 0.5).is_ok());
        assert!(plan(0.0, 1.0, 2.0).is_err());
        assert!(plan(1.0, 1.0, f64::NAN).is_err());
        assert!(plan(5.0, 1.0, 5.0).is_err());
    }
}
