//! Decides when the events of a native user start: after its last one in a closed loop, when one
//! waits in an open loop.

use super::{Activity, Course, Link, User};
use crate::metering::HeldBy;
use crate::shard::{Alarm, Due, ShardContext};
use loadstone_measure::Nanos;

impl User {
    /// The load starts at `at`; it may take a while until all users' turns have come.
    pub(crate) fn begin(&mut self, shard: &mut ShardContext, at: Nanos) {
        self.attempt = 0;
        if self.is_idle {
            return self.watch(shard);
        }
        if !matches!(self.link, Link::Open(_)) {
            shard.meter.user_missing(shard.since_begin(at));
            shard.meter.user_cut_off(self.index);
        }
        let now = shard.now();
        if self.goes_by_schedule(shard) {
            self.schedule(shard, now);
        } else {
            self.draw_member();
            let pause = self.machine.pause();
            self.becomes_due_after(shard, pause, at, now);
        }
        self.watch(shard);
    }

    /// The user is free: finds its next event.
    pub(crate) fn schedule(&mut self, shard: &mut ShardContext, now: Nanos) {
        self.activity = Activity::Resting;
        if !shard.is_loading() || self.is_idle || self.has_no_event_left() {
            return;
        }
        if self.goes_by_schedule(shard) {
            return self.take_waiting(shard, now);
        }
        self.draw_member();
        let pause = self.think + self.machine.pause();
        self.becomes_due_after(shard, pause, now, now);
    }

    /// Whether its events are due by the schedule of an open loop.
    fn goes_by_schedule(&self, shard: &ShardContext) -> bool {
        shard.open.is_some() && !self.is_closed_loop
    }

    /// Closed loop, in a mix: draws the member of the next event.
    fn draw_member(&mut self) {
        if let Some(picker) = &mut self.picker {
            self.member = picker.draw();
            self.machine.select(self.member);
        }
    }

    /// Closed loop: the user's next event, some time after `from`.
    fn becomes_due_after(
        &mut self,
        shard: &mut ShardContext,
        pause: Nanos,
        from: Nanos,
        now: Nanos,
    ) {
        if pause > Nanos::ZERO {
            self.think(shard, from + pause);
        } else {
            self.becomes_due(shard, from, now);
        }
    }

    pub(crate) fn think(&mut self, shard: &mut ShardContext, due: Nanos) {
        self.activity = Activity::Thinking { due };
        shard.timers.set(due, self.index, Alarm::Due);
    }

    pub(crate) fn has_thought(&mut self, shard: &mut ShardContext, due: Nanos, now: Nanos) {
        self.activity = Activity::Resting;
        if self.goes_by_schedule(shard) {
            self.schedule(shard, now);
        } else {
            self.becomes_due(shard, due, now);
        }
    }

    /// The user had to rest and may start events again.
    pub(crate) fn go_on_after_rest(&mut self, shard: &mut ShardContext) {
        // A user that never came to rest continues by itself.
        if matches!(self.activity, Activity::Resting) {
            let now = shard.now();
            self.schedule(shard, now);
            self.watch(shard);
        }
    }

    /// An event of the open loop is due, and this user is first in the queue of free users.
    pub(crate) fn dispatch(&mut self, shard: &mut ShardContext) {
        self.in_row = false;
        if shard.rests(self.index) {
            return;
        }
        if !self.is_ready() || !matches!(self.activity, Activity::Resting) {
            return;
        }
        let now = shard.now();
        match self.next_waiting(shard, now) {
            Some(due) => self.take(shard, due, now, HeldBy::Generator),
            None => self.wait_in_row(shard),
        }
        self.watch(shard);
    }

    /// The connection is open again.
    pub(crate) fn reconnected(&mut self, shard: &mut ShardContext, now: Nanos) {
        if !shard.is_loading() {
            return;
        }
        match self.activity {
            Activity::Waiting { due } => self.start(shard, due, now, HeldBy::Users),
            Activity::Resting if self.goes_by_schedule(shard) => self.schedule(shard, now),
            _ => {}
        }
    }

    /// The step ends: an event that is due and has no connection no longer starts, and one in
    /// flight gets no answer.
    pub(crate) fn give_up_waiting(&mut self, shard: &mut ShardContext) {
        self.cut_off(shard);
        if let Activity::Waiting { due } = self.activity {
            shard.count_unfinished(self.member, due, None);
            self.activity = Activity::Resting;
            shard.meter.event_skipped(self.member);
        }
    }

    /// Whether an event of this user is due or in flight.
    pub(crate) fn has_event(&self) -> bool {
        matches!(self.activity, Activity::Waiting { .. } | Activity::Busy(_))
    }

    /// Open loop: takes the event that has waited longest, or a place in the queue of free users.
    fn take_waiting(&mut self, shard: &mut ShardContext, now: Nanos) {
        if !self.is_ready() || shard.rests(self.index) {
            return;
        }
        match self.next_waiting(shard, now) {
            Some(due) => self.take(shard, due, now, HeldBy::Users),
            None => self.wait_in_row(shard),
        }
    }

    /// Open loop: waits for an event in the queue of free users.
    fn wait_in_row(&mut self, shard: &mut ShardContext) {
        if !self.in_row
            && !self.has_no_event_left()
            && let Some(open) = &mut shard.open
        {
            self.in_row = true;
            open.put_free(self.index);
        }
    }

    /// Closed loop: the user's next event.
    fn becomes_due(&mut self, shard: &mut ShardContext, due: Nanos, now: Nanos) {
        if !shard.is_loading() || shard.rests(self.index) || !self.claim_event(shard, now) {
            return;
        }
        shard.meter.became_due(self.member);
        self.start_or_connect(shard, due, now, HeldBy::Generator);
    }

    /// Open loop: the user takes this event.
    fn take(&mut self, shard: &mut ShardContext, due: Due, now: Nanos, held_by: HeldBy) {
        if self.picker.is_some() {
            self.member = due.member;
            self.machine.select(due.member);
        }
        self.start_or_connect(shard, due.at, now, held_by);
    }

    /// Starts the event that is due; if there is no connection, it waits for one.
    fn start_or_connect(
        &mut self,
        shard: &mut ShardContext,
        due: Nanos,
        now: Nanos,
        held_by: HeldBy,
    ) {
        if matches!(self.link, Link::Open(_)) {
            return self.start(shard, due, now, held_by);
        }
        self.activity = Activity::Waiting { due };
        if self.renews {
            shard.connect_queue.enqueue(self.index);
        }
    }

    fn start(&mut self, shard: &mut ShardContext, due: Nanos, now: Nanos, held_by: HeldBy) {
        shard.meter.event_started(self.member, now - due, held_by);
        shard.busy += 1;
        let course = Course { due, started: now, tries: 1, unknown_handles: 0 };
        self.begin_attempt(shard, course, now);
    }
}
