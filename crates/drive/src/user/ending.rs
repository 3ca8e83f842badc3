//! How many events a native user may still start, and its end: after the last of them, or after an
//! error for which the plan ends users.

use super::{Activity, Link, User};
use crate::connection::Loss;
use crate::record::UserEnded;
use crate::shard::{Due, Message, ShardContext};
use loadstone_measure::Nanos;
use loadstone_protocol::{ErrorCode, Fault};

impl User {
    /// Whether it starts no further event, and has none in flight.
    pub(crate) fn is_over(&self) -> bool {
        self.is_idle || (self.has_no_event_left() && !self.has_event())
    }

    /// Whether it has started its last event.
    pub(super) fn has_no_event_left(&self) -> bool {
        self.events_left == Some(0)
    }

    /// Closed loop: whether it may start one more event.
    pub(super) fn claim_event(&mut self, shard: &mut ShardContext, now: Nanos) -> bool {
        match self.events_left {
            None => shard.claim_event(now),
            Some(0) => false,
            Some(_) => {
                self.count_down(shard, now);
                true
            }
        }
    }

    /// One of its events is due: those of the window are limited.
    fn count_down(&mut self, shard: &ShardContext, due: Nanos) {
        if let Some(left) = &mut self.events_left
            && shard.is_in_window(due)
        {
            *left = left.saturating_sub(1);
        }
    }

    /// Open loop: the event that has waited longest of those that it is not too late for. The others
    /// count as this user's, but do not start.
    pub(super) fn next_waiting(&mut self, shard: &mut ShardContext, now: Nanos) -> Option<Due> {
        while !self.has_no_event_left() {
            let open = shard.open.as_mut()?;
            let due = open.take_waiting()?;
            let is_too_late = open.is_too_late(due, now);
            self.count_down(shard, due.at);
            if !is_too_late {
                return Some(due);
            }
            shard.meter.event_skipped(due.member);
            self.log_skipped(shard, due, now);
        }
        None
    }

    /// An error of its event ends the user; the event is counted already.
    pub(super) fn end_after(&mut self, shard: &mut ShardContext, ended: UserEnded) {
        shard.user_is_free();
        self.activity = Activity::Resting;
        if let Link::Open(_) = self.link {
            shard.meter.user_gone(self.endpoint.index);
        }
        self.close(shard);
        self.end(shard, ended);
    }

    /// Its script ended in a transaction: what it did is not committed, and the next event's BEGIN
    /// would not begin one. The event is counted already.
    pub(super) fn end_in_transaction(&mut self, shard: &mut ShardContext) {
        let code = self.endpoint.family.code_of(Fault::NoData);
        let ended = self.ended(code, "the script ends in a transaction".to_owned());
        self.machine.abandon();
        self.end_after(shard, ended);
    }

    /// The loss of its connection ends the user, and the event in flight has failed. A user that had
    /// nothing to do any more has ended already.
    pub(super) fn end_after_loss(&mut self, shard: &mut ShardContext, loss: &Loss, now: Nanos) {
        let has_work = shard.is_loading() && !self.has_no_event_left();
        let is_at_work = has_work || matches!(self.activity, Activity::Busy(_));
        let ended = self.ended(loss.code, loss.message.clone());
        shard.meter.user_gone(self.endpoint.index);
        self.events_left = Some(0);
        self.event_lost(shard, loss, now);
        if is_at_work {
            self.end(shard, ended);
        }
    }

    /// It cannot connect under load; an event that waited for that does not start.
    pub(super) fn end_without_connection(&mut self, shard: &mut ShardContext, ended: UserEnded) {
        self.renews = false;
        if let Activity::Waiting { .. } = self.activity {
            shard.meter.event_skipped(self.member);
        }
        self.activity = Activity::Resting;
        self.end(shard, ended);
    }

    /// The record of its end by an error at the current command.
    pub(super) fn ended(&self, code: ErrorCode, message: String) -> UserEnded {
        let command = self.machine.command();
        UserEnded { user: u64::from(self.index), member: self.member, command, code, message }
    }

    fn end(&mut self, shard: &ShardContext, ended: UserEnded) {
        self.events_left = Some(0);
        shard.send(Message::UserEnded(ended));
    }
}
