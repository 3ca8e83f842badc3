//! What is asked of the engine: one JSON document, checked once, then frozen.
//!
//! The format is documented in `docs/engine.md`; unknown keys are errors.

use crate::cast::Cast;
use crate::error::PlanError;
use crate::scripted::ScriptSpec;
use loadstone_measure::hlog;
use loadstone_workload::arrival::Arrival;
use loadstone_workload::phases::Stretch;
use loadstone_workload::stop::StopRule;
use loadstone_workload::{Workload, WorkloadSpec};
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// One step: a workload at one concurrency against one or several targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The databases under test; virtual users are dealt out to them in turn.
    pub targets: Vec<TargetPlan>,
    /// What each virtual user does; or
    #[serde(default)]
    pub workload: Option<WorkloadSpec>,
    /// several workloads at once; or
    #[serde(default)]
    pub members: Vec<MemberPlan>,
    /// the script that does it.
    #[serde(default)]
    pub script: Option<ScriptSpec>,
    /// Prepared statements or the text protocol.
    pub protocol: Protocol,
    /// How many virtual users there are.
    pub concurrency: u32,
    /// When events are due.
    pub arrival: Arrival,
    /// When the step is over.
    pub stop: StopRule,
    /// How many users are at work, or events a second due, one stretch after the other to the step's
    /// end; none: all users, and the rate of `arrival`.
    #[serde(default)]
    pub phases: Vec<Stretch>,
    /// How connections are opened.
    pub connect: ConnectPlan,
    /// What each connection is told before its first event.
    pub session: SessionPlan,
    /// What an error of the server means.
    pub on_error: OnError,
    /// Which errors begin the event anew, where `on_error` is `restart`.
    #[serde(default)]
    pub restart_on: RestartOn,
    /// How many event loops share the virtual users.
    pub shards: u32,
    /// The same seed gives each virtual user the same keys.
    pub seed: u64,
    /// What the step's lines in the latency log begin with.
    pub tag: String,
    /// How long events that are in flight when the window ends may take to finish, in seconds.
    #[serde(default = "default_drain_s")]
    pub drain_s: f64,
    /// Whether the samples tell what each virtual user did.
    #[serde(default)]
    pub per_user: bool,
    /// From which length on the samples tell of the times in which a user saw no event through; not at
    /// all where there is none. A lost connection makes one of any length.
    #[serde(default)]
    pub pauses_s: Option<f64>,
    /// What of the step is this engine's, where others drive the rest of it.
    #[serde(default)]
    pub part: Part,
    /// The load begins when somebody says when, not as soon as all users are connected.
    #[serde(default)]
    pub told_when: bool,
    /// The step ends when whoever started it has given no sign of life for so long, in seconds.
    #[serde(default)]
    pub lease_s: Option<f64>,
    /// A user says goodbye after so many events, and connects anew when its next one is due; none: it
    /// keeps its connection.
    #[serde(default)]
    pub reconnect_after: Option<NonZeroU32>,
    /// Connections beside the users' that are there when the load begins and say nothing.
    #[serde(default)]
    pub idle: u32,
}

fn default_drain_s() -> f64 {
    5.0
}

/// One of several workloads at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberPlan {
    /// What its figures are called.
    pub name: String,
    /// What its events are.
    pub workload: WorkloadSpec,
    /// So many of the step's users do nothing else, in a closed loop; or
    #[serde(default)]
    pub users: Option<NonZeroU32>,
    /// its share of the events of all users that no member has for itself.
    #[serde(default)]
    pub weight: Option<f64>,
    /// How long its own users think between two events, in seconds; none: as the others.
    #[serde(default)]
    pub think_s: Option<f64>,
}

/// More workloads than anybody tells apart.
const MOST_MEMBERS: usize = 64;

impl MemberPlan {
    fn check(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(format!("members: {}: {text}", self.name)));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(is_word) {
            return refuse("a name has letters, digits, dots, dashes and underscores");
        }
        if self.users.is_some() == self.weight.is_some() {
            return refuse("it has either users of its own or a weight");
        }
        if self.weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1e9)) {
            return refuse("weight: above 0 and at most 1000000000");
        }
        if self.think_s.is_some_and(|think_s| !(0.0..=86_400.0).contains(&think_s)) {
            return refuse("think_s: 0 to 86400");
        }
        if self.think_s.is_some() && self.users.is_none() {
            return refuse("think_s is of users of its own");
        }
        Ok(())
    }
}

