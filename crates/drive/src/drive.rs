//! A step from outside: start it, hear of it, stop it.

use crate::cast::Cast;
use crate::clock::Clock;
use crate::control::Control;
use crate::coordinator::{Coordinator, Message, Order, ShardMessage, Step};
use crate::core::{Core, Parts, Settings};
use crate::endpoint::Endpoint;
use crate::error::{Failure, FailureKind, PlanError};
use crate::member::Member;
use crate::meter::Meter;
use crate::open_loop::OpenLoop;
use crate::plan::{Dealt, Plan};
use crate::ramp::Ramp;
use crate::record::{End, EndReason, Record};
use crate::scheduling::Manners;
use crate::scripted::{RUN, Scripted, Watchdog};
use crate::shard::Shard;
use crate::ticks::Ticks;
use crate::user::User;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use loadstone_measure::{Nanos, Tally};
use loadstone_script::{Command, ScriptError, Vm};
use loadstone_workload::arrival::{Arrival, Gaps};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A step that is under way.
#[derive(Debug)]
pub struct Drive {
    control: Arc<Control>,
    records: Receiver<Record>,
    orders: Sender<Order>,
    limits: Limits,
}

/// What may be changed while the step runs.
#[derive(Clone, Copy, Debug)]
struct Limits {
    is_open: bool,
    /// Its phases say how the load goes.
    has_phases: bool,
    /// Each shard has its share of an open loop's events, and so needs a user.
    fewest_users: u32,
    most_users: u32,
}

impl Limits {
    fn of(plan: &Plan) -> Self {
        let is_open = !matches!(plan.arrival, Arrival::Closed { .. });
        let own = plan.concurrency - plan.pool();
        let fewest_users = if is_open { own + plan.shards.min(plan.pool()) } else { own.max(1) };
        let has_phases = !plan.phases.is_empty();
        Self { is_open, has_phases, fewest_users, most_users: plan.concurrency }
    }
}

impl Limits {
    fn refuse_with_phases(self) -> Result<(), PlanError> {
        if self.has_phases {
            return Err(PlanError::new("the step goes by its phases, and by nothing else"));
        }
        Ok(())
    }
}

/// What waiting for a record brought.
#[derive(Debug)]
pub enum Heard {
    /// The next record.
    Record(Box<Record>),
    /// None came within the time.
    Nothing,
    /// There are no more.
    Over,
}

impl Drive {
    /// Begins the step and returns at once; what goes wrong comes as the end record.
    ///
    /// # Errors
    /// The operating system refuses threads or descriptors.
    pub fn start(plan: Plan) -> std::io::Result<Self> {
        let control = Arc::new(Control::new(plan.shards, plan.own_events(), plan.own_at_once())?);
        let limits = Limits::of(&plan);
        let (sender, records) = unbounded();
        let (orders, receiver) = unbounded();
        let shared = control.clone();
        std::thread::Builder::new()
            .name("coordinator".to_owned())
            .spawn(move || run_step(&plan, shared, sender, receiver))?;
        Ok(Self { control, records, orders, limits })
    }

    /// The load of a step that is told when shall begin at this instant of CLOCK_MONOTONIC, or as
    /// soon as all users are connected if that is later.
    pub fn begin_at(&self, monotonic: Nanos) {
        // A step that is over needs no order.
        let _ = self.orders.send(Order::BeginAt(monotonic));
    }

    /// A sign of life, for a step that ends without.
    pub fn renew(&self) {
        let _ = self.orders.send(Order::Renew);
    }

    /// The next record, or what there is to say instead after `timeout`.
    pub fn next(&self, timeout: Duration) -> Heard {
        hear(&self.records, timeout)
    }

