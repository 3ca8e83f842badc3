//! What a shard tells the coordinator of its step.

use crate::error::Failure;
use crate::metering::Interval;
use crate::record::{Connected, FirstError, ScriptStage, Stuck};
use crossbeam_channel::Sender;

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

/// A shard's way to the coordinator.
#[derive(Clone)]
pub(crate) struct ShardSender {
    pub(crate) shard: usize,
    pub(crate) messages: Sender<ShardMessage>,
}

impl ShardSender {
    pub(crate) fn send(&self, message: Message) {
        // The coordinator outlives the shards; were it gone, nobody would be left to tell.
        drop(self.messages.send(ShardMessage { shard: self.shard, message }));
    }
}
