//! The records that the engine writes while a step runs; the format is documented in `docs/engine.md`.

mod counts;
mod next;

pub use counts::{Counts, IdleCounts, TargetCounts, WorkCounts};
pub use next::{Next, next_record};

use crate::error::Failure;
use loadstone_measure::{LatencySummary, Nanos, NumberedShare, Tally};
use loadstone_protocol::{Code, ErrorCode};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One line of JSON each.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// All virtual users are logged in; the load begins.
    Connected(Connected),
    /// What happened in one second (or what is left of one).
    Sample(Box<Sample>),
    /// The first error of a code, with the server's words.
    Error(FirstError),
    /// Users were without a connection for a while.
    Outage(Outage),
    /// What a script prints.
    Printed(Printed),
    /// A script has come to a part that runs once for all users.
    Script(Milestone),
    /// A part of a script has failed that comes after the load.
    Complaint(Complaint),
    /// A script does not come back.
    Stuck(Stuck),
    /// The last record of a step.
    End(End),
}

/// See [`Record::Connected`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct Connected {
    /// How long it took.
    pub seconds: f64,
    /// How many are connected.
    pub users: u64,
    /// How many connections beside theirs are there and say nothing.
    pub idle: u64,
    /// How many of the users are encrypted.
    pub encrypted_users: u64,
    /// Protocol version and cipher of the first encrypted one.
    pub tls: Option<String>,
    /// How many of them are compressed.
    pub compressed_users: u64,
    /// How the first compressed one is: `zlib` or `zstd`.
    pub compression: Option<&'static str>,
    /// What the first server called itself.
    pub server_version: Option<String>,
    /// Attempts that failed, by code.
    pub connect_failures: BTreeMap<Code, u64>,
}

impl Connected {
    /// Users, and connections beside theirs.
    pub(crate) fn all(&self) -> u64 {
        self.users + self.idle
    }
}

/// See [`Record::Printed`].
#[derive(Clone, Debug, Serialize)]
pub struct Printed {
    /// As it is, with its ends of lines.
    pub text: String,
}

/// See [`Record::Script`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Milestone {
    /// Which.
    pub stage: ScriptStage,
}

/// A part of a script that runs once, in its first user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptStage {
    /// `init` is over; the users begin.
    Initialised,
    /// The first user is over; `done` begins.
    Done,
}

/// See [`Record::Complaint`].
#[derive(Clone, Debug, Serialize)]
pub struct Complaint {
    /// Which hook of which user, and why; one line.
    pub message: String,
}

/// See [`Record::Stuck`].
#[derive(Clone, Debug, Serialize)]
pub struct Stuck {
    /// How long it has run without a statement, and without an event's end.
    pub seconds: f64,
    /// File and line where it was met.
    pub place: String,
}

/// Which part of the step an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// Before the window.
    Warmup,
    /// What is measured.
    Window,
    /// Events still in flight after the window; they count in no figure.
    Drain,
}

/// See [`Record::Sample`]. Figures are of the interval, but `tally` is cumulative.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Part of the step.
    pub phase: PhaseName,
    /// Begin, seconds of the run's clock.
    pub from_s: Seconds,
    /// End.
    pub to_s: Seconds,
    /// Since the load began.
    pub tally: Tally,
    /// What happened.
    pub counts: Counts,
    /// Errors of statements, by code.
    pub errors: BTreeMap<Code, u64>,
    /// Attempts to connect that failed, by code.
    pub connect_failures: BTreeMap<Code, u64>,
    /// Users connected at the interval's end.
    pub users: u64,
    /// The same by target, in the plan's order.
    pub targets: Vec<TargetCounts>,
    /// Connections that say nothing, where the plan asked for some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleCounts>,
    /// The same by member, where the step is a mix; in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSample>,
    /// Users that saw events through, where the plan asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_user: Vec<NumberedShare>,
    /// Times in which users saw no event through, where the plan asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<NumberedPause>,
    /// What became of users' entries, where they keep a ledger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<NumberedEntries>,
    /// Of events.
    pub latency_ns: EventLatency,
    /// The engine's own cost.
    pub generator: Generator,
    /// Lines for the latency log.
    pub hlog: Vec<String>,
}

/// Response counts from the due time, service from the first statement's send.
#[derive(Clone, Debug, Serialize)]
pub struct EventLatency {
    /// What a user waits.
    pub response: LatencySummary,
    /// What the server took.
    pub service: LatencySummary,
}

/// A user, its last success before a pause and its first after it; one short row each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberedPause(pub u64, pub Seconds, pub Option<Seconds>);

/// A user, the number up to which its entries are over, and those since the row before that are in doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumberedEntries(pub u64, pub u64, pub Vec<u64>);

/// What one workload of a mix did.
#[derive(Clone, Debug, Serialize)]
pub struct MemberSample {
    /// As the plan calls it.
    pub name: String,
    /// Since the load began.
    pub tally: Tally,
    /// What happened.
    pub counts: WorkCounts,
    /// Errors of statements, by code.
    pub errors: BTreeMap<Code, u64>,
    /// Of its events.
    pub latency_ns: EventLatency,
}

/// What the engine itself used.
#[derive(Clone, Debug, Serialize)]
pub struct Generator {
    /// CPU time of the shards' threads.
    pub cpu_us: u64,
    /// Time that they could have used: shards times the interval.
    pub wall_us: u64,
    /// 99th percentile of how late events were started.
    pub late_ns_p99: Option<u64>,
    /// The same of events for which a user was free: nobody but the generator held them.
    pub dispatch_ns_p99: Option<u64>,
    /// 99th percentile of how long answers that had come waited for the shard to look at them.
    pub held_ns_p99: Option<u64>,
    /// Time that the shards' threads were ready to run and others had their cores.
    pub run_delay_us: Option<u64>,
    /// How many event loops.
    pub shards: u32,
}

/// See [`Record::Error`].
#[derive(Clone, Debug, Serialize)]
pub struct FirstError {
    /// Its code, and whose it is.
    #[serde(flatten)]
    pub code: ErrorCode,
    /// The server's words.
    pub message: String,
    /// What was sent, parameters as question marks.
    pub statement: Option<String>,
}

/// See [`Record::Outage`].
#[derive(Clone, Debug, Serialize)]
pub struct Outage {
    /// The first user lost its connection.
    pub from_s: Seconds,
    /// All had one again; `null` when the step ended before.
    pub to_s: Option<Seconds>,
    /// The most users that were without at the same time.
    pub users: u64,
    /// Why the first one lost it.
    pub reason: String,
}

/// How a step or a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// As planned.
    Finished,
    /// Because it was asked to.
    Stopped,
    /// See the error.
    Failed,
}

/// See [`Record::End`].
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// How.
    pub reason: EndReason,
    /// Why, when it failed.
    pub error: Option<Failure>,
    /// From the load's begin.
    pub seconds: f64,
    /// Since the load began.
    pub tally: Tally,
}

/// Seconds with a fixed number of digits, so that the journal stays readable.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub Nanos);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0.0 / 1_000) as f64 / 1e6)
    }
}