    /// From now on so many events a second are due in place of the plan's rate. Before the load begins
    /// it holds from its begin on.
    ///
    /// # Errors
    /// The loop is closed, or nobody could drive such a rate.
    pub fn set_rate(&self, rate: f64) -> Result<(), PlanError> {
        self.limits.refuse_with_phases()?;
        if !self.limits.is_open {
            return Err(PlanError::new("rate: a closed loop has none"));
        }
        let arrival = Arrival::Open { rate, ramp: None, gaps: Gaps::default(), max_backlog: 1 };
        arrival.check().map_err(|error| PlanError::new(error.to_string()))?;
        self.control.set_rate(rate);
        Ok(())
    }

    /// From now on only the first `users` virtual users begin events; the others finish theirs and
    /// rest, with their connections, until they may again.
    ///
    /// # Errors
    /// More users than the step has, or too few.
    pub fn set_concurrency(&self, users: u32) -> Result<(), PlanError> {
        self.limits.refuse_with_phases()?;
        let Limits { fewest_users, most_users, .. } = self.limits;
        if !(fewest_users..=most_users).contains(&users) {
            let allowed = format!("concurrency: {fewest_users} to {most_users} in this step");
            return Err(PlanError::new(allowed));
        }
        self.control.set_active(users);
        Ok(())
    }

    /// From now on no event begins, until this is said again with `false`. Users finish theirs and rest,
    /// with their connections; events of an open loop that wait, or are due meanwhile, are skipped, so
    /// that none of them comes in a burst afterwards.
    pub fn hold(&self, held: bool) {
        self.control.hold(held);
    }

    /// Asks for a clean end; the records go on until the last one.
    pub fn stop(&self) {
        self.control.stop();
    }
}

/// Who lets go of a step ends it, and does not wait until its threads are over: they hold nothing
/// but their own connections, and need seconds where a server has stopped to answer.
impl Drop for Drive {
    fn drop(&mut self) {
        self.control.stop();
    }
}

pub(crate) fn hear(records: &Receiver<Record>, timeout: Duration) -> Heard {
    match records.recv_timeout(timeout) {
        Ok(record) => Heard::Record(Box::new(record)),
        Err(RecvTimeoutError::Timeout) => Heard::Nothing,
        Err(RecvTimeoutError::Disconnected) => Heard::Over,
    }
}

fn run_step(plan: &Plan, control: Arc<Control>, records: Sender<Record>, orders: Receiver<Order>) {
    let spare = records.clone();
    let run = || try_run_step(plan, control, records, orders);
    let panicked = |_| Err(Failure::bug("the coordinator"));
    if let Err(failure) = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked) {
        let reason = EndReason::Failed;
        let end = End { reason, error: Some(failure), seconds: 0.0, tally: Tally::default() };
        // Nobody listens any more: then nobody wants to know.
        drop(spare.send(Record::End(end)));
    }
}

