//! The coordinator of a step: merges the intervals of all shards and writes the records.

use crate::clock::Clock;
use crate::error::{Failure, FailureKind};
use crate::metering::{Merge, Outages, Spares, Whole};
use crate::plan::{Part, Plan};
use crate::record::{Complaint, Connected, End, EndReason, Milestone, Record, Seconds, UserEnded};
use crate::shard::{Control, Message, ShardMessage};
use crossbeam_channel::{Receiver, Sender, never, select};
use loadstone_measure::{Nanos, Tally};
use loadstone_protocol::Code;
use loadstone_workload::arrival::Arrival;
use loadstone_workload::phases::UsersOverTime;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// An order from the process that started the step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// The load starts at this instant of CLOCK_MONOTONIC.
    BeginAt(Nanos),
    /// The step is still needed.
    Renew,
}

/// What the coordinator needs of a plan.
pub(crate) struct Step {
    tag: String,
    shards: usize,
    part: Part,
    waits_for_start: bool,
    /// Whether the step has idle connections.
    has_idle: bool,
    /// The names of a mix's members.
    members: Vec<String>,
    /// The number of active users over time, if the plan has phases.
    users: Option<UsersAtWork>,
    /// How long the step continues without a sign of life.
    lease: Option<Nanos>,
}

impl Step {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            tag: plan.tag.clone(),
            shards: plan.shards as usize,
            part: plan.part,
            waits_for_start: plan.waits_for_start,
            has_idle: plan.idle > 0,
            members: plan.members.iter().map(|member| member.name.clone()).collect(),
            users: UsersAtWork::of(plan),
            lease: plan.lease_s.map(Nanos::from_seconds),
        }
    }
}

/// The number of active users over time.
struct UsersAtWork {
    over_time: UsersOverTime,
    /// Dedicated users of a mix's member: they are always active.
    always: u32,
    /// The part of them that is this engine's.
    part: Part,
    /// When their number changes next, since the start of the load.
    next: Option<Nanos>,
}

impl UsersAtWork {
    fn of(plan: &Plan) -> Option<Self> {
        if !matches!(plan.arrival, Arrival::Closed { .. }) {
            return None;
        }
        let over_time = UsersOverTime::new(&plan.phases)?;
        let always = plan.users - plan.pool();
        Some(Self { over_time, always, part: plan.part, next: Some(Nanos::ZERO) })
    }

    /// How many of this engine's users are active from now on, if the total has changed by `time`.
    fn change(&mut self, time: Nanos) -> Option<u32> {
        if self.next? > time {
            return None;
        }
        self.next = self.over_time.next_change(time);
        Some(self.part.share_of_users(self.always + self.over_time.at(time)))
    }
}

/// How long to wait if nothing has a due time.
const IDLE: Nanos = Nanos::from_millis(3_600_000);

pub(crate) struct Coordinator {
    step: Step,
    control: Arc<Control>,
    clock: Clock,
    records: Sender<Record>,
    /// When the load is to start, on the step's clock, once that is known.
    begin_at: Option<Nanos>,
    /// When the load started, on the step's clock.
    began: Option<Nanos>,
    /// When the lease was last renewed, on the step's clock.
    renewed: Nanos,
    connected: Connected,
    connected_shards: usize,
    finished: Vec<bool>,
    pending: BTreeMap<u64, Merge>,
    /// What the intervals of all shards are added up in.
    spares: Spares,
    /// The latest cumulative figures of each shard.
    tallies: Vec<Tally>,
    members: Vec<Vec<Tally>>,
    users: Vec<Vec<u64>>,
    outages: Outages,
    failure: Option<Failure>,
    /// The error codes that were reported already.
    said_errors: BTreeSet<Code>,
    to: Nanos,
}

impl Coordinator {
    pub(crate) fn new(
        step: Step,
        control: Arc<Control>,
        clock: Clock,
        records: Sender<Record>,
    ) -> Self {
        let shards = step.shards;
        Self {
            step,
            control,
            clock,
            records,
            begin_at: None,
            began: None,
            renewed: clock.now(),
            connected: Connected::default(),
            connected_shards: 0,
            finished: vec![false; shards],
            pending: BTreeMap::new(),
            spares: Spares::default(),
            tallies: vec![Tally::default(); shards],
            members: vec![Vec::new(); shards],
            users: vec![Vec::new(); shards],
            outages: Outages::new(shards),
            failure: None,
            said_errors: BTreeSet::new(),
            to: Nanos::ZERO,
        }
    }

