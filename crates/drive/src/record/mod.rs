//! The records that the engine writes while a step runs; the format is documented in `docs/engine.md`.

mod counts;
mod next;
mod rows;

pub use counts::{Counts, IdleCounts, TargetCounts, WorkCounts};
pub use next::{Next, next_record};
pub use rows::{CommandRow, EventRow, Outcome};

use crate::error::Failure;
use loadstone_measure::{LatencySummary, Nanos, NumberedShare, Tally};
use loadstone_protocol::{Code, ErrorCode};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A record; each is one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// All virtual users are logged in; the load starts.
    Connected(Connected),
    /// What happened in one second, or in the rest of one.
    Sample(Box<Sample>),
    /// The first error of a code, with the server's message.
    Error(FirstError),
    /// Users were without a connection for a while.
    Outage(Outage),
    /// A user has ended after an error.
    #[serde(rename = "user_ended")]
    UserEnded(UserEnded),
    /// Output of a script.
    Printed(Printed),
    /// A script has reached a part that runs once for all users.
    Script(Milestone),
    /// A part of a script that runs after the load has failed.
    Complaint(Complaint),
    /// A script does not return control.
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
    /// The number of idle connections in addition to theirs.
    pub idle: u64,
    /// How many users have an encrypted connection.
    pub encrypted_users: u64,
    /// Protocol version and cipher of the first encrypted connection.
    pub tls: Option<String>,
    /// Why connections are not encrypted although that is preferred and the server offers it.
    pub why_in_clear: Option<String>,
    /// The server's refusal of a login over TLS, where connections are not encrypted because of it.
    pub refused_over_tls: Option<String>,
    /// How many users have a compressed connection.
    pub compressed_users: u64,
    /// The first compressed connection's method: `zlib` or `zstd`.
    pub compression: Option<&'static str>,
    /// The version string of the first server.
    pub server_version: Option<String>,
    /// Failed attempts, by code.
    pub connect_failures: BTreeMap<Code, u64>,
    /// What scripts did meanwhile, in `init()` and `thread_init()`: no sample has it.
    pub before: WorkCounts,
}

/// Why connections go without TLS although that is preferred and offered.
pub(crate) enum WhyInClear {
    /// Both sides had no version or cipher in common.
    NothingInCommon(String),
    /// The server refused the login over TLS, with this message.
    LoginRefused(String),
}

impl Connected {
    /// Keeps the first reason of each kind why connections are not encrypted.
    pub(crate) fn note_in_clear(&mut self, why: Option<WhyInClear>) {
        match why {
            Some(WhyInClear::NothingInCommon(why)) => _ = self.why_in_clear.get_or_insert(why),
            Some(WhyInClear::LoginRefused(why)) => _ = self.refused_over_tls.get_or_insert(why),
            None => {}
        }
    }

    /// Users and idle connections together.
    pub(crate) fn all(&self) -> u64 {
        self.users + self.idle
    }
}

/// See [`Record::Printed`].
#[derive(Clone, Debug, Serialize)]
pub struct Printed {
    /// The output as it is, with its line ends.
    pub text: String,
    /// It is meant for stderr.
    pub is_aside: bool,
}

/// See [`Record::Script`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Milestone {
    /// The part that was reached.
    pub stage: ScriptStage,
}

/// A part of a script that runs once, in its first user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptStage {
    /// `init` is over; the users start.
    Initialised,
    /// The first user is done; `done` starts.
    Done,
}

/// See [`Record::Complaint`].
#[derive(Clone, Debug, Serialize)]
pub struct Complaint {
    /// Which hook of which user failed, and why; one line.
    pub message: String,
}

/// See [`Record::Stuck`].
#[derive(Clone, Debug, Serialize)]
pub struct Stuck {
    /// How long it has run without a statement and without finishing an event.
    pub seconds: f64,
    /// The file and line that it was running.
    pub place: String,
}

/// The phase of the step that an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// Before the window.
    Warmup,
    /// The measured part.
    Window,
    /// Events still in flight after the window; they count in no figure.
    Drain,
}