fn try_run_step(
    plan: &Plan,
    control: Arc<Control>,
    records: Sender<Record>,
    orders: Receiver<Order>,
) -> Result<(), Failure> {
    let cast = Cast::of_plan(plan)
        .map_err(|error| Failure::new(FailureKind::Plan, None, error.to_string()))?;
    let endpoints = Endpoint::of_plan(plan)?;
    let clock = Clock::start();
    let script = plan.script.as_ref();
    let script =
        script.map(|script| Arc::new(script.script_plan(plan.seed, u64::from(plan.concurrency))));
    if script.as_ref().is_none_or(|script| script.command.as_deref() != Some(RUN)) {
        control.initialise();
    }
    let settings = Arc::new(Settings {
        control: control.clone(),
        clock,
        catalogue: cast.as_ref().map(Cast::catalogue).unwrap_or_default(),
        protocol: plan.protocol,
        on_error: plan.on_error,
        restart_on: plan.restart_on.clone(),
        longest_drain: Nanos::from_seconds(plan.drain_s),
        connect: plan.connect.clone(),
        reconnect_after: plan.reconnect_after,
        window_begins: plan.stop.window_begins(),
        think: plan.arrival.think(),
        script,
    });
    let shards = plan.shards as usize;
    let (sender, messages) = unbounded();
    let mut threads = Vec::new();
    for index in 0..shards {
        let places = places(plan, index, &endpoints);
        let all_endpoints: Arc<[_]> = endpoints.clone().into();
        let natives = cast.as_ref().map(|cast| {
            let mut users = make_users(plan, &places, cast);
            users.extend(make_idle(plan, index, users.len(), &endpoints));
            users
        });
        let spawned = make_core(plan, index, settings.clone(), cast.as_ref(), sender.clone())
            .and_then(|core| {
                spawn_shard(index, sender.clone(), move |say| {
                    let users = match natives {
                        Some(users) => users.into_iter().map(Member::Native).collect(),
                        None => scripted_users(&core.settings, places, &all_endpoints, say)?,
                    };
                    Ok(Shard::new(index, users, core))
                })
            });
        threads.push(spawned.map_err(|error| {
            // The shards that run already must not wait for this one.
            control.stop();
            os_failure(&error)
        })?);
    }
    let watchdog = start_watchdog(plan, &settings, sender)?;
    Coordinator::new(Step::of(plan), control.clone(), clock, records).run(&messages, orders);
    control.end();
    for thread in threads.into_iter().chain(watchdog) {
        // A panic was caught and told.
        drop(thread.join());
    }
    Ok(())
}

/// Where there is a script, a thread that looks after it.
fn start_watchdog(
    plan: &Plan,
    settings: &Settings,
    messages: Sender<ShardMessage>,
) -> Result<Option<JoinHandle<()>>, Failure> {
    let Some(script) = &settings.script else { return Ok(None) };
    let watchdog = Watchdog {
        watches: script.watches.clone(),
        control: settings.control.clone(),
        clock: settings.clock,
        longest: plan.stop.window_ends(),
    };
    let say = Say { shard: 0, messages };
    let run = move || watchdog.run(|stuck| say.say(Message::Stuck(stuck)));
    let spawned = std::thread::Builder::new().name("watchdog".to_owned()).spawn(run);
    spawned.map(Some).map_err(|error| {
        settings.control.stop();
        os_failure(&error)
    })
}

/// Where a user of a shard belongs.
struct Place {
    /// In the shard.
    index: u32,
    /// Among all users.
    number: u64,
    endpoint: Arc<Endpoint>,
}

/// Users are dealt out in turn, to parts, shards and targets; what a user does depends on its number
/// alone, so the number of parts and shards changes no key.
fn places(plan: &Plan, shard: usize, endpoints: &[Arc<Endpoint>]) -> Vec<Place> {
    plan.dealt_to(shard)
        .numbers(u64::from(plan.concurrency))
        .enumerate()
        .map(|(index, number)| Place {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            number,
            endpoint: endpoints[number as usize % endpoints.len()].clone(),
        })
        .collect()
}

fn make_users(plan: &Plan, places: &[Place], cast: &Cast) -> Vec<User> {
    let role = |place: &Place| cast.role(plan, place.number);
    let native = |place: &Place| User::new(place.index, place.endpoint.clone(), role(place));
    places.iter().map(native).collect()
}

/// Connections that say nothing, dealt out as users are; in the shard they stand behind its users.
fn make_idle(
    plan: &Plan,
    shard: usize,
    users: usize,
    endpoints: &[Arc<Endpoint>],
) -> impl Iterator<Item = User> {
    let numbers = plan.dealt_to(shard).numbers(u64::from(plan.idle));
    let idle = move |(place, number): (usize, u64)| {
        let index = u32::try_from(users + place).unwrap_or(u32::MAX);
        User::idle(index, endpoints[number as usize % endpoints.len()].clone())
    };
    numbers.enumerate().map(idle)
}

