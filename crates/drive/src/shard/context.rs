//! The context of a shard: what its virtual users share, and how far the shard is in the step.

use super::connect_queue::ConnectQueue;
use super::control::Control;
use super::farewells::Farewells;
use super::messages::{Message, ShardSender};
use super::open_loop::{Admitted, OpenLoop};
use super::sched_policy::SchedPolicy;
use super::timers::Timers;
use crate::clock::Clock;
use crate::connection::{Poller, ServerFamily};
use crate::error::Failure;
use crate::metering::Meter;
use crate::plan::{ConnectPlan, OnError, Protocol, RUN, RestartOn, TryLimit};
use crate::programs::Programs;
use crate::record::Connected;
use loadstone_measure::Nanos;
use loadstone_protocol::ErrorCode;
use loadstone_script::{IgnoredErrors, ScriptPlan};
use loadstone_workload::{Catalogue, Params, Undone};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Events in flight when the step is asked to stop are finished, within this time.
const STOPPED_DRAIN: Nanos = Nanos::from_millis(5_000);

/// Settings that all shards of a step share.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) control: Arc<Control>,
    pub(crate) clock: Clock,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) protocol: Protocol,
    pub(crate) on_error: OnError,
    pub(crate) restart_on: Option<RestartOn>,
    /// How often an event is tried, if that is limited.
    pub(crate) try_limit: Option<TryLimit>,
    /// The targets' family.
    pub(crate) family: ServerFamily,
    /// How long events in flight at the window's end may take.
    pub(crate) longest_drain: Nanos,
    pub(crate) connect: ConnectPlan,
    /// After this many events a user closes its connection and opens another.
    pub(crate) reconnect_after: Option<NonZeroU32>,
    /// When the window starts, since the load started.
    pub(crate) window_begins: Nanos,
    /// How long a user of a closed loop thinks between two events.
    pub(crate) think: Nanos,
    /// The script that drives the users, if any.
    pub(crate) script: Option<Arc<ScriptPlan>>,
    /// The number of virtual users of all shards of this engine.
    pub(crate) own_users: u32,
}

impl Settings {
    /// Whether a script restarts its event after this error.
    pub(crate) fn ignores(&self, code: ErrorCode) -> bool {
        self.script.as_ref().is_some_and(|script| match &script.ignored_errors {
            IgnoredErrors::All => true,
            IgnoredErrors::These(codes) => codes.contains(&code.code),
        })
    }

    /// Whether each error of this code is reported, not only the first.
    pub(crate) fn tells_each(&self, code: ErrorCode) -> bool {
        self.script.as_ref().is_some_and(|script| script.each_error) && !self.ignores(code)
    }

    /// The command of a script that drives no events.
    pub(crate) fn script_command(&self) -> Option<&str> {
        let command = self.script.as_ref()?.command.as_deref()?;
        (command != RUN).then_some(command)
    }

    /// Whether errors with this code restart the event.
    fn restarts(&self, code: ErrorCode) -> bool {
        let is_listed = match &self.restart_on {
            Some(listed) => listed.has(code.code),
            None => self.family.usual().restarts.contains(&code.code),
        };
        self.on_error.restarts() && is_listed
    }
}

/// What an error means for an event and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterError {
    /// The event is tried again.
    Restart,
    /// The event has failed.
    Fail,
    /// The event has failed, and its user ends.
    EndUser,
    /// The event has failed, and the step ends.
    EndStep,
}

/// How far a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Users are logging in. Next: `Loading` when all shards' users are logged in, or `Over` when
    /// stopped.
    Connecting,
    /// Events become due. Next: `Draining` when the stop rule or the coordinator says so.
    Loading,
    /// Events in flight are finished. Next: `Over` when none is left, or it takes too long.
    Draining {
        until: Nanos,
    },
    Over,
}