/// A database under test.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// Host name or address; not used when there is a socket.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path of a unix socket; wins over host and port.
    pub socket: Option<PathBuf>,
    /// Who logs in.
    pub user: String,
    /// With what; never shown.
    pub password: String,
    /// The schema.
    pub database: Option<String>,
    /// Encryption.
    pub tls: TlsPlan,
    /// Compression, in the order in which kinds are liked: the first that the server has.
    #[serde(default)]
    pub compression: Vec<CompressionChoice>,
    /// PEM file of the server's RSA key, for caching_sha2_password without TLS.
    pub server_public_key: Option<PathBuf>,
}

impl std::fmt::Debug for TargetPlan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}", self.user, self.endpoint())
    }
}

impl TargetPlan {
    /// The place as a person writes it: `host:port` or the socket's path.
    pub fn endpoint(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Encryption of one target's connections.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsPlan {
    /// How much is asked of the server.
    pub mode: TlsMode,
    /// PEM file of the authorities that may have signed the server's certificate.
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    pub cert: Option<PathBuf>,
    /// PEM file of the client's key.
    pub key: Option<PathBuf>,
    /// The ciphers that may be used, by OpenSSL's names; none: whichever the two like best.
    #[serde(default)]
    pub ciphers: Vec<String>,
}

/// The field's five modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never encrypted.
    Disabled,
    /// Encrypted over TCP where the server offers it.
    #[default]
    Preferred,
    /// Encrypted or nothing; the certificate is not checked.
    Required,
    /// As `Required`, and the certificate is signed by the given authority.
    VerifyCa,
    /// As `VerifyCa`, and it was made out for this host.
    VerifyIdentity,
}

/// A kind of compression, or none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionChoice {
    /// Not compressed: every server has that.
    Off,
    /// Zlib.
    Zlib,
    /// Zstd; MySQL 8.0.18 and newer.
    Zstd,
}

/// More sockets than a host has ports for one target.
const MOST_USERS: u32 = 1_000_000;

/// How statements travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// COM_STMT_EXECUTE, each statement prepared at its first use.
    Prepared,
    /// COM_QUERY with literals in place.
    Text,
}

/// One of the equal parts of a step, when several engines drive it together.
///
/// Users, and events that are due by a schedule, are dealt out in turn: part `i` of `n` has number
/// `i`, `i + n`, `i + 2 n` and so on. What a user does depends on its number alone, so the number of
/// parts changes no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Self { number: 0, of: 1 }
    }
}

impl Part {
    /// How many of `all` things this part has; those of all parts sum up to `all`.
    #[must_use]
    pub fn share(&self, all: u64) -> u64 {
        let (number, of) = (u64::from(self.number), u64::from(self.of));
        all.saturating_sub(number).div_ceil(of)
    }

    /// The number among all users of what is the `index`-th of this part.
    pub(crate) fn number_of(&self, index: usize) -> u64 {
        u64::from(self.number) + u64::from(self.of) * index as u64
    }

    pub(crate) fn check(&self, concurrency: u32) -> Result<(), PlanError> {
        if self.number >= self.of {
            return Err(PlanError::new("part: number counts from 0 and is less than of"));
        }
        if self.of > concurrency {
            return Err(PlanError::new("part.of: at most one part for each virtual user"));
        }
        Ok(())
    }
}

/// The numbers that belong to one shard: `first`, and from there on each `step`-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dealt {
    pub(crate) first: u64,
    pub(crate) step: u64,
}

impl Dealt {
    /// Those below `all`.
    pub(crate) fn numbers(self, all: u64) -> impl Iterator<Item = u64> {
        // A shard count and a part count are far below what a usize holds.
        (self.first..all).step_by(usize::try_from(self.step).unwrap_or(usize::MAX))
    }
}

/// How connections are opened: servers fail under a storm of a thousand connects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectPlan {
    /// How many may be under way at once, over all shards.
    pub at_once: u32,
    /// How long one attempt may take, login included.
    pub timeout_s: f64,
    /// How often one connection is tried again before the load has begun.
    pub retries: u32,
    /// The first wait between two attempts; it doubles up to the longest one.
    pub backoff_s: f64,
    /// The longest: whoever measures how long a server was away wants it short.
    #[serde(default = "default_longest_backoff_s")]
    pub longest_backoff_s: f64,
}

fn default_longest_backoff_s() -> f64 {
    1.0
}