    /// Runs until all shards are finished.
    pub(crate) fn run(mut self, messages: &Receiver<ShardMessage>, mut orders: Receiver<Order>) {
        self.renew();
        while !self.finished.iter().all(|finished| *finished) {
            select! {
                recv(messages) -> message => match message {
                    Ok(ShardMessage { shard, message }) => self.take(shard, message),
                    // The shards' senders live until their last message.
                    Err(_) => break,
                },
                recv(orders) -> order => match order {
                    Ok(order) => self.follow(order),
                    // The handle of the step was dropped, so the step is being stopped.
                    Err(_) => orders = never(),
                },
                default(self.patience()) => {}
            }
            self.look_at_the_clock();
        }
        self.end();
    }

    fn take(&mut self, shard: usize, message: Message) {
        match message {
            Message::Connected(connected) => self.shard_connected(connected),
            Message::Interval(interval) => {
                let merge = self.pending.entry(interval.index).or_default();
                merge.add(shard, *interval);
            }
            Message::Printed(printed) => self.say(Record::Printed(printed)),
            Message::Script(stage) => self.say(Record::Script(Milestone { stage })),
            Message::Refused(error) => {
                if self.said_errors.insert(error.code.code) {
                    self.say(Record::Error(error));
                }
            }
            Message::Told(error) => self.say(Record::Error(error)),
            Message::Complaint(message) => self.say(Record::Complaint(Complaint { message })),
            Message::Stuck(stuck) => self.say(Record::Stuck(stuck)),
            Message::UserEnded(ended) => self.user_ended(shard, ended),
            Message::Failed(failure) => self.fail(failure),
            Message::Finished => self.finished[shard] = true,
        }
        self.emit_complete();
    }