/// A script's users belong to the thread that makes them.
fn scripted_users(
    settings: &Settings,
    places: Vec<Place>,
    endpoints: &Arc<[Arc<Endpoint>]>,
    say: &Say,
) -> Result<Vec<Member>, Failure> {
    let failed = |error: ScriptError| Failure::new(FailureKind::Script, None, error.to_string());
    let Some(plan) = settings.script.clone() else { return Ok(Vec::new()) };
    let print = say.clone();
    let output = move |text: &[u8]| {
        print.say(Message::Printed(String::from_utf8_lossy(text).into_owned()));
    };
    let is_run = settings.script_command().is_none();
    let mut vm = Vm::new(plan, Rc::new(output)).map_err(failed)?;
    let mut member = |place: Place| {
        let user = vm.user(place.number)?;
        if is_run {
            vm.check_run(&user)?;
        } else if vm.command(&user)? == Command::Single && place.number > 0 {
            return Ok(None);
        }
        let user = Scripted::new(place.index, place.endpoint, endpoints.clone(), user);
        Ok(Some(Member::Scripted(Box::new(user))))
    };
    places
        .into_iter()
        .filter_map(|place| member(place).transpose())
        .collect::<Result<_, _>>()
        .map_err(failed)
}

fn make_core(
    plan: &Plan,
    shard: usize,
    settings: Arc<Settings>,
    cast: Option<&Cast>,
    messages: Sender<ShardMessage>,
) -> std::io::Result<Core> {
    let open = open_loop(plan, shard, cast);
    let manners = if open.is_some() { Manners::of_open_loop() } else { Manners::of_closed_loop() };
    let parts = Parts {
        meter: make_meter(plan, shard),
        ramp: Ramp::new(settings.control.clone()),
        open,
        manners,
    };
    Core::new(settings, parts, shard, messages)
}

fn make_meter(plan: &Plan, shard: usize) -> Meter {
    let users = plan.dealt_to(shard).numbers(u64::from(plan.concurrency)).count();
    let mut meter =
        Meter::new(Ticks::new(&plan.stop), plan.targets.len()).with_members(plan.members.len());
    if plan.per_user {
        meter = meter.with_users(users);
    }
    match plan.pauses_s {
        Some(least_s) => meter.with_pauses(Nanos::from_seconds(least_s), users),
        None => meter,
    }
}

/// Each shard has every `step`-th event: those of all shards of all parts make the whole rate.
fn open_loop(plan: &Plan, shard: usize, cast: Option<&Cast>) -> Option<OpenLoop> {
    let Dealt { first, step } = plan.dealt_to(shard);
    let schedule = if plan.phases.is_empty() {
        plan.arrival.open(plan.seed, first, step, plan.stop.window_begins())?
    } else {
        plan.arrival.open_by_phases(plan.seed, first, step, &plan.phases)?
    };
    let lot = cast.and_then(|cast| cast.lot(plan.seed, first));
    Some(OpenLoop::new(schedule, plan.arrival.backlog(step), lot))
}

/// A shard's way to the coordinator.
#[derive(Clone)]
struct Say {
    shard: usize,
    messages: Sender<ShardMessage>,
}

impl Say {
    fn say(&self, message: Message) {
        // The coordinator outlives the shards; were it gone, nobody would be left to tell.
        drop(self.messages.send(ShardMessage { shard: self.shard, message }));
    }
}

fn spawn_shard(
    index: usize,
    messages: Sender<ShardMessage>,
    make: impl FnOnce(&Say) -> Result<Shard, Failure> + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("shard-{index}")).spawn(move || {
        let say = Say { shard: index, messages };
        let run = || make(&say)?.run().map_err(|error| os_failure(&error));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => say.say(Message::Failed(failure)),
            Err(_) => say.say(Message::Failed(Failure::bug("a shard"))),
        }
        say.say(Message::Finished);
    })
}

fn os_failure(error: &std::io::Error) -> Failure {
    use rustix::io::Errno;
    let kind = match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => FailureKind::Descriptors,
        _ => FailureKind::Internal,
    };
    Failure::new(kind, None, crate::error::os_text(error))
}
