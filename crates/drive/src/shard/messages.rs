//! Messages from a shard to the coordinator of its step.

use crate::error::Failure;
use crate::metering::Interval;
use crate::record::{Connected, FirstError, Printed, ScriptStage, Stuck, UserEnded};
use crossbeam_channel::Sender;

/// A message.
#[derive(Debug)]
pub(crate) enum Message {
    /// All its users are connected.
    Connected(Connected),
    Interval(Box<Interval>),
    /// Output of a script.
    Printed(Printed),
    /// A script has reached this stage.
    Script(ScriptStage),
    /// A server's refusal that a script got. Sent at once, because the script may print something
    /// about it.
    Refused(FirstError),
    /// An error of a script, all of which are reported.
    Told(FirstError),
    /// A script failed in its final part.
    Complaint(String),
    /// A script does not return control.
    Stuck(Stuck),
    /// A user has ended after an error; `user` is still its place in the shard.
    UserEnded(UserEnded),
    /// The step cannot continue.
    Failed(Failure),
    /// The shard's thread is over.
    Finished,
}

#[derive(Debug)]
pub(crate) struct ShardMessage {
    pub(crate) shard: usize,
    pub(crate) message: Message,
}

/// A shard's channel to the coordinator.
#[derive(Clone)]
pub(crate) struct ShardSender {
    pub(crate) shard: usize,
    pub(crate) messages: Sender<ShardMessage>,
}

impl ShardSender {
    pub(crate) fn send(&self, message: Message) {
        // The coordinator outlives the shards; if it were gone, nobody could receive this.
        drop(self.messages.send(ShardMessage { shard: self.shard, message }));
    }
}