/// See [`Record::Sample`]. Figures cover the interval, but `tally` is cumulative.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// The phase of the step.
    pub phase: PhaseName,
    /// Start, in seconds on the run's clock.
    pub from_s: Seconds,
    /// End, in seconds on the run's clock.
    pub to_s: Seconds,
    /// Counts since the start of the load.
    pub tally: Tally,
    /// What happened in the interval.
    pub counts: Counts,
    /// Errors of statements, by code.
    pub errors: BTreeMap<Code, u64>,
    /// Failed connection attempts, by code.
    pub connect_failures: BTreeMap<Code, u64>,
    /// Users connected at the interval's end.
    pub users: u64,
    /// Figures by target, in the plan's order.
    pub targets: Vec<TargetCounts>,
    /// Idle connections, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleCounts>,
    /// Figures by member, if the step is a mix; in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSample>,
    /// Users that completed events, if the plan requests them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_user: Vec<NumberedShare>,
    /// Users' pauses, if the plan requests them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<NumberedPause>,
    /// The outcome of users' entries, if they keep a ledger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<NumberedEntries>,
    /// Figures by command of the scripts, if the plan requests them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRow>,
    /// The events that have ended, if the plan requests them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event_log: Vec<EventRow>,
    /// The latency of events.
    pub latency_ns: EventLatency,
    /// The engine's own cost.
    pub generator: Generator,
    /// Lines for the latency log.
    pub hlog: Vec<String>,
}

/// Response time counts from the due time, service time from sending the first statement.
#[derive(Clone, Debug, Serialize)]
pub struct EventLatency {
    /// The time a user waits.
    pub response: LatencySummary,
    /// The time the server takes.
    pub service: LatencySummary,
}

/// A user, its last success before a pause and its first one after it; one short row each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberedPause(pub u64, pub Seconds, pub Option<Seconds>);

/// A user, the number up to which its entries are settled, and the doubtful ones since the last
/// such row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumberedEntries(pub u64, pub u64, pub Vec<u64>);

/// What one workload of a mix did.
#[derive(Clone, Debug, Serialize)]
pub struct MemberSample {
    /// Its name in the plan.
    pub name: String,
    /// Counts since the start of the load.
    pub tally: Tally,
    /// What happened in the interval.
    pub counts: WorkCounts,
    /// Errors of statements, by code.
    pub errors: BTreeMap<Code, u64>,
    /// The latency of its events.
    pub latency_ns: EventLatency,
}

/// The generator's own resource usage.
#[derive(Clone, Debug, Serialize)]
pub struct Generator {
    /// CPU time of the shards' threads.
    pub cpu_us: u64,
    /// The time that they could have used: shards times the interval.
    pub wall_us: u64,
    /// The 99th percentile of how late events started.
    pub late_ns_p99: Option<u64>,
    /// The same for events for which a user was free: only the generator delayed them.
    pub dispatch_ns_p99: Option<u64>,
    /// The 99th percentile of how long received answers waited for the shard to process them.
    pub held_ns_p99: Option<u64>,
    /// How long the shards' threads were ready to run while others had their cores.
    pub run_delay_us: Option<u64>,
    /// The number of event loops.
    pub shards: u32,
}

/// See [`Record::Error`].
#[derive(Clone, Debug, Serialize)]
pub struct FirstError {
    /// The error's code, and the family it belongs to.
    #[serde(flatten)]
    pub code: ErrorCode,
    /// The server's message.
    pub message: String,
    /// The statement, with parameters as question marks.
    pub statement: Option<String>,
    /// A script's statement was refused when it was prepared, not when it was executed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preparing: bool,
    /// A script's prepared statement was refused when it was executed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prepared: bool,
    /// Where in a statement that was refused when it was prepared the error is: which of its
    /// characters, from 1, if the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The index of the target that has refused a script's connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<usize>,
}

/// See [`Record::UserEnded`].
#[derive(Clone, Debug, Serialize)]
pub struct UserEnded {
    /// Its number among all users.
    pub user: u64,
    /// The place of its event's workload among the plan's members; 0 if the step is not a mix.
    pub member: u16,
    /// The number of the script's command that failed, from 0; `null` if that was none.
    pub command: Option<u16>,
    /// The error's code, and the family it belongs to.
    #[serde(flatten)]
    pub code: ErrorCode,
    /// What the server, or the client's side, said.
    pub message: String,
}

/// See [`Record::Outage`].
#[derive(Clone, Debug, Serialize)]
pub struct Outage {
    /// When the first user lost its connection.
    pub from_s: Seconds,
    /// When all users were connected again; `null` if the step ended first.
    pub to_s: Option<Seconds>,
    /// The highest number of users without a connection at the same time.
    pub users: u64,
    /// Why the first user lost its connection.
    pub reason: String,
}

/// How a step or a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// As planned.
    Finished,
    /// Stopped on request.
    Stopped,
    /// Failed; see the error.
    Failed,
}

/// See [`Record::End`].
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// How it ended.
    pub reason: EndReason,
    /// Why, when it failed.
    pub error: Option<Failure>,
    /// Seconds from the start of the load.
    pub seconds: f64,
    /// Counts since the start of the load.
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
