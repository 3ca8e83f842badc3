//! The rows of a native user's events, if the plan asks for them.

use super::{Activity, User};
use crate::connection::conflict;
use crate::metering::EndedEvent;
use crate::record::Outcome;
use crate::shard::{Due, ShardContext};
use loadstone_measure::Nanos;
use loadstone_protocol::{Conflict, ErrorCode};

impl User {
    /// The event in flight has ended.
    pub(super) fn log_event(&self, shard: &mut ShardContext, outcome: Outcome, now: Nanos) {
        let Some(log) = &mut shard.meter.event_log else { return };
        let Activity::Busy(event) = &self.activity else { return };
        let is_scheduled = shard.open.is_some() && !self.is_closed_loop;
        log.ended(&EndedEvent {
            user: self.index,
            member: self.member,
            end_unix_us: shard.settings.clock.unix_us(now),
            latency: now - event.due,
            lag: is_scheduled.then(|| event.started - event.due),
            tries: event.tries,
            outcome,
        });
    }

    /// The event in flight has failed by this error.
    pub(super) fn log_failed(&self, shard: &mut ShardContext, code: ErrorCode, now: Nanos) {
        let outcome = match conflict(code) {
            Some(Conflict::Serialization) => Outcome::Serialization,
            Some(Conflict::Deadlock) => Outcome::Deadlock,
            None => Outcome::Failed,
        };
        self.log_event(shard, outcome, now);
    }

    /// An event of the open loop that this user would have taken does not start.
    pub(super) fn log_skipped(&self, shard: &mut ShardContext, due: Due, now: Nanos) {
        let Some(log) = &mut shard.meter.event_log else { return };
        log.ended(&EndedEvent {
            user: self.index,
            member: due.member,
            end_unix_us: shard.settings.clock.unix_us(now),
            latency: now - due.at,
            lag: None,
            tries: 0,
            outcome: Outcome::Skipped,
        });
    }
}
