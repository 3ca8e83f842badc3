//! Counting: on each shard, interval by interval, and over all shards.
//!
//! [`Meter`] counts on one shard. [`Boundaries`] decides where its intervals end; [`Merge`] adds up
//! those of all shards.

mod boundaries;
mod commands;
mod event_log;
mod interval;
mod merge;
mod outages;
mod pauses;
mod run_delay;
mod spares;

pub(crate) use boundaries::Boundaries;
pub(crate) use event_log::{EndedEvent, EventLog};
pub(crate) use interval::Interval;
pub(crate) use merge::{Merge, Whole};
pub(crate) use outages::Outages;
pub(crate) use spares::Spares;

use crate::clock::thread_cpu;
use crate::record::{Counts, FirstError, IdleCounts, TargetCounts, WorkCounts};
use commands::ByCommand;
use interval::{Connectivity, Latencies, OfMember};
use loadstone_measure::{Latency, LatencyRecorder, Nanos, Share, Tally};
use loadstone_protocol::{Code, Completion, ErrorCode};
use loadstone_workload::Entries;
use pauses::Pauses;
use run_delay::RunDelay;
use std::collections::{BTreeMap, BTreeSet};

/// Events started later than this count as late.
const LATE: Nanos = Nanos(1_000_000);

/// The number of error codes that an interval distinguishes.
const MOST_ERROR_CODES: usize = 64;

/// What a statement turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Read,
    Write,
    Other,
}

impl Class {
    /// Classified as sysbench does: by what was answered, not by what was sent.
    pub(crate) fn of(completion: &Completion) -> Self {
        if completion.has_result_set {
            Self::Read
        } else if completion.affected_rows > 0 {
            Self::Write
        } else {
            Self::Other
        }
    }

    /// Its counter's number in scripts.
    pub(crate) fn counter(self) -> u32 {
        match self {
            Self::Other => 0,
            Self::Read => 1,
            Self::Write => 2,
        }
    }
}

/// What an event waited for between its due time and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// A user was free: only the generator delayed it.
    Generator,
    /// All users had an event in flight, or no connection.
    Users,
}

/// The member number in a step that is not a mix.
pub(crate) const ALONE: u16 = 0;

/// What something that is counted belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    pub(crate) target: usize,
    /// The member of a mix.
    pub(crate) member: u16,
}

impl Labels {
    /// The labels in a step that is not a mix.
    pub(crate) fn of_target(target: usize) -> Self {
        Self { target, member: ALONE }
    }
}

#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) tally: Tally,
    pub(crate) counts: Counts,
    /// Figures by command, if the plan asks for them.
    pub(crate) commands: Option<ByCommand>,
    /// The events that have ended, if the plan asks for them.
    pub(crate) event_log: Option<EventLog>,
    boundaries: Boundaries,
    targets: Vec<TargetCounts>,
    idle: IdleCounts,
    members: Vec<OfMember<LatencyRecorder>>,
    users: Vec<Share>,
    pauses: Option<Pauses>,
    entries: BTreeMap<u32, Entries>,
    errors: BTreeMap<Code, u64>,
    connect_failures: BTreeMap<Code, u64>,
    /// Those of them that the record of the connected users already reports.
    told_connect_failures: BTreeMap<Code, u64>,
    /// The already reported ones, by target.
    told_by_target: Vec<u64>,
    latencies: Latencies<LatencyRecorder>,
    /// Response times that equal service times: of events that started when due and were never
    /// restarted. In a closed loop that is nearly all: counted once, and added to both where the
    /// intervals are added up.
    punctual: LatencyRecorder,
    spares: Spares,
    /// Events that started exactly when due.
    punctual_starts: u64,
    first_errors: Vec<FirstError>,
    seen_errors: BTreeSet<Code>,
    connectivity: Vec<Connectivity>,
    down: u64,
    cpu_before: Nanos,
    run_delay: RunDelay,
}

impl Meter {
    pub(crate) fn new(boundaries: Boundaries, targets: usize) -> Self {
        Self {
            tally: Tally::default(),
            counts: Counts::default(),
            commands: None,
            event_log: None,
            boundaries,
            targets: vec![TargetCounts::default(); targets],
            idle: IdleCounts::default(),
            members: Vec::new(),
            users: Vec::new(),
            pauses: None,
            entries: BTreeMap::new(),
            errors: BTreeMap::new(),
            connect_failures: BTreeMap::new(),
            told_connect_failures: BTreeMap::new(),
            told_by_target: Vec::new(),
            latencies: Latencies::default(),
            punctual: LatencyRecorder::default(),
            spares: Spares::default(),
            punctual_starts: 0,
            first_errors: Vec::new(),
            seen_errors: BTreeSet::new(),
            connectivity: Vec::new(),
            down: 0,
            cpu_before: Nanos(0),
            run_delay: RunDelay::default(),
        }
    }

