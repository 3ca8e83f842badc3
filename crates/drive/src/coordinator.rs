//! Brings the shards' intervals together and says upwards what happened.

use crate::clock::Clock;
use crate::control::Control;
use crate::error::Failure;
use crate::merge::Merge;
use crate::meter::Interval;
use crate::outages::Outages;
use crate::record::{
    Complaint, Connected, End, EndReason, FirstError, Milestone, Printed, Record, ScriptStage,
    Seconds, Stuck,
};
use crossbeam_channel::{Receiver, Sender};
use loadstone_measure::{Nanos, Tally};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a shard has to say.
#[derive(Debug)]
pub(crate) enum Message {
    /// All its users are connected.
    Connected(Connected),
    Interval(Box<Interval>),
    /// A script prints this.
    Printed(String),
    /// A script has come so far.
    Script(ScriptStage),
    /// What a script was refused, told at once: it may print what it makes of it.
    Refused(FirstError),
    /// A script's goodbye has failed.
    Complaint(String),
    /// A script does not come back.
    Stuck(Stuck),
    /// The step cannot go on.
    Failed(Failure),
    /// Its thread is over.
    Finished,
}

#[derive(Debug)]
pub(crate) struct ShardMessage {
    pub(crate) shard: usize,
    pub(crate) message: Message,
}

pub(crate) struct Coordinator {
    control: Arc<Control>,
    clock: Clock,
    tag: String,
    records: Sender<Record>,
    connected: Connected,
    connected_shards: usize,
    finished: Vec<bool>,
    pending: BTreeMap<u64, Merge>,
    /// The last word of each shard on what is cumulative.
    tallies: Vec<Tally>,
    users: Vec<Vec<u64>>,
    outages: Outages,
    failure: Option<Failure>,
    /// The error numbers that were said already.
    said_errors: BTreeSet<u16>,
    to: Nanos,
}

impl Coordinator {
    pub(crate) fn new(
        control: Arc<Control>,
        clock: Clock,
        tag: String,
        shards: usize,
        records: Sender<Record>,
    ) -> Self {
        Self {
            control,
            clock,
            tag,
            records,
            connected: Connected::default(),
            connected_shards: 0,
            finished: vec![false; shards],
            pending: BTreeMap::new(),
            tallies: vec![Tally::default(); shards],
            users: vec![Vec::new(); shards],
            outages: Outages::new(shards),
            failure: None,
            said_errors: BTreeSet::new(),
            to: Nanos::ZERO,
        }
    }

    /// Runs until all shards are finished.
    pub(crate) fn run(mut self, messages: &Receiver<ShardMessage>) {
        while !self.finished.iter().all(|finished| *finished) {
            // The shards' senders live until their last message.
            let Ok(ShardMessage { shard, message }) = messages.recv() else { break };
            match message {
                Message::Connected(connected) => self.shard_connected(connected),
                Message::Interval(interval) => {
                    let merge = self.pending.entry(interval.index).or_default();
                    merge.add(shard, *interval);
                }
                Message::Printed(text) => self.say(Record::Printed(Printed { text })),
                Message::Script(stage) => self.say(Record::Script(Milestone { stage })),
                Message::Refused(error) => {
                    if self.said_errors.insert(error.errno) {
                        self.say(Record::Error(error));
                    }
                }
                Message::Complaint(message) => self.say(Record::Complaint(Complaint { message })),
                Message::Stuck(stuck) => self.say(Record::Stuck(stuck)),
                Message::Failed(failure) => {
                    self.failure.get_or_insert(failure);
                    self.control.stop();
                }
                Message::Finished => self.finished[shard] = true,
            }
            self.emit_complete();
        }
        self.end();
    }

    fn shard_connected(&mut self, connected: Connected) {
        self.connected_shards += 1;
        self.connected.users += connected.users;
        self.connected.encrypted_users += connected.encrypted_users;
        self.connected.tls = self.connected.tls.take().or(connected.tls);
        self.connected.compressed_users += connected.compressed_users;
        self.connected.compression = self.connected.compression.or(connected.compression);
        let version = connected.server_version;
        self.connected.server_version = self.connected.server_version.take().or(version);
        for (errno, count) in connected.connect_failures {
            *self.connected.connect_failures.entry(errno).or_default() += count;
        }
        if self.connected_shards == self.finished.len() {
            let now = self.clock.now();
            self.connected.seconds = now.seconds();
            self.say(Record::Connected(self.connected.clone()));
            self.control.begin(now);
        }
    }

    /// Says each interval that all shards have told of, in their order.
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
        for (shard, tally, users) in merge.take_cumulative() {
            self.tallies[shard] = tally;
            self.users[shard] = users;
        }
        for outage in self.outages.follow(merge.take_connectivity()) {
            self.say(Record::Outage(outage));
        }
        for error in merge.take_first_errors() {
            if self.said_errors.insert(error.errno) {
                self.say(Record::Error(error));
            }
        }
        let tally = self.tally();
        let mut sample = merge.into_sample(&self.tag, tally, self.finished.len());
        for (target, counts) in sample.targets.iter_mut().enumerate() {
            counts.users = self.users.iter().filter_map(|users| users.get(target)).sum();
        }
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

    fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.tallies.iter().for_each(|tally| sum.add(tally));
        sum
    }

    fn say(&self, record: Record) {
        // The listener may be gone (an interrupted program): the load still ends cleanly.
        drop(self.records.send(record));
    }
}
