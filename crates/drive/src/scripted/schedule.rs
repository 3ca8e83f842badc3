//! Decides when the events of a scripted user start, by the same rules as for native users.

use super::resume::Resume;
use super::{Activity, Part, Scripted};
use crate::metering::{ALONE, HeldBy, Labels};
use crate::shard::{Alarm, ShardContext, Stage};
use loadstone_measure::Nanos;

impl Scripted {
    /// The load starts at `at`.
    pub(crate) fn begin(&mut self, shard: &mut ShardContext, at: Nanos) {
        if !self.waits_for_event() {
            return;
        }
        let now = shard.now();
        let resume = if shard.open.is_some() {
            self.schedule(shard, now)
        } else {
            self.becomes_due(shard, at, now)
        };
        self.go_on(shard, resume);
    }

    /// The user had to rest and may start events again.
    pub(crate) fn go_on_after_rest(&mut self, shard: &mut ShardContext) {
        // A user that never came to rest continues by itself.
        if std::mem::take(&mut self.rests) && self.waits_for_event() {
            let now = shard.now();
            let resume = self.schedule(shard, now);
            self.go_on(shard, resume);
        }
    }

    /// An event of the open loop is due, and this user is first in the queue of free users.
    pub(crate) fn dispatch(&mut self, shard: &mut ShardContext) {
        self.in_row = false;
        if self.must_rest(shard) || !self.waits_for_event() {
            return;
        }
        let now = shard.now();
        if let Some(due) = shard.open.as_mut().and_then(|open| open.take_waiting()) {
            let resume = self.start(shard, due.at, now, HeldBy::Generator);
            self.answer(shard, resume);
        }
    }

    pub(super) fn has_thought(&mut self, shard: &mut ShardContext, due: Nanos, now: Nanos) {
        self.activity = Activity::Resting;
        let resume = if shard.open.is_some() {
            self.schedule(shard, now)
        } else {
            self.becomes_due(shard, due, now)
        };
        self.go_on(shard, resume);
    }

    /// The script asks for its next event: the previous one is over.
    pub(super) fn wants_event(&mut self, shard: &mut ShardContext) -> Option<Resume> {
        let waited = self.event_over(shard);
        match shard.stage {
            Stage::Connecting => {
                self.connected(shard);
                None
            }
            Stage::Loading if waited => {
                let now = shard.now();
                self.schedule(shard, now)
            }
            // An event that waited for nothing would otherwise start the next one from in here, and
            // no other user would have its turn.
            Stage::Loading => {
                let due = shard.now() + Nanos(1);
                self.think(shard, due);
                None
            }
            Stage::Draining { .. } | Stage::Over => Some(Resume::NoMore),
        }
    }

    /// The event in flight ends: counts it if it was restarted.
    pub(super) fn count_retried(&mut self, shard: &mut ShardContext) {
        if std::mem::take(&mut self.has_restarted) {
            shard.meter.retried(ALONE);
        }
    }

    /// The event in flight has succeeded, unless the script has cancelled it. Returns whether it,
    /// or the last one if that was over before, has waited for anything.
    pub(super) fn event_over(&mut self, shard: &mut ShardContext) -> bool {
        let Activity::Busy { due, began, asked } = self.activity else { return self.has_waited };
        self.has_waited = asked;
        self.count_retried(shard);
        let now = shard.now();
        if self.script.has_cancelled() {
            shard.meter.event_failed(ALONE);
            shard.meter.user_failed(self.index);
        } else {
            shard.count_unfinished(ALONE, due, Some(began));
            shard.meter.event_succeeded(
                Labels::of_target(self.endpoint.index),
                now - due,
                now - began,
            );
            shard.meter.of_user(self.index, shard.since_begin(now), now - due);
        }
        shard.user_is_free();
        self.activity = Activity::Resting;
        asked
    }

    /// The step ends, and nobody waits for the end of the event in flight any more.
    pub(crate) fn cut_off(&self, shard: &mut ShardContext) {
        if let Activity::Busy { due, began, .. } = self.activity {
            shard.count_unfinished(ALONE, due, Some(began));
        }
    }

    fn waits_for_event(&self) -> bool {
        self.part == Part::ThreadRun && self.activity == Activity::Resting
    }

    fn go_on(&mut self, shard: &mut ShardContext, resume: Option<Resume>) {
        if let Some(resume) = resume {
            self.answer(shard, resume);
        }
    }

    /// The user is free: finds its next event.
    fn schedule(&mut self, shard: &mut ShardContext, now: Nanos) -> Option<Resume> {
        if shard.open.is_some() {
            return self.take_waiting(shard, now);
        }
        let think = shard.settings.think;
        if think > Nanos::ZERO {
            self.think(shard, now + think);
            return None;
        }
        self.becomes_due(shard, now, now)
    }

    fn think(&mut self, shard: &mut ShardContext, due: Nanos) {
        self.activity = Activity::Thinking { due };
        shard.timers.set(due, self.index, Alarm::Due);
    }

    fn take_waiting(&mut self, shard: &mut ShardContext, now: Nanos) -> Option<Resume> {
        if self.must_rest(shard) {
            return None;
        }
        let open = shard.open.as_mut()?;
        if let Some(due) = open.take_waiting() {
            return Some(self.start(shard, due.at, now, HeldBy::Users));
        }
        if !self.in_row {
            self.in_row = true;
            open.put_free(self.index);
        }
        None
    }

    fn becomes_due(&mut self, shard: &mut ShardContext, due: Nanos, now: Nanos) -> Option<Resume> {
        if !shard.is_loading() || self.must_rest(shard) || !shard.claim_event(now) {
            return None;
        }
        shard.meter.became_due(ALONE);
        Some(self.start(shard, due, now, HeldBy::Generator))
    }

    fn must_rest(&mut self, shard: &ShardContext) -> bool {
        self.rests |= shard.rests(self.index);
        self.rests
    }

    fn start(
        &mut self,
        shard: &mut ShardContext,
        due: Nanos,
        now: Nanos,
        held_by: HeldBy,
    ) -> Resume {
        shard.meter.event_started(ALONE, now - due, held_by);
        shard.busy += 1;
        self.activity = Activity::Busy { due, began: now, asked: false };
        Resume::Done
    }
}
