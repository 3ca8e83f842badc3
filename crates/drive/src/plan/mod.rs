//! The plan of a step: one JSON document, checked once, then frozen.
//!
//! The format is documented in `docs/engine.md`; unknown keys are errors.

mod connect;
mod member;
mod on_error;
mod part;
mod script;
mod session;
mod target;
mod workloads;

pub use connect::ConnectPlan;
pub use member::MemberPlan;
pub(crate) use on_error::TryLimit;
pub use on_error::{OnError, RestartOn};
pub use part::Part;
pub(crate) use part::Stride;
pub(crate) use script::RUN;
pub use script::{GeneralOption, IgnoreErrors, ScriptSpec};
pub use session::SessionPlan;
pub use target::{BindingWish, CompressionChoice, TargetPlan, TlsMode, TlsPlan, TlsVersion};
pub(crate) use workloads::Workloads;

use crate::error::PlanError;
use loadstone_measure::hlog;
use loadstone_workload::arrival::Arrival;
use loadstone_workload::dialect::{Dialect, usual_dialect};
use loadstone_workload::phases::Stretch;
use loadstone_workload::stop::StopRule;
use loadstone_workload::{Workload, WorkloadSpec};
use serde::Deserialize;
use std::num::NonZeroU32;

/// One step: a workload with a number of virtual users against one or several targets.
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
    /// How statements travel.
    pub protocol: Protocol,
    /// How many virtual users there are.
    pub users: u32,
    /// When events are due.
    pub arrival: Arrival,
    /// When the step is over.
    pub stop: StopRule,
    /// How many users are active, or how many events a second are due, in consecutive stretches up to the
    /// step's end; empty: all users, and the rate of `arrival`.
    #[serde(default)]
    pub phases: Vec<Stretch>,
    /// How connections are opened.
    pub connect: ConnectPlan,
    /// How each connection's session is set up before its first event.
    pub session: SessionPlan,
    /// What an error of the server means.
    pub on_error: OnError,
    /// The errors after which an event is restarted, where `on_error` is `restart`;
    /// `None`: those that are usual for the servers' family.
    #[serde(default)]
    pub restart_on: Option<RestartOn>,
    /// After this many tries an event that errors restart has failed; `None`: any number.
    #[serde(default)]
    pub max_tries: Option<NonZeroU32>,
    /// An event is not tried again once this time has passed since it was due, in seconds; `None`: at any time.
    #[serde(default)]
    pub tries_within_s: Option<f64>,
    /// How many event loops share the virtual users.
    pub shards: u32,
    /// The same seed gives each virtual user the same keys.
    pub seed: u64,
    /// The tag at the start of each of the step's lines in the latency log.
    pub tag: String,
    /// How long events that are in flight when the window ends may take to finish, in seconds.
    #[serde(default = "default_drain_s")]
    pub drain_s: f64,
    /// Whether the samples show what each virtual user did.
    #[serde(default)]
    pub per_user: bool,
    /// The shortest time without a finished event that the samples report as a user's outage; `None`: they
    /// report none. A lost connection makes an outage of any length.
    #[serde(default)]
    pub pauses_s: Option<f64>,
    /// Whether the samples show what each command of the scripts of pgbench did.
    #[serde(default)]
    pub figures_by_command: bool,
    /// Whether the samples have a row for each event.
    #[serde(default)]
    pub event_log: bool,
    /// The share of events that have one.
    #[serde(default = "default_event_log_share")]
    pub event_log_share: f64,
    /// This engine's part of the step, where other engines drive the rest.
    #[serde(default)]
    pub part: Part,
    /// The load begins when [`Drive::begin_at`](crate::Drive::begin_at) says so, not as soon as all users are
    /// connected.
    #[serde(default)]
    pub waits_for_start: bool,
    /// The step ends when the process that started it has sent no sign of life for this many seconds.
    #[serde(default)]
    pub lease_s: Option<f64>,
    /// A user closes its connection after this many events and reconnects when its next one is due; `None`: it
    /// keeps its connection.
    #[serde(default)]
    pub reconnect_after: Option<NonZeroU32>,
    /// Idle connections in addition to the users', open when the load begins.
    #[serde(default)]
    pub idle: u32,
}

fn default_drain_s() -> f64 {
    5.0
}

fn default_event_log_share() -> f64 {
    1.0
}

/// Limit on the workloads of a mix: as many as pgbench has scripts.
const MOST_MEMBERS: usize = 128;
/// Limit on users: more sockets than a host has ports for one target.
const MOST_USERS: u32 = 1_000_000;