    /// Also counts each of this many users separately.
    pub(crate) fn with_users(mut self, users: usize) -> Self {
        self.users = vec![Share::default(); users];
        self
    }

    /// Also reports the pauses of this many users.
    pub(crate) fn with_pauses(mut self, least: Nanos, users: usize) -> Self {
        self.pauses = Some(Pauses::new(least, users));
        self
    }

    /// Also counts this many members of a mix separately.
    pub(crate) fn with_members(mut self, members: usize) -> Self {
        self.members.resize_with(members, OfMember::default);
        self
    }

    /// Also counts by command.
    pub(crate) fn with_commands(mut self) -> Self {
        self.commands = Some(ByCommand::default());
        self
    }

    /// Also reports each event.
    pub(crate) fn with_event_log(mut self, log: EventLog) -> Self {
        self.event_log = Some(log);
        self
    }

    /// The load starts. What connecting took, and what scripts did meanwhile, was reported before; failures from now on
    /// were not.
    pub(crate) fn begin(&mut self) {
        self.cpu_before = thread_cpu();
        self.run_delay = RunDelay::of_this_thread();
        self.counts = Counts::default();
        self.latencies = Latencies::default();
        for target in &mut self.targets {
            target.queries = 0;
        }
        self.idle = IdleCounts { open: self.idle.open, ..IdleCounts::default() };
        for (code, told) in std::mem::take(&mut self.told_connect_failures) {
            if let Some(count) = self.connect_failures.get_mut(&code) {
                *count -= told;
            }
        }
        self.connect_failures.retain(|_, count| *count > 0);
        for (target, told) in self.targets.iter_mut().zip(std::mem::take(&mut self.told_by_target))
        {
            target.connect_failures -= told;
        }
    }

    /// When the current interval ends, since the load started.
    pub(crate) fn next_boundary(&self) -> Nanos {
        self.boundaries.next()
    }

    /// Whether the window ends with the current interval.
    pub(crate) fn is_last(&self) -> bool {
        self.boundaries.is_last()
    }

    pub(crate) fn statement(&mut self, class: Class, labels: Labels, latency: Nanos) {
        self.count(labels.member, |_, counts| match class {
            Class::Read => counts.reads += 1,
            Class::Write => counts.writes += 1,
            Class::Other => counts.other += 1,
        });
        match class {
            Class::Read => self.latencies.read.record(latency),
            Class::Write => self.latencies.write.record(latency),
            Class::Other => self.latencies.other.record(latency),
        }
        self.target(labels.target).queries += 1;
    }

    /// What was sent at once, one statement or several, is answered.
    pub(crate) fn flight(&mut self, took: Nanos) {
        self.latencies.flight.record(took);
    }

    /// A script counts events by itself, with sysbench's counter numbers. No latency was measured
    /// for them.
    pub(crate) fn counted_by_script(&mut self, counter: u32, target: usize) {
        match counter {
            0 => self.counts.work.other += 1,
            1 => self.counts.work.reads += 1,
            2 => self.counts.work.writes += 1,
            3 => self.counts.work.events += 1,
            4 => *self.errors.entry(Code::OTHER).or_default() += 1,
            5 => self.counts.reconnects += 1,
            _ => {}
        }
        if counter <= 2 {
            self.target(target).queries += 1;
        }
    }

    /// An event is due.
    pub(crate) fn became_due(&mut self, member: u16) {
        self.count(member, |tally, counts| {
            tally.became_due();
            counts.due += 1;
        });
    }

    /// An event starts, `lateness` after it was due.
    pub(crate) fn event_started(&mut self, member: u16, lateness: Nanos, held_by: HeldBy) {
        self.count(member, |tally, counts| {
            tally.start();
            counts.late += u64::from(lateness > LATE);
        });
        if lateness == Nanos::ZERO {
            self.punctual_starts += 1;
            return;
        }
        self.latencies.late.record(lateness);
        if held_by == HeldBy::Generator {
            self.latencies.dispatch.record(lateness);
        }
    }

    pub(crate) fn event_succeeded(&mut self, labels: Labels, response: Nanos, service: Nanos) {
        self.count(labels.member, |tally, counts| {
            tally.succeed();
            counts.events += 1;
        });
        if let Some(member) = self.member(labels.member) {
            member.response.record(response);
            member.service.record(service);
        }
        if response == service {
            self.punctual.record(response);
        } else {
            self.latencies.response.record(response);
            self.latencies.service.record(service);
        }
        self.target(labels.target).events += 1;
    }