/// What all users of a shard need to do their work.
pub(crate) struct ShardContext {
    pub(crate) settings: Arc<Settings>,
    pub(crate) poller: Poller,
    pub(crate) meter: Meter,
    pub(crate) timers: Timers,
    pub(crate) connect_queue: ConnectQueue,
    pub(crate) farewells: Farewells,
    /// The open loop, if events are due by a schedule of their own.
    pub(crate) open: Option<OpenLoop>,
    /// The programs that users run, since the first one did.
    pub(crate) programs: Option<Programs>,
    pub(crate) stage: Stage,
    /// Users that have an event in flight or are rolling one back.
    pub(crate) busy: u64,
    /// What is known of the connections before the load starts.
    pub(crate) connected: Connected,
    /// The command about to be sent; kept so that no event allocates.
    pub(crate) command: Vec<u8>,
    pub(crate) params: Params,
    /// When the poller last returned.
    pub(crate) woken: Nanos,
    /// What it reported arrived later than this.
    pub(crate) arrived_after: Nanos,
    /// Tokens of users whose sockets may hold more data; others have their turn first.
    pub(crate) again: Vec<u64>,
    /// The stop rule's last event is claimed.
    pub(crate) exhausted: bool,
    /// How many more events of the open loop may become due in the window, if each user has a number
    /// of its own.
    events_of_open_loop: Option<u64>,
    sched_policy: SchedPolicy,
    /// Users with a lower place than this may start events; the others rest.
    active: u32,
    /// The number of the last applied change of the load.
    applied: u64,
    /// The shard's index in the step.
    shard: usize,
    coordinator: ShardSender,
    /// When the load started, on the step's clock.
    began: Nanos,
    /// When the meter's interval ends, on the step's clock.
    next_cut: Nanos,
}

/// What a shard starts with.
pub(crate) struct Parts {
    pub(crate) meter: Meter,
    pub(crate) connect_queue: ConnectQueue,
    pub(crate) farewells: Farewells,
    pub(crate) open: Option<OpenLoop>,
    pub(crate) events_of_open_loop: Option<u64>,
    pub(crate) sched_policy: SchedPolicy,
}

impl ShardContext {
    pub(crate) fn new(
        settings: Arc<Settings>,
        parts: Parts,
        coordinator: ShardSender,
    ) -> std::io::Result<Self> {
        Ok(Self {
            settings,
            poller: Poller::new()?,
            meter: parts.meter,
            timers: Timers::default(),
            connect_queue: parts.connect_queue,
            farewells: parts.farewells,
            open: parts.open,
            programs: None,
            stage: Stage::Connecting,
            busy: 0,
            connected: Connected::default(),
            command: Vec::with_capacity(4096),
            params: Params::default(),
            woken: Nanos::ZERO,
            arrived_after: Nanos::ZERO,
            again: Vec::new(),
            exhausted: false,
            events_of_open_loop: parts.events_of_open_loop,
            sched_policy: parts.sched_policy,
            active: u32::MAX,
            applied: 0,
            shard: coordinator.shard,
            coordinator,
            began: Nanos::ZERO,
            next_cut: Nanos::MAX,
        })
    }

    /// The time. Intervals that have ended by now are handed over first, so that what is counted
    /// next belongs to the right interval.
    pub(crate) fn now(&mut self) -> Nanos {
        let now = self.settings.clock.now();
        if now >= self.next_cut {
            self.cut_intervals(now);
        }
        now
    }

    /// An instant in seconds on the run's clock.
    pub(crate) fn since_begin(&self, now: Nanos) -> Nanos {
        now.since(self.began)
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.stage == Stage::Loading
    }

    pub(crate) fn begin_load(&mut self, at: Nanos) {
        self.began = at;
        self.stage = Stage::Loading;
        self.active = self.settings.control.active_in(self.shard);
        self.sched_policy.begin();
        self.meter.begin();
        self.next_cut = at + self.meter.next_boundary();
        let held = self.settings.control.is_held();
        if let Some(open) = &mut self.open {
            open.begin(at);
            open.hold(held);
        }
    }

    /// Counts how long an answer waited, at most, before it is taken now; its command was sent at
    /// `sent`.
    pub(crate) fn count_queued(&mut self, sent: Nanos, now: Nanos) {
        self.meter.held(now - self.arrived_after.max(sent));
    }

    /// Counts how long what was sent at once took up to its last answer, where several statements may
    /// be.
    pub(crate) fn count_flight(&mut self, took: Nanos) {
        if self.settings.protocol == Protocol::Pipelined {
            self.meter.flight(took);
        }
    }