/// How statements travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Each statement is prepared at its first use (MySQL: COM_STMT_EXECUTE).
    Prepared,
    /// Statements are sent as text with their literals (MySQL: COM_QUERY).
    Text,
    /// Each statement is parsed for one execution, with its parameters (PostgreSQL's extended query).
    Extended,
    /// As `Prepared`, and statements that do not need the answers before them are sent together with
    /// these.
    Pipelined,
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

    /// The numbers of users and events that one of this engine's shards has.
    pub(crate) fn stride_of(&self, shard: usize) -> Stride {
        let (number, of) = (u64::from(self.part.number), u64::from(self.part.of));
        Stride { first: number + of * shard as u64, step: of * u64::from(self.shards) }
    }

    /// How many events this engine's users together may begin in the window; `None`: any number.
    pub(crate) fn own_events(&self) -> Option<u64> {
        self.stop.events_of_all().map(|events| self.part.share(events))
    }

    /// How many events of an open loop may become due in the window on this engine's shard, if each
    /// user has a number of its own.
    pub(crate) fn own_events_of(&self, shard: usize) -> Option<u64> {
        let events = self.stop.events_of_each_user()?;
        let first = u64::from(self.users_of_members());
        let takes = |number: &u64| *number >= first;
        let users = self.stride_of(shard).numbers(u64::from(self.users)).filter(takes).count();
        Some(events.saturating_mul(users as u64))
    }

    /// How often an event is tried, if the plan limits that.
    pub(crate) fn try_limit(&self) -> Option<TryLimit> {
        TryLimit::new(self.max_tries, self.tries_within_s)
    }

    /// How many virtual users are this engine's.
    pub(crate) fn own_users(&self) -> u32 {
        self.part.share_of_users(self.users)
    }

    /// How many of this engine's users are reserved for single members of a mix.
    pub(crate) fn own_users_of_members(&self) -> u32 {
        // These users have the lowest numbers.
        self.part.share_of_users(self.users_of_members())
    }

    /// How many connections this engine may open at once.
    pub(crate) fn own_at_once(&self) -> u32 {
        (self.connect.at_once / self.part.of).max(1)
    }

    /// The SQL dialect of the first target's family; all targets of a step are of one family.
    fn dialect(&self) -> Result<&'static dyn Dialect, PlanError> {
        self.targets.first().map_or(Ok(usual_dialect()), TargetPlan::dialect)
    }

    /// The workload, ready to make virtual users; `None` where several, or a script, drive them.
    ///
    /// # Errors
    /// An unknown workload or option.
    pub fn build_workload(&self) -> Result<Option<Workload>, PlanError> {
        let Some(spec) = &self.workload else { return Ok(None) };
        workloads::build(spec, self.dialect()?).map(Some)
    }

    /// The workload, or several of them; `None` where a script drives the users.
    ///
    /// # Errors
    /// An unknown workload or option.
    pub(crate) fn build_workloads(&self) -> Result<Option<Workloads>, PlanError> {
        if self.members.is_empty() {
            return Ok(self.build_workload()?.map(Workloads::One));
        }
        Workloads::several(&self.members, self.dialect()?).map(Some)
    }

    /// How many users are not reserved for a member of a mix; all of them where there is no mix.
    pub(crate) fn pool(&self) -> u32 {
        self.users.saturating_sub(self.users_of_members())
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
        if self.script.is_some() {
            return refuse("a script cannot go by them");
        }
        Ok(())
    }

    fn check_protocol(&self) -> Result<(), PlanError> {
        let (what, of_script) = match self.protocol {
            Protocol::Prepared | Protocol::Text => return Ok(()),
            Protocol::Extended => ("extended query", "prepares its statements itself"),
            Protocol::Pipelined => ("pipelines", "waits for each answer itself"),
        };
        let dialect = self.dialect()?;
        if !dialect.has_extended_protocol() {
            let family = dialect.family();
            return Err(PlanError::new(format!("protocol: {family} has no {what}")));
        }
        if self.script.is_some() {
            return Err(PlanError::new(format!("protocol: a script {of_script}")));
        }
        Ok(())
    }

    fn check_pipelines(&self) -> Result<(), PlanError> {
        let dialect = self.dialect()?;
        if !dialect.has_extended_protocol() {
            let family = dialect.family();
            return Err(PlanError::new(format!("workload: {family} has no pipelines")));
        }
        if self.protocol == Protocol::Text {
            return Err(PlanError::new("protocol: pipelines need prepared or extended"));
        }
        Ok(())
    }

    fn check_members(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(text));
        if self.members.len() > MOST_MEMBERS {
            return refuse("members: at most 128 workloads at once");
        }
        for (number, member) in self.members.iter().enumerate() {
            member.check()?;
            if self.members[..number].iter().any(|before| before.name == member.name) {
                return refuse(&format!("members: {} is there twice", member.name));
            }
        }
        let drawn = self.members.iter().any(|member| member.weight.is_some());
        if self.users_of_members() > self.users {
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
        Ok(())
    }

    fn check_tries_and_figures(&self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(text));
        if self.tries_within_s.is_some_and(|within_s| !(within_s > 0.0 && within_s <= 86_400.0)) {
            return refuse("tries_within_s: above 0 and at most 86400");
        }
        if !(self.event_log_share > 0.0 && self.event_log_share <= 1.0) {
            return refuse("event_log_share: above 0 and at most 1");
        }
        let mut workloads =
            self.workload.iter().chain(self.members.iter().map(|member| &member.workload));
        if self.figures_by_command && workloads.all(|workload| workload.pgbench.is_none()) {
            return refuse("figures_by_command: only scripts of pgbench have commands");
        }
        if self.script.is_some() {
            return self.check_script_alone();
        }
        Ok(())
    }

    /// What the engine's own users do, and a script's do not.
    fn check_script_alone(&self) -> Result<(), PlanError> {
        for (name, is_asked) in [
            ("event_log", self.event_log),
            ("max_tries", self.max_tries.is_some()),
            ("tries_within_s", self.tries_within_s.is_some()),
            ("on_error", self.on_error == OnError::EndUser),
            ("stop.of_each_user", self.stop.events_of_each_user().is_some()),
            ("arrival.latest_start_s", self.arrival.latest_start().is_some()),
        ] {
            if is_asked {
                return Err(PlanError::new(format!("{name}: not in a step with a script")));
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), PlanError> {
        let refuse = |text: &str| Err(PlanError::new(text));
        if self.targets.is_empty() {
            return refuse("targets: at least one is needed");
        }
        if self.targets.iter().any(|target| target.family != self.targets[0].family) {
            return refuse("targets: all are of one family");
        }
        let asked = [self.workload.is_some(), self.script.is_some(), !self.members.is_empty()];
        if asked.iter().filter(|asked| **asked).count() != 1 {
            return refuse("workload, members, script: one of them is needed, and no other");
        }
        if self.users == 0 {
            return refuse("users: at least 1 virtual user is needed");
        }
        if self.users > MOST_USERS {
            return refuse("users: at most 1000000 virtual users");
        }
        if self.shards == 0 || self.shards > 1024 {
            return refuse("shards: 1 to 1024");
        }
        hlog::check_tag(&self.tag).map_err(|error| PlanError::new(format!("tag: {error}")))?;
        self.connect.check()?;
        self.arrival.check().map_err(|error| PlanError::new(error.to_string()))?;
        self.stop.check().map_err(|error| PlanError::new(error.to_string()))?;
        if !(0.0..=StopRule::LONGEST_S).contains(&self.drain_s) {
            return refuse("drain_s: 0 to a year");
        }
        self.check_tries_and_figures()?;
        if self.pauses_s.is_some_and(|pauses_s| !(0.001..=3600.0).contains(&pauses_s)) {
            return refuse("pauses_s: 0.001 to 3600");
        }
        self.part.check(self.users)?;
        let drives_events =
            self.script.as_ref().is_none_or(|one| one.command.as_deref() == Some(RUN));
        if self.part.of > 1 && !drives_events {
            return refuse("part: a script's command is carried out by one engine");
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
        let mut most_shards = self.own_users();
        if matches!(self.arrival, Arrival::Open { .. }) && !self.members.is_empty() {
            // Each shard has its share of the events, so it needs at least one user to run them.
            most_shards = self.own_users() - self.own_users_of_members();
            if most_shards == 0 {
                return refuse("part.of: no user of this part takes the events of an open loop");
            }
        }
        self.shards = self.shards.min(most_shards);
        self.session.check()?;
        self.check_protocol()?;
        let Some(workloads) = self.build_workloads()? else { return Ok(()) };
        if self.protocol == Protocol::Pipelined && workloads.has_scripts() {
            return refuse("protocol: a script of pgbench says itself what is in a pipeline");
        }
        if workloads.has_pipelines() {
            self.check_pipelines()?;
        }
        Ok(())
    }
}