    /// A user has completed an event, `at` since the start of the load; ignored unless users are
    /// counted separately.
    pub(crate) fn of_user(&mut self, index: u32, at: Nanos, response: Nanos) {
        if let Some(user) = self.users.get_mut(index as usize) {
            user.add_event(response);
        }
        if let Some(pauses) = &mut self.pauses {
            pauses.succeeded(index, at, response);
        }
    }

    /// An event of a user was abandoned.
    pub(crate) fn user_failed(&mut self, index: u32) {
        if let Some(pauses) = &mut self.pauses {
            pauses.failed(index);
        }
    }

    /// The user waits for an answer that may never come: its connection is gone, or the step ends
    /// first.
    pub(crate) fn user_cut_off(&mut self, index: u32) {
        if let Some(pauses) = &mut self.pauses {
            pauses.lost(index);
        }
    }

    /// The outcome of a user's entries so far.
    pub(crate) fn of_ledger(&mut self, index: u32, mut told: Entries) {
        let entries = self.entries.entry(index).or_default();
        entries.settled = told.settled;
        entries.doubts.append(&mut told.doubts);
    }

    /// The step is over: pauses that still last are reported as they are.
    pub(crate) fn end_pauses(&mut self, at: Nanos) {
        if let Some(pauses) = &mut self.pauses {
            pauses.end(at);
        }
    }

    /// An event of this kind has succeeded.
    pub(crate) fn of_kind(&mut self, kind: &'static str, response: Nanos) {
        let recorder = self.latencies.kinds.entry(kind);
        recorder.or_insert_with(|| self.spares.recorder()).record(response);
    }

    /// A received answer was processed this much later at most, because others were before it.
    pub(crate) fn held(&mut self, span: Nanos) {
        self.latencies.held.record(span);
    }

    /// An event is restarted after an error.
    pub(crate) fn restarted(&mut self, member: u16) {
        self.count(member, |_, counts| counts.restarts += 1);
    }

    /// An event that was restarted has ended.
    pub(crate) fn retried(&mut self, member: u16) {
        self.count(member, |_, counts| counts.retried += 1);
    }

    pub(crate) fn event_failed(&mut self, member: u16) {
        self.count(member, |tally, counts| {
            tally.fail();
            counts.failed += 1;
        });
    }

    /// An event was due and did not start before the step's end.
    pub(crate) fn event_skipped(&mut self, member: u16) {
        self.count(member, |tally, counts| {
            tally.skip();
            counts.skipped += 1;
        });
    }

    /// An event was due and had not ended when the window did. Its times are since the load
    /// started: `due`, and `began` if it was in flight.
    pub(crate) fn event_unfinished(&mut self, member: u16, due: Nanos, began: Option<Nanos>) {
        let end = self.boundaries.from();
        // An event that was restarted since then was in flight, but not in this attempt.
        let service = began.filter(|began| *began <= end).map(|began| end - began);
        self.latencies.unfinished.record(end - due, service, &self.spares);
        if let Some(of) = self.members.get_mut(usize::from(member)) {
            of.unfinished.record(end - due, service, &self.spares);
        }
    }

    /// An attempt at an event failed, `latency` after it started.
    pub(crate) fn error(&mut self, code: ErrorCode, labels: Labels, latency: Nanos) {
        // Each code needs a histogram: a server that makes up codes must not exhaust our memory.
        let code = code.code;
        let known = self.errors.contains_key(&code) || self.errors.len() < MOST_ERROR_CODES;
        let code = if known { code } else { Code::OTHER };
        *self.errors.entry(code).or_default() += 1;
        let recorder = self.latencies.errors.entry(code);
        recorder.or_insert_with(|| self.spares.recorder()).record(latency);
        if let Some(member) = self.member(labels.member) {
            *member.errors.entry(code).or_default() += 1;
        }
        self.target(labels.target).errors += 1;
    }

    /// Whether this is the shard's first error of this code.
    pub(crate) fn sees_first(&mut self, code: ErrorCode) -> bool {
        self.seen_errors.insert(code.code)
    }

    /// Keeps the server's message for the first error of each code.
    pub(crate) fn first_error(&mut self, code: ErrorCode, describe: impl FnOnce() -> FirstError) {
        if self.seen_errors.insert(code.code) {
            self.first_errors.push(describe());
        }
    }

    pub(crate) fn connect_failed(&mut self, code: Code, target: usize) {
        *self.connect_failures.entry(code).or_default() += 1;
        self.target(target).connect_failures += 1;
    }

    /// Whether anything was refused, by the server or on the way to it.
    pub(crate) fn has_trouble(&self) -> bool {
        !self.connect_failures.is_empty() || !self.errors.is_empty()
    }

    /// Connect failures to report in the record of the connected users.
    pub(crate) fn tell_connect_failures(&mut self) -> BTreeMap<Code, u64> {
        self.told_connect_failures = self.connect_failures.clone();
        self.told_by_target = self.targets.iter().map(|target| target.connect_failures).collect();
        self.connect_failures.clone()
    }

