//! When a scripted user's events begin: as a native user's do.

use super::turns::Given;
use super::{Activity, Part, Scripted};
use crate::core::{Core, Stage};
use crate::meter::{ALONE, HeldBy, Whose};
use crate::timers::Alarm;
use loadstone_measure::Nanos;

impl Scripted {
    /// The load begins at `at`.
    pub(crate) fn begin(&mut self, core: &mut Core, at: Nanos) {
        if !self.waits_for_event() {
            return;
        }
        let now = core.now();
        let given = if core.open.is_some() {
            self.schedule(core, now)
        } else {
            self.becomes_due(core, at, now)
        };
        self.go_on(core, given);
    }

    /// It was told to rest, and may begin events again.
    pub(crate) fn go_on_after_rest(&mut self, core: &mut Core) {
        // One that never came to rest goes on by itself.
        if std::mem::take(&mut self.rests) && self.waits_for_event() {
            let now = core.now();
            let given = self.schedule(core, now);
            self.go_on(core, given);
        }
    }

    /// An event of the open loop is due, and this user is first in the row of the free ones.
    pub(crate) fn called(&mut self, core: &mut Core) {
        self.in_row = false;
        if self.must_rest(core) || !self.waits_for_event() {
            return;
        }
        let now = core.now();
        if let Some(due) = core.open.as_mut().and_then(|open| open.take_waiting()) {
            let given = self.start(core, due.at, now, HeldBy::Generator);
            self.answer(core, given);
        }
    }

    pub(super) fn has_thought(&mut self, core: &mut Core, due: Nanos, now: Nanos) {
        self.activity = Activity::Resting;
        let given = if core.open.is_some() {
            self.schedule(core, now)
        } else {
            self.becomes_due(core, due, now)
        };
        self.go_on(core, given);
    }

    /// The script asks for its next event: the one before it is over.
    pub(super) fn wants_event(&mut self, core: &mut Core) -> Option<Given> {
        let waited = self.event_over(core);
        match core.stage {
            Stage::Connecting => {
                self.connected(core);
                None
            }
            Stage::Loading if waited => {
                let now = core.now();
                self.schedule(core, now)
            }
            // An event that waited for nothing would otherwise begin the next one from in here, and no
            // other user would have its turn.
            Stage::Loading => {
                let due = core.now() + Nanos(1);
                self.think(core, due);
                None
            }
            Stage::Draining { .. } | Stage::Over => Some(Given::NoMore),
        }
    }

    /// The event in flight has succeeded, unless the script has called it off; whether it, or the last one
    /// if that was over before, has waited for anything.
    pub(super) fn event_over(&mut self, core: &mut Core) -> bool {
        let Activity::Busy { due, began, asked } = self.activity else { return self.has_waited };
        self.has_waited = asked;
        let now = core.now();
        if self.script.has_cancelled() {
            core.meter.event_failed(ALONE);
            core.meter.user_failed(self.index);
        } else {
            core.meter.event_succeeded(
                Whose::of_target(self.endpoint.index),
                now - due,
                now - began,
            );
            core.meter.of_user(self.index, core.since_begin(now), now - due);
        }
        core.busy -= 1;
        self.activity = Activity::Resting;
        asked
    }

    fn waits_for_event(&self) -> bool {
        self.part == Part::ThreadRun && self.activity == Activity::Resting
    }

    fn go_on(&mut self, core: &mut Core, given: Option<Given>) {
        if let Some(given) = given {
            self.answer(core, given);
        }
    }

    /// The user is free: which event is its next one?
    fn schedule(&mut self, core: &mut Core, now: Nanos) -> Option<Given> {
        if core.open.is_some() {
            return self.take_waiting(core, now);
        }
        let think = core.settings.think;
        if think > Nanos::ZERO {
            self.think(core, now + think);
            return None;
        }
        self.becomes_due(core, now, now)
    }

    fn think(&mut self, core: &mut Core, due: Nanos) {
        self.activity = Activity::Thinking { due };
        core.timers.set(due, self.index, Alarm::Due);
    }

    fn take_waiting(&mut self, core: &mut Core, now: Nanos) -> Option<Given> {
        if self.must_rest(core) {
            return None;
        }
        let open = core.open.as_mut()?;
        if let Some(due) = open.take_waiting() {
            return Some(self.start(core, due.at, now, HeldBy::Users));
        }
        if !self.in_row {
            self.in_row = true;
            open.put_free(self.index);
        }
        None
    }

    fn becomes_due(&mut self, core: &mut Core, due: Nanos, now: Nanos) -> Option<Given> {
        if !core.is_loading() || self.must_rest(core) || !core.claim_event(now) {
            return None;
        }
        core.meter.became_due(ALONE);
        Some(self.start(core, due, now, HeldBy::Generator))
    }

    fn must_rest(&mut self, core: &Core) -> bool {
        self.rests |= core.rests(self.index);
        self.rests
    }

    fn start(&mut self, core: &mut Core, due: Nanos, now: Nanos, held_by: HeldBy) -> Given {
        core.meter.event_started(ALONE, now - due, held_by);
        core.busy += 1;
        self.activity = Activity::Busy { due, began: now, asked: false };
        Given::Done
    }
}