impl ConnectPlan {
    /// The shortest wait between two attempts: without any, a server that refuses would cost the whole processor.
    pub const SHORTEST_BACKOFF: Duration = Duration::from_millis(1);

    /// How long to wait before attempt number `attempt` (the first is 0).
    pub fn backoff(&self, attempt: u32) -> Duration {
        let doubled = self.backoff_s * f64::from(2_u32.saturating_pow(attempt.min(16)));
        Duration::from_secs_f64(doubled.min(self.longest_backoff_s)).max(Self::SHORTEST_BACKOFF)
    }
}

/// What each connection is told after its login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionPlan {
    /// Statements to send as they are, in this order.
    pub init_sql: Vec<String>,
    /// `READ COMMITTED` and the like.
    pub isolation: Option<String>,
    /// Character set of the connection, `utf8mb4` when none is given.
    pub charset: Option<String>,
}

const ISOLATION_LEVELS: [&str; 4] =
    ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Character sets that fit in the login packet's one byte, with a collation of each.
const CHARSETS: [(&str, u8); 8] = [
    ("utf8mb4", 45),
    ("utf8mb3", 33),
    ("utf8", 33),
    ("latin1", 8),
    ("binary", 63),
    ("ascii", 11),
    ("gbk", 28),
    ("big5", 1),
];

impl SessionPlan {
    /// The statements to send after the login.
    pub fn statements(&self) -> Vec<String> {
        let charset = self
            .charset
            .iter()
            .filter(|name| login_collation(name).is_none())
            .map(|name| format!("SET NAMES '{name}'"));
        let isolation = self
            .isolation
            .iter()
            .map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        charset.chain(isolation).chain(self.init_sql.iter().cloned()).collect()
    }

    /// The collation that the login asks for.
    pub fn collation(&self) -> u8 {
        self.charset.as_deref().and_then(login_collation).unwrap_or(45)
    }

    pub(crate) fn check(&mut self) -> Result<(), PlanError> {
        if let Some(level) = &mut self.isolation {
            *level = level.replace('-', " ").to_uppercase();
            if !ISOLATION_LEVELS.contains(&level.as_str()) {
                return Err(PlanError::new(format!(
                    "session.isolation: '{level}' is not one of {}",
                    ISOLATION_LEVELS.join(", ")
                )));
            }
        }
        match &self.charset {
            Some(name) if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                Err(PlanError::new(format!("session.charset: '{name}' is not a character set")))
            }
            _ => Ok(()),
        }
    }
}

fn login_collation(charset: &str) -> Option<u8> {
    CHARSETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(charset)).map(|(_, id)| *id)
}

/// The errors after which an event begins anew.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RestartOn {
    /// Any.
    All,
    /// Those of these numbers.
    #[serde(untagged)]
    These(Vec<u16>),
}

impl Default for RestartOn {
    /// Deadlock, lock wait timeout, record has changed since it was last read.
    fn default() -> Self {
        Self::These(vec![1213, 1205, 1020])
    }
}

impl RestartOn {
    /// Whether this error is one of them.
    pub fn has(&self, errno: u16) -> bool {
        match self {
            Self::All => true,
            Self::These(numbers) => numbers.contains(&errno),
        }
    }
}

/// What an error packet means for the event it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The errors of the plan's `restart_on` begin the event anew; others end the step.
    Restart,
    /// Every error is counted, and the next event begins.
    Continue,
    /// Every error ends the step.
    Stop,
}

