//! When a user's events begin: after its last one in a closed loop; in an open loop when one waits.

use crate::core::Core;
use crate::meter::HeldBy;
use crate::open_loop::Due;
use crate::timers::Alarm;
use crate::user::{Activity, Link, User};
use loadstone_measure::Nanos;

impl User {
    /// The load begins at `at`; it may take a while until all users' turns have come.
    pub(crate) fn begin(&mut self, core: &mut Core, at: Nanos) {
        self.attempt = 0;
        if self.is_idle {
            return self.watch(core);
        }
        if !matches!(self.link, Link::Open(_)) {
            core.meter.user_missing(core.since_begin(at));
            core.meter.user_cut_off(self.index);
        }
        let now = core.now();
        if self.goes_by_schedule(core) {
            self.schedule(core, now);
        } else {
            self.draw_member();
            let pause = self.machine.pause();
            self.becomes_due_after(core, pause, at, now);
        }
        self.watch(core);
    }

    /// The user is free: which event is its next one?
    pub(crate) fn schedule(&mut self, core: &mut Core, now: Nanos) {
        self.activity = Activity::Resting;
        if !core.is_loading() || self.is_idle {
            return;
        }
        if self.goes_by_schedule(core) {
            return self.take_waiting(core, now);
        }
        self.draw_member();
        let pause = self.think + self.machine.pause();
        self.becomes_due_after(core, pause, now, now);
    }

    /// Whether its events are due by the schedule of an open loop.
    fn goes_by_schedule(&self, core: &Core) -> bool {
        core.open.is_some() && !self.is_beside
    }

    /// Closed loop, in a mix: whose event is the next one?
    fn draw_member(&mut self) {
        if let Some(lot) = &mut self.lot {
            self.member = lot.draw();
            self.machine.turn_to(self.member);
        }
    }

    /// Closed loop: the user's next event, a while after `from`.
    fn becomes_due_after(&mut self, core: &mut Core, pause: Nanos, from: Nanos, now: Nanos) {
        if pause > Nanos::ZERO {
            self.think(core, from + pause);
        } else {
            self.becomes_due(core, from, now);
        }
    }

    pub(crate) fn think(&mut self, core: &mut Core, due: Nanos) {
        self.activity = Activity::Thinking { due };
        core.timers.set(due, self.index, Alarm::Due);
    }

    pub(crate) fn has_thought(&mut self, core: &mut Core, due: Nanos, now: Nanos) {
        self.activity = Activity::Resting;
        if self.goes_by_schedule(core) {
            self.schedule(core, now);
        } else {
            self.becomes_due(core, due, now);
        }
    }

    /// It was told to rest, and may begin events again.
    pub(crate) fn go_on_after_rest(&mut self, core: &mut Core) {
        // One that never came to rest goes on by itself.
        if matches!(self.activity, Activity::Resting) {
            let now = core.now();
            self.schedule(core, now);
            self.watch(core);
        }
    }

    /// An event of the open loop is due, and this user is first in the row of the free ones.
    pub(crate) fn called(&mut self, core: &mut Core) {
        self.in_row = false;
        if core.rests(self.index) {
            return;
        }
        if !self.is_ready() || !matches!(self.activity, Activity::Resting) {
            return;
        }
        let now = core.now();
        if let Some(due) = core.open.as_mut().and_then(|open| open.take_waiting()) {
            self.take(core, due, now, HeldBy::Generator);
        }
        self.watch(core);
    }

    /// A connection is there again.
    pub(crate) fn reconnected(&mut self, core: &mut Core, now: Nanos) {
        if !core.is_loading() {
            return;
        }
        match self.activity {
            Activity::Waiting { due } => self.start(core, due, now, HeldBy::Users),
            Activity::Resting if self.goes_by_schedule(core) => self.schedule(core, now),
            _ => {}
        }
    }

    /// The step ends: an event that is due and has no connection does not begin any more, and one in flight
    /// gets no answer.
    pub(crate) fn give_up_waiting(&mut self, core: &mut Core) {
        self.cut_off(core);
        if matches!(self.activity, Activity::Waiting { .. }) {
            self.activity = Activity::Resting;
            core.meter.event_skipped(self.member);
        }
    }

    /// Whether an event of this user is due or in flight.
    pub(crate) fn has_event(&self) -> bool {
        matches!(self.activity, Activity::Waiting { .. } | Activity::Busy(_))
    }

    /// Open loop: the event that has waited longest, or a place in the row of the free users.
    fn take_waiting(&mut self, core: &mut Core, now: Nanos) {
        if !self.is_ready() || core.rests(self.index) {
            return;
        }
        let Some(open) = &mut core.open else { return };
        if let Some(due) = open.take_waiting() {
            self.take(core, due, now, HeldBy::Users);
        } else if !self.in_row {
            self.in_row = true;
            open.put_free(self.index);
        }
    }

    /// Closed loop: the user's next event.
    fn becomes_due(&mut self, core: &mut Core, due: Nanos, now: Nanos) {
        if !core.is_loading() || core.rests(self.index) || !core.claim_event(now) {
            return;
        }
        core.meter.became_due(self.member);
        self.start_or_connect(core, due, now, HeldBy::Generator);
    }

    /// Open loop: this event is the user's.
    fn take(&mut self, core: &mut Core, due: Due, now: Nanos, held_by: HeldBy) {
        if self.lot.is_some() {
            self.member = due.member;
            self.machine.turn_to(due.member);
        }
        self.start_or_connect(core, due.at, now, held_by);
    }

    /// Begins the event that is due; where there is no connection, it waits for one.
    fn start_or_connect(&mut self, core: &mut Core, due: Nanos, now: Nanos, held_by: HeldBy) {
        if matches!(self.link, Link::Open(_)) {
            return self.start(core, due, now, held_by);
        }
        self.activity = Activity::Waiting { due };
        if self.renews {
            core.ramp.enqueue(self.index);
        }
    }

    fn start(&mut self, core: &mut Core, due: Nanos, now: Nanos, held_by: HeldBy) {
        core.meter.event_started(self.member, now - due, held_by);
        core.busy += 1;
        self.begin_attempt(core, due, now);
    }
}