    fn user_ended(&self, shard: usize, ended: UserEnded) {
        let place = usize::try_from(ended.user).unwrap_or(usize::MAX);
        let user = self.step.part.number_of(place * self.step.shards + shard);
        self.say(Record::UserEnded(UserEnded { user, ..ended }));
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::BeginAt(monotonic) => self.begin_at = Some(self.clock.at_monotonic(monotonic)),
            // Too late is too late: shards may have ended their load by then.
            Order::Renew if self.lease_end().is_some_and(|end| self.clock.now() >= end) => {}
            Order::Renew => self.renew(),
        }
    }

    fn renew(&mut self) {
        self.renewed = self.clock.now();
        if let Some(end) = self.lease_end() {
            self.control.renew(end);
        }
    }

    /// `None` if the step has no lease.
    fn lease_end(&self) -> Option<Nanos> {
        self.step.lease.map(|lease| self.renewed + lease)
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.control.stop();
    }

    /// How long nothing needs to be done unless a message arrives.
    fn patience(&self) -> Duration {
        let now = self.clock.now();
        let begin = self.begin_at.filter(|_| self.is_ready());
        let lease_ends = self.lease_end();
        let change = self.step.users.as_ref().and_then(|users| Some(self.began? + users.next?));
        let next = begin.into_iter().chain(lease_ends).chain(change).fold(now + IDLE, Nanos::min);
        Duration::from_nanos(next.0.saturating_sub(now.0))
    }

    /// Starts the load when its time has come, and ends an abandoned step.
    fn look_at_the_clock(&mut self) {
        let now = self.clock.now();
        if let Some(at) = self.begin_at
            && self.is_ready()
            && now >= at
        {
            self.begin(at);
        }
        if let Some(began) = self.began {
            self.change_users(now.since(began));
        }
        if let Some(lease) = self.step.lease
            && now >= self.renewed + lease
        {
            self.step.lease = None;
            let text = format!("no sign of life for {} s of whoever started it", lease.seconds());
            self.fail(Failure::new(FailureKind::Abandoned, None, text));
        }
    }

    /// Whether all users are connected and wait for the load to start.
    fn is_ready(&self) -> bool {
        self.began.is_none() && self.connected_shards == self.finished.len()
    }

    fn begin(&mut self, at: Nanos) {
        self.began = Some(at);
        // Set before the load starts, so that no user has an event too many.
        self.change_users(Nanos::ZERO);
        self.control.begin(at);
    }

    /// If the plan has phases, sets how many users are active from now on.
    fn change_users(&mut self, time: Nanos) {
        if let Some(users) = self.step.users.as_mut().and_then(|users| users.change(time)) {
            self.control.set_active(users);
        }
    }

    fn shard_connected(&mut self, connected: Connected) {
        self.connected_shards += 1;
        self.connected.users += connected.users;
        self.connected.idle += connected.idle;
        self.connected.encrypted_users += connected.encrypted_users;
        self.connected.tls = self.connected.tls.take().or(connected.tls);
        self.connected.why_in_clear = self.connected.why_in_clear.take().or(connected.why_in_clear);
        let refused = connected.refused_over_tls;
        self.connected.refused_over_tls = self.connected.refused_over_tls.take().or(refused);
        self.connected.compressed_users += connected.compressed_users;
        self.connected.compression = self.connected.compression.or(connected.compression);
        let version = connected.server_version;
        self.connected.server_version = self.connected.server_version.take().or(version);
        self.connected.before.add(&connected.before);
        for (code, count) in connected.connect_failures {
            *self.connected.connect_failures.entry(code).or_default() += count;
        }
        if self.connected_shards == self.finished.len() {
            let now = self.clock.now();
            self.connected.seconds = now.seconds();
            self.say(Record::Connected(self.connected.clone()));
            if !self.step.waits_for_start {
                self.begin(now);
            }
        }
    }

    /// Emits each interval that all shards have reported, in order.
    fn emit_complete(&mut self) {
        while let Some(entry) = self.pending.first_entry() {
            let told = |(shard, finished): (usize, &bool)| *finished || entry.get().has(shard);
            if !self.finished.iter().enumerate().all(told) {
                return;
            }
            let merge = entry.remove();
            self.emit(merge);
        }
    }

    fn emit(&mut self, mut merge: Merge) {
        for last in merge.cumulative() {
            self.tallies[last.shard] = last.tally;
            self.users[last.shard] = last.users;
            self.members[last.shard] = last.members;
        }
        for outage in self.outages.follow(merge.take_connectivity()) {
            self.say(Record::Outage(outage));
        }
        for error in merge.take_first_errors() {
            if self.said_errors.insert(error.code.code) {
                self.say(Record::Error(error));
            }
        }
        let mut sample = merge.into_sample(&self.whole(), &self.spares);
        for (target, counts) in sample.targets.iter_mut().enumerate() {
            counts.users = self.users.iter().filter_map(|users| users.get(target)).sum();
        }
        sample.idle = sample.idle.filter(|_| self.step.has_idle);
        sample.users = sample.targets.iter().map(|target| target.users).sum();
        let Seconds(to) = sample.to_s;
        self.to = self.to.max(to);
        self.say(Record::Sample(Box::new(sample)));
    }

    fn end(mut self) {
        if let Some(outage) = self.outages.unfinished() {
            self.say(Record::Outage(outage));
        }
        let reason = match &self.failure {
            Some(_) => EndReason::Failed,
            None if self.control.stop_wanted() => EndReason::Stopped,
            None => EndReason::Finished,
        };
        let (tally, seconds) = (self.tally(), self.to.seconds());
        let error = self.failure.take();
        self.say(Record::End(End { reason, error, seconds, tally }));
    }

    fn whole(&self) -> Whole<'_> {
        let tally_of = |number| sum(self.members.iter().filter_map(|shard| shard.get(number)));
        let names = self.step.members.iter().enumerate();
        Whole {
            tag: &self.step.tag,
            tally: self.tally(),
            members: names.map(|(number, name)| (name.as_str(), tally_of(number))).collect(),
            shards: self.finished.len(),
            part: self.step.part,
        }
    }

    fn tally(&self) -> Tally {
        sum(&self.tallies)
    }

    fn say(&self, record: Record) {
        // The receiver may be gone (an interrupted program): the load still ends cleanly.
        drop(self.records.send(record));
    }
}

fn sum<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    let mut sum = Tally::default();
    tallies.into_iter().for_each(|tally| sum.add(tally));
    sum
}