impl Plan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let mut plan: Self = serde_json::from_str(text).map_err(PlanError::from_json)?;
        plan.check()?;
        Ok(plan)
    }

    /// What of the step one of this engine's shards drives.
    pub(crate) fn dealt_to(&self, shard: usize) -> Dealt {
        let (number, of) = (u64::from(self.part.number), u64::from(self.part.of));
        Dealt { first: number + of * shard as u64, step: of * u64::from(self.shards) }
    }

    /// How many events this engine may begin in the window, where there is a limit.
    pub(crate) fn own_events(&self) -> Option<u64> {
        self.stop.events().map(|events| self.part.share(events))
    }

    /// How many connections this engine may open at once.
    pub(crate) fn own_at_once(&self) -> u32 {
        (self.connect.at_once / self.part.of).max(1)
    }

    /// The workload, ready to make virtual users; `None` where several, or a script, drive them.
    ///
    /// # Errors
    /// An unknown workload or option.
    pub fn build_workload(&self) -> Result<Option<Workload>, PlanError> {
        self.workload.as_ref().map(build).transpose()
    }

    /// How many users no member of a mix has for itself; all of them where there is no mix.
    pub(crate) fn pool(&self) -> u32 {
        self.concurrency.saturating_sub(self.users_of_members())
    }

    fn users_of_members(&self) -> u32 {
        let own = self.members.iter().filter_map(|member| member.users);
        own.fold(0_u32, |sum, users| sum.saturating_add(users.get()))
    }

    fn check_phases(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(format!("phases: {text}")));
        let is_open = matches!(self.arrival, Arrival::Open { .. });
        let most = f64::from(self.pool());
        let is_users = |level: f64| (0.0..=most).contains(&level) && level.fract() == 0.0;
        for Stretch { seconds, from, to } in &self.phases {
            if !(*seconds > 0.0 && *seconds <= StopRule::LONGEST_S) {
                return refuse("seconds: above 0 and at most a year");
            }
            let fits = |level: f64| if is_open { Arrival::is_rate(level) } else { is_users(level) };
            if !fits(*from) || !fits(*to) {
                return refuse(if is_open {
                    "a rate is at most 10000000 events a second"
                } else {
                    "users at work are a whole number, and no more than there are"
                });
            }
        }
        if self.phases.iter().all(|phase| phase.from.max(phase.to) <= 0.0) {
            return refuse("nobody is ever at work");
        }
        let all: f64 = self.phases.iter().map(|phase| phase.seconds).sum();
        let is_whole = (all - self.stop.window_ends().seconds()).abs() < 1e-3;
        if !is_whole || self.stop.events().is_some() {
            return refuse("they take all of the step's time, and events do not end it");
        }
        if self.script.is_some() || self.part.of > 1 {
            return refuse("a script, or several engines, cannot go by them");
        }
        Ok(())
    }

    fn check_members(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(text));
        if self.members.len() > MOST_MEMBERS {
            return refuse("members: at most 64 workloads at once");
        }
        for (number, member) in self.members.iter().enumerate() {
            member.check()?;
            if self.members[..number].iter().any(|before| before.name == member.name) {
                return refuse(&format!("members: {} is there twice", member.name));
            }
        }
        let drawn = self.members.iter().any(|member| member.weight.is_some());
        if self.users_of_members() > self.concurrency {
            return refuse("members: they have more users than the step");
        }
        if drawn && self.pool() == 0 {
            return refuse("members: those with a weight have no user left");
        }
        if !drawn && self.pool() > 0 {
            return refuse("members: some users belong to none of them");
        }
        if !drawn && matches!(self.arrival, Arrival::Open { .. }) {
            return refuse("members: without a weight none takes the events of an open loop");
        }
        if self.part.of > 1 {
            return refuse("part: several workloads at once share one engine");
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(text));
        if self.targets.is_empty() {
            return refuse("targets: at least one is needed");
        }
        let asked = [self.workload.is_some(), self.script.is_some(), !self.members.is_empty()];
        if asked.iter().filter(|asked| **asked).count() != 1 {
            return refuse("workload, members, script: one of them is needed, and no other");
        }
        if self.concurrency == 0 {
            return refuse("concurrency: at least 1 virtual user is needed");
        }
        if self.concurrency > MOST_USERS {
            return refuse("concurrency: at most 1000000 virtual users");
        }
        if self.shards == 0 || self.shards > 1024 {
            return refuse("shards: 1 to 1024");
        }
        hlog::check_tag(&self.tag).map_err(|error| PlanError::new(format!("tag: {error}")))?;
        check_connect(&self.connect)?;
        self.arrival.check().map_err(|error| PlanError::new(error.to_string()))?;
        self.stop.check().map_err(|error| PlanError::new(error.to_string()))?;
        if !(0.0..=StopRule::LONGEST_S).contains(&self.drain_s) {
            return refuse("drain_s: 0 to a year");
        }
        if self.pauses_s.is_some_and(|pauses_s| !(0.001..=3600.0).contains(&pauses_s)) {
            return refuse("pauses_s: 0.001 to 3600");
        }
        self.part.check(self.concurrency)?;
        if self.part.of > 1 && self.script.is_some() {
            return refuse("part: the users of a script share one engine");
        }
        if self.script.is_some() && (self.reconnect_after.is_some() || self.idle > 0) {
            return refuse("reconnect_after, idle: a script opens its connections itself");
        }
        if self.idle > MOST_USERS {
            return refuse("idle: at most 1000000 connections");
        }
        if self.lease_s.is_some_and(|lease_s| !(lease_s > 0.0 && lease_s <= 3600.0)) {
            return refuse("lease_s: more than 0, at most 3600");
        }
        if !self.members.is_empty() {
            self.check_members()?;
        }
        if !self.phases.is_empty() {
            self.check_phases()?;
        }
        let own_users = self.part.share(u64::from(self.concurrency));
        let mut most_shards = u32::try_from(own_users).unwrap_or(u32::MAX);
        if matches!(self.arrival, Arrival::Open { .. }) && !self.members.is_empty() {
            // Each shard has its share of the events, and so needs somebody who takes them.
            most_shards = self.pool();
        }
        self.shards = self.shards.min(most_shards);
        self.session.check()?;
        Cast::of_plan(self).map(drop)
    }
}