    /// Counts an event that ends in the drain, or never: what it had taken when the window ended is
    /// known to be less than it took. Does nothing before the drain. It was due at `due`, and is in
    /// flight since `began`.
    pub(crate) fn count_unfinished(&mut self, member: u16, due: Nanos, began: Option<Nanos>) {
        if matches!(self.stage, Stage::Draining { .. }) {
            let since = |at: Nanos| at.since(self.began);
            self.meter.event_unfinished(member, since(due), began.map(since));
        }
    }

    /// What this error means for an event that was tried so often, the first time `age` ago.
    /// `may_pass`: whatever the plan lists, another attempt is worth it.
    pub(crate) fn after_error(
        &self,
        code: ErrorCode,
        tries: u32,
        age: Nanos,
        may_pass: bool,
    ) -> AfterError {
        let settings = &self.settings;
        if settings.restarts(code) || (may_pass && settings.on_error.restarts()) {
            let again = |limit: TryLimit| self.is_loading() && limit.allows(tries, age);
            let is_allowed = settings.try_limit.is_none_or(again);
            return if is_allowed { AfterError::Restart } else { AfterError::Fail };
        }
        match settings.on_error {
            OnError::Continue => AfterError::Fail,
            OnError::EndUser => AfterError::EndUser,
            OnError::Restart | OnError::Stop => AfterError::EndStep,
        }
    }

    /// What comes of an event that was tried so often and was due `age` ago: nothing is left of its
    /// attempt.
    pub(crate) fn undone(&self, restarts: bool, tries: u32, age: Nanos) -> Undone {
        let limit = self.settings.try_limit;
        Undone {
            restarts,
            tries,
            most_tries: limit.and_then(TryLimit::most),
            time_used: limit.and_then(|limit| limit.time_used(age)),
            is_loading: self.is_loading(),
        }
    }

    /// Has a program run for a user; returns its number among those of the shard.
    ///
    /// # Errors
    /// The operating system refuses a thread.
    pub(crate) fn run_program(
        &mut self,
        user: u32,
        command: &[u8],
        wants_line: bool,
    ) -> std::io::Result<u64> {
        let (control, shard) = (&self.settings.control, self.shard);
        let programs = self.programs.get_or_insert_with(|| {
            let control = control.clone();
            Programs::new(move || control.wake_one(shard))
        });
        programs.run(user, command, wants_line)
    }

    /// A user that counted as busy no longer does.
    pub(crate) fn user_is_free(&mut self) {
        // A number below zero would be a huge one, and no drain would ever end.
        self.busy = self.busy.checked_sub(1).expect("a user that is freed was busy");
    }

    /// Whether this user must not start events at present.
    pub(crate) fn rests(&self, user: u32) -> bool {
        user >= self.active
    }

    /// Applies the changes requested since the last call; returns which users may start events
    /// again.
    pub(crate) fn apply_changes(&mut self) -> std::ops::Range<u32> {
        let nobody = 0..0;
        let changes = self.settings.control.changes();
        // A change requested before the load applies from its start.
        if changes == self.applied || !self.is_loading() {
            return nobody;
        }
        self.applied = changes;
        let now = self.now();
        // Handing over an interval may have ended the load.
        if !self.is_loading() {
            return nobody;
        }
        // What was due before the change belongs to the load before it.
        self.admit_due(now);
        let held = self.settings.control.is_held();
        if let Some(open) = &mut self.open {
            open.hold(held);
        }
        if held {
            self.give_up_waiting();
        }
        if let Some(rate) = self.settings.control.rate()
            && let Some(open) = &mut self.open
        {
            open.change_rate(now, rate);
        }
        let before = self.active;
        self.active = self.settings.control.active_in(self.shard);
        before..self.active
    }

    /// Events of the open loop that are due before `until` wait from now on, or are skipped.
    pub(crate) fn admit_due(&mut self, until: Nanos) {
        while self.next_due() < until {
            let due = self.next_due();
            if !self.claim_event(due) {
                return;
            }
            let Some(open) = &mut self.open else { return };
            let (admitted, member) = open.admit();
            self.meter.became_due(member);
            if admitted == Admitted::Skipped {
                self.meter.event_skipped(member);
            }
        }
    }