    pub(crate) fn user_up(&mut self, target: usize) {
        self.target(target).users += 1;
    }

    /// A connection was lost before the load.
    pub(crate) fn user_gone(&mut self, target: usize) {
        let users = &mut self.target(target).users;
        *users = users.saturating_sub(1);
    }

    /// The load starts, and this user has lost its connection again.
    pub(crate) fn user_missing(&mut self, at: Nanos) {
        self.down += 1;
        let reason = Some("lost before the load began".to_owned());
        self.connectivity.push(Connectivity { at, down: self.down, reason });
    }

    /// A connection was lost under load.
    pub(crate) fn user_lost(&mut self, at: Nanos, target: usize, reason: String) {
        self.down += 1;
        self.user_gone(target);
        self.connectivity.push(Connectivity { at, down: self.down, reason: Some(reason) });
    }

    /// A lost connection is open again.
    pub(crate) fn user_back(&mut self, at: Nanos, target: usize) {
        self.down = self.down.saturating_sub(1);
        self.counts.reconnects += 1;
        self.target(target).users += 1;
        self.connectivity.push(Connectivity { at, down: self.down, reason: None });
    }

    /// A connection was opened under load, in this time.
    pub(crate) fn connected_under_load(&mut self, latency: Nanos) {
        self.latencies.connect.record(latency);
    }

    /// An idle connection was opened.
    pub(crate) fn idle_opened(&mut self) {
        self.idle.open += 1;
        self.idle.opened += 1;
    }

    /// An idle connection was lost before the load.
    pub(crate) fn idle_gone(&mut self) {
        self.idle.open = self.idle.open.saturating_sub(1);
    }

    /// An idle connection was lost under load.
    pub(crate) fn idle_lost(&mut self) {
        self.idle_gone();
        self.idle.lost += 1;
    }

    /// Ends the current interval at `at`.
    pub(crate) fn cut(&mut self, at: Nanos) -> Interval {
        let cpu = thread_cpu();
        let span = self.boundaries.cut(at);
        let interval = Interval {
            index: span.index,
            phase: span.phase,
            from: span.from,
            to: span.to,
            tally: self.tally,
            counts: std::mem::take(&mut self.counts),
            errors: std::mem::take(&mut self.errors),
            connect_failures: std::mem::take(&mut self.connect_failures),
            targets: self.targets.clone(),
            idle: self.idle,
            members: self.members.iter_mut().map(|member| member.take(&self.spares)).collect(),
            users: self.spares.swap_shares(&mut self.users),
            pauses: self.pauses.as_mut().map(Pauses::take).unwrap_or_default(),
            entries: std::mem::take(&mut self.entries),
            commands: self.commands.as_mut().map(ByCommand::take).unwrap_or_default(),
            event_log: self.event_log.as_mut().map(EventLog::take).unwrap_or_default(),
            latencies: self.take_latencies(),
            punctual: self.spares.swap(&mut self.punctual),
            spares: self.spares.clone(),
            first_errors: std::mem::take(&mut self.first_errors),
            connectivity: std::mem::take(&mut self.connectivity),
            cpu: cpu - self.cpu_before,
            run_delay: self.run_delay.take(),
        };
        self.cpu_before = cpu;
        self.idle = IdleCounts { open: self.idle.open, ..IdleCounts::default() };
        for target in &mut self.targets {
            *target = TargetCounts { users: target.users, ..TargetCounts::default() };
        }
        interval
    }

    /// From now on nothing counts in any figure.
    pub(crate) fn drain(&mut self) {
        self.boundaries.drain();
    }

    fn take_latencies(&mut self) -> Latencies<Latency> {
        let now = &mut self.latencies;
        let punctual_starts = std::mem::take(&mut self.punctual_starts);
        now.late.record_many(Nanos::ZERO, punctual_starts);
        now.dispatch.record_many(Nanos::ZERO, punctual_starts);
        now.take(&self.spares)
    }

    /// Counts for the whole step and for a member of a mix.
    fn count(&mut self, member: u16, count: impl Fn(&mut Tally, &mut WorkCounts)) {
        count(&mut self.tally, &mut self.counts.work);
        if let Some(member) = self.member(member) {
            count(&mut member.tally, &mut member.counts);
        }
    }

    /// `None` if the step is not a mix.
    fn member(&mut self, index: u16) -> Option<&mut OfMember<LatencyRecorder>> {
        self.members.get_mut(usize::from(index))
    }

    fn target(&mut self, index: usize) -> &mut TargetCounts {
        &mut self.targets[index]
    }
}

#[cfg(test)]
mod cost;

#[cfg(test)]
mod tests;