/// # Errors
/// An unknown workload or option.
pub(crate) fn build(spec: &WorkloadSpec) -> Result<Workload, PlanError> {
    Workload::from_spec(spec).map_err(|error| PlanError::new(error.to_string()))
}

pub(crate) fn check_connect(connect: &ConnectPlan) -> Result<(), PlanError> {
    if connect.at_once == 0 {
        return Err(PlanError::new("connect.at_once: at least 1"));
    }
    if !(connect.timeout_s > 0.0 && connect.timeout_s <= 3600.0) {
        return Err(PlanError::new("connect.timeout_s: more than 0, at most 3600"));
    }
    if !(connect.backoff_s >= 0.0 && connect.backoff_s <= 3600.0) {
        return Err(PlanError::new("connect.backoff_s: 0 to 3600"));
    }
    if !(connect.longest_backoff_s >= 0.0 && connect.longest_backoff_s <= 3600.0) {
        return Err(PlanError::new("connect.longest_backoff_s: 0 to 3600"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_restart_are_a_list_or_all() {
        let read = |text| serde_json::from_str::<RestartOn>(text);
        assert_eq!(read("[1062]").unwrap(), RestartOn::These(vec![1062]));
        assert!(read("\"all\"").unwrap().has(1146));
        assert!(read("\"some\"").is_err() && read("[70000]").is_err());
        assert!(RestartOn::default().has(1213) && !RestartOn::default().has(1062));
    }

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |number| Part { number, of })
    }

    #[test]
    fn the_shares_of_all_parts_are_the_whole_and_differ_by_one_at_most() {
        for (of, all) in [(1, 7), (3, 7), (4, 4), (5, 3), (1000, 123_456)] {
            let shares: Vec<u64> = parts(of).map(|part| part.share(all)).collect();
            assert_eq!(shares.iter().sum::<u64>(), all);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn each_user_is_in_one_shard_of_one_part_whatever_the_numbers_of_shards() {
        let mut dealt: Vec<u64> = parts(3)
            .flat_map(|part| {
                let shards = u64::from(part.number) + 1;
                let (number, of) = (u64::from(part.number), u64::from(part.of));
                let of_shard = move |shard| Dealt { first: number + of * shard, step: of * shards };
                (0..shards).flat_map(move |shard| of_shard(shard).numbers(64))
            })
            .collect();
        dealt.sort_unstable();
        assert_eq!(dealt, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn a_part_that_is_none_is_refused() {
        assert!(Part { number: 2, of: 2 }.check(64).is_err());
        assert!(Part { number: 0, of: 0 }.check(64).is_err());
        assert!(Part { number: 0, of: 3 }.check(2).is_err());
        assert!(Part { number: 1, of: 2 }.check(2).is_ok());
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_nothing() {
        let read = |text| serde_json::from_str::<ConnectPlan>(text).unwrap();
        let plan = |backoff_s| ConnectPlan {
            backoff_s,
            ..read(r#"{"at_once": 1, "timeout_s": 1.0, "retries": 0, "backoff_s": 0.1}"#)
        };
        let pauses = [0, 1, 2, 3, 4, 99].map(|attempt| plan(0.1).backoff(attempt).as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(plan(0.0).backoff(0), ConnectPlan::SHORTEST_BACKOFF);
        assert_eq!(plan(0.0).backoff(u32::MAX), ConnectPlan::SHORTEST_BACKOFF);
        assert_eq!(plan(3600.0).backoff(u32::MAX), Duration::from_secs(1));
        let hasty = ConnectPlan { longest_backoff_s: 0.15, ..plan(0.1) };
        assert_eq!([0, 1, 9].map(|attempt| hasty.backoff(attempt).as_millis()), [100, 150, 150]);
    }
}