    /// When the next event of the open loop is due; never in a closed loop, or when none may start.
    fn next_due(&self) -> Nanos {
        match &self.open {
            Some(open) if self.is_loading() && !self.exhausted => open.next_due(),
            _ => Nanos::MAX,
        }
    }

    /// No more events start: those that wait are skipped.
    fn give_up_waiting(&mut self) {
        while let Some(due) = self.open.as_mut().and_then(OpenLoop::take_waiting) {
            self.count_unfinished(due.member, due.at, None);
            self.meter.event_skipped(due.member);
        }
    }

    /// Whether the stop rule allows one more event to start.
    pub(crate) fn claim_event(&mut self, now: Nanos) -> bool {
        if !self.is_in_window(now) {
            return true;
        }
        let claimed = match &mut self.events_of_open_loop {
            None => self.settings.control.claim_event(),
            Some(left) => {
                let claimed = *left > 0;
                *left = left.saturating_sub(1);
                claimed
            }
        };
        self.exhausted |= !claimed;
        claimed
    }

    /// Whether an event that is due, or starts, at `at` counts for the stop rule.
    pub(crate) fn is_in_window(&self, at: Nanos) -> bool {
        self.since_begin(at) >= self.settings.window_begins
    }

    /// No more events start; those in flight are finished.
    pub(crate) fn drain(&mut self, now: Nanos) {
        self.admit_due(now.min(self.began + self.meter.next_boundary()));
        let interval = self.meter.cut(self.since_begin(now));
        self.send(Message::Interval(Box::new(interval)));
        self.meter.drain();
        self.next_cut = Nanos::MAX;
        self.stage = Stage::Draining { until: now + self.settings.longest_drain };
        self.give_up_waiting();
    }

    /// The step was asked to stop: whatever its plan allows, events in flight now have
    /// [`STOPPED_DRAIN`] to finish.
    pub(crate) fn shorten_drain(&mut self, now: Nanos) {
        if let Stage::Draining { until } = &mut self.stage {
            *until = (*until).min(now + STOPPED_DRAIN);
        }
    }

    /// Sends the shard's last messages.
    pub(crate) fn finish(&mut self) {
        match self.stage {
            Stage::Draining { .. } => {
                let now = self.settings.clock.now();
                self.meter.end_pauses(self.since_begin(now));
                let interval = self.meter.cut(self.since_begin(now));
                self.send(Message::Interval(Box::new(interval)));
            }
            // Only this interval says why a step failed before it started.
            Stage::Connecting if self.meter.has_trouble() => {
                self.meter.drain();
                let interval = self.meter.cut(Nanos::ZERO);
                self.send(Message::Interval(Box::new(interval)));
            }
            _ => {}
        }
        self.stage = Stage::Over;
    }

    /// The step cannot continue. The coordinator stops all shards.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.send(Message::Failed(failure));
    }

    pub(crate) fn send(&self, message: Message) {
        self.coordinator.send(message);
    }

    /// The next moment at which something must be done even if no socket is ready.
    pub(crate) fn deadline(&self, now: Nanos) -> Nanos {
        let drained = match self.stage {
            Stage::Draining { until } => until,
            _ => Nanos::MAX,
        };
        if !self.again.is_empty() {
            return now;
        }
        let alarm = self.timers.next().unwrap_or(Nanos::MAX);
        // An hour costs nothing and keeps the timer's arithmetic small.
        let idle = now + Nanos::from_millis(3_600_000);
        self.next_cut.min(drained).min(alarm).min(self.next_due()).min(idle)
    }

    fn cut_intervals(&mut self, now: Nanos) {
        let elapsed = self.since_begin(now);
        while self.meter.next_boundary() <= elapsed && !self.meter.is_last() {
            let end = self.meter.next_boundary();
            self.admit_due(self.began + end);
            let interval = self.meter.cut(end);
            self.sched_policy.adapt(interval.cpu, interval.to - interval.from);
            self.send(Message::Interval(Box::new(interval)));
        }
        if self.meter.is_last() && self.meter.next_boundary() <= elapsed {
            self.drain(now);
        } else {
            self.next_cut = self.began + self.meter.next_boundary();
        }
    }
}
