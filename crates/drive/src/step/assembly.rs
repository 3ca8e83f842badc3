//! Builds a step from its plan and runs it: a thread and an event loop for each shard, the users on them,
//! and the coordinator.

use super::any_user::AnyUser;
use super::coordinator::{Coordinator, Order, Step};
use super::event_loop::EventLoop;
use crate::clock::Clock;
use crate::connection::{Endpoint, ServerFamily};
use crate::error::{Failure, FailureKind, os_text};
use crate::metering::{Boundaries, EventLog, Meter};
use crate::plan::{Plan, RUN, Stride};
use crate::record::{End, EndReason, Printed, Record};
use crate::scripted::{Scripted, Watchdog};
use crate::shard::{
    ConnectQueue, Control, Farewells, Message, OpenLoop, Parts, SchedPolicy, Settings,
    ShardContext, ShardMessage, ShardSender,
};
use crate::user::{Assignment, User};
use crossbeam_channel::{Receiver, Sender, unbounded};
use loadstone_measure::{Nanos, Tally};
use loadstone_script::{Command, ScriptError, Vm};
use loadstone_workload::Printer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Runs a step to its last record, whatever happens.
pub(super) fn run_step(
    plan: &Arc<Plan>,
    control: Arc<Control>,
    records: Sender<Record>,
    orders: Receiver<Order>,
) {
    let spare = records.clone();
    let run = || try_run_step(plan, control, records, orders);
    let panicked = |_| Err(Failure::bug("the coordinator"));
    if let Err(failure) = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked) {
        let reason = EndReason::Failed;
        let end = End { reason, error: Some(failure), seconds: 0.0, tally: Tally::default() };
        // If the receiver is gone, nobody needs the record.
        drop(spare.send(Record::End(end)));
    }
}

fn try_run_step(
    plan: &Arc<Plan>,
    control: Arc<Control>,
    records: Sender<Record>,
    orders: Receiver<Order>,
) -> Result<(), Failure> {
    let workloads = plan
        .build_workloads()
        .map_err(|error| Failure::new(FailureKind::Plan, None, error.to_string()))?;
    let assignment = workloads.map(|workloads| Assignment::new(plan, workloads));
    // Scripts read what they like.
    let reads_rows = assignment.as_ref().is_none_or(Assignment::reads_rows);
    let endpoints: Arc<[_]> = Endpoint::of_plan(plan, reads_rows)?.into();
    let family = endpoints.first().map(|endpoint| endpoint.family).unwrap_or_default();
    let settings = Arc::new(settings(plan, family, control.clone(), assignment.as_ref()));
    let (sender, messages) = unbounded();
    let shards = start_shards(plan, &settings, assignment.as_ref(), &endpoints, &sender)?;
    let watchdog = start_watchdog(plan, &settings, sender)?;
    let clock = settings.clock;
    Coordinator::new(Step::of(plan), control.clone(), clock, records).run(&messages, orders);
    control.end();
    for thread in shards.into_iter().chain(watchdog) {
        // A panic was caught and reported.
        drop(thread.join());
    }
    Ok(())
}

fn settings(
    plan: &Plan,
    family: ServerFamily,
    control: Arc<Control>,
    assignment: Option<&Assignment>,
) -> Settings {
    let script = plan.script.as_ref();
    let script = script.map(|script| {
        Arc::new(script.script_plan(plan.seed, u64::from(plan.users), &family.usual()))
    });
    let begins_with_init = script
        .as_ref()
        .is_some_and(|script| script.calls_init && script.command.as_deref() == Some(RUN));
    if !begins_with_init {
        control.initialise();
    }
    Settings {
        control,
        clock: Clock::start(),
        catalogue: assignment.map(Assignment::catalogue).unwrap_or_default(),
        protocol: plan.protocol,
        on_error: plan.on_error,
        restart_on: plan.restart_on.clone(),
        try_limit: plan.try_limit(),
        family,
        longest_drain: Nanos::from_seconds(plan.drain_s),
        connect: plan.connect.clone(),
        reconnect_after: plan.reconnect_after,
        window_begins: plan.stop.window_begins(),
        think: plan.arrival.think(),
        script,
        own_users: plan.own_users(),
    }
}

fn start_shards(
    plan: &Arc<Plan>,
    settings: &Arc<Settings>,
    assignment: Option<&Assignment>,
    endpoints: &Arc<[Arc<Endpoint>]>,
    messages: &Sender<ShardMessage>,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let start = |shard: usize| {
        let sender = ShardSender { shard, messages: messages.clone() };
        let context = make_context(plan, settings.clone(), assignment, sender.clone())?;
        let (plan, endpoints) = (plan.clone(), endpoints.clone());
        let assignment = assignment.cloned();
        // Each shard makes its own users: all shards at once, in the memory next to their cores.
        spawn_shard(sender, move |sender| {
            let places = places(&plan, shard, &endpoints);
            let first = u64::from(plan.part.number);
            let users = match assignment {
                Some(assignment) => {
                    let mut users = make_users(&plan, &places, &assignment, Some(sender));
                    users.extend(make_idle(&plan, shard, users.len(), &endpoints));
                    users.into_iter().map(AnyUser::Native).collect()
                }
                None => scripted_users(&context.settings, first, places, &endpoints, sender)?,
            };
            Ok(EventLoop::new(shard, users, context))
        })
    };
    let started = (0..plan.shards as usize).map(|shard| {
        start(shard).map_err(|error| {
            // The shards that run already must not wait for this one.
            settings.control.stop();
            os_failure(&error)
        })
    });
    started.collect()
}

/// Starts the script's watchdog thread, if there is a script.
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
    let sender = ShardSender { shard: 0, messages };
    let run = move || watchdog.run(|stuck| sender.send(Message::Stuck(stuck)));
    let spawned = std::thread::Builder::new().name("watchdog".to_owned()).spawn(run);
    spawned.map(Some).map_err(|error| {
        settings.control.stop();
        os_failure(&error)
    })
}

/// Where a user of a shard belongs.
struct Place {
    /// Its index in the shard.
    index: u32,
    /// Its number among all users.
    number: u64,
    endpoint: Arc<Endpoint>,
}

/// Users are dealt out in turn to parts, shards and targets. What a user does depends on its number
/// alone, so the number of parts and shards changes no key.
fn places(plan: &Plan, shard: usize, endpoints: &[Arc<Endpoint>]) -> Vec<Place> {
    plan.stride_of(shard)
        .numbers(u64::from(plan.users))
        .enumerate()
        .map(|(index, number)| Place {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            number,
            endpoint: endpoints[number as usize % endpoints.len()].clone(),
        })
        .collect()
}

/// `sender` takes what their scripts print.
fn make_users(
    plan: &Plan,
    places: &[Place],
    assignment: &Assignment,
    sender: Option<&ShardSender>,
) -> Vec<User> {
    let printer = sender.cloned().map(|sender| {
        Printer::new(move |text| sender.send(Message::Printed(Printed { text, is_aside: true })))
    });
    let native = |place: &Place| {
        let mut spec = assignment.user(plan, place.number);
        if let Some(printer) = &printer {
            spec.machine.print_to(printer);
        }
        User::new(place.index, place.endpoint.clone(), spec)
    };
    places.iter().map(native).collect()
}

/// Idle connections, dealt out as users are; in the shard they come after its users.
fn make_idle(
    plan: &Plan,
    shard: usize,
    users: usize,
    endpoints: &[Arc<Endpoint>],
) -> impl Iterator<Item = User> {
    let numbers = plan.stride_of(shard).numbers(u64::from(plan.idle));
    let idle = move |(place, number): (usize, u64)| {
        let index = u32::try_from(users + place).unwrap_or(u32::MAX);
        User::idle(index, endpoints[number as usize % endpoints.len()].clone())
    };
    numbers.enumerate().map(idle)
}

/// A script's users belong to the thread that makes them; `first` is the number of this engine's
/// first user.
fn scripted_users(
    settings: &Settings,
    first: u64,
    places: Vec<Place>,
    endpoints: &Arc<[Arc<Endpoint>]>,
    sender: &ShardSender,
) -> Result<Vec<AnyUser>, Failure> {
    let failed = |error: ScriptError| Failure::new(FailureKind::Script, None, error.to_string());
    let Some(plan) = settings.script.clone() else { return Ok(Vec::new()) };
    let print = sender.clone();
    let output = move |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        print.send(Message::Printed(Printed { text, is_aside: false }));
    };
    let (is_run, calls_init) = (settings.script_command().is_none(), plan.calls_init);
    let mut vm = Vm::new(plan, Rc::new(output)).map_err(failed)?;
    let mut user_at = |place: Place| {
        let user = vm.user(place.number)?;
        if user.is_loading() {
            // What it will have is not known yet; the inspector of the script has loaded it whole.
        } else if is_run {
            vm.check_run(&user)?;
        } else if vm.command(&user)? == Command::Single && place.number > 0 {
            return Ok(None);
        }
        let is_first = calls_init && place.number == first;
        let user = Scripted::new(place.index, place.endpoint, endpoints.clone(), user, is_first);
        Ok(Some(AnyUser::Scripted(Box::new(user))))
    };
    places
        .into_iter()
        .filter_map(|place| user_at(place).transpose())
        .collect::<Result<_, _>>()
        .map_err(failed)
}

fn make_context(
    plan: &Plan,
    settings: Arc<Settings>,
    assignment: Option<&Assignment>,
    coordinator: ShardSender,
) -> std::io::Result<ShardContext> {
    let shard = coordinator.shard;
    let open = open_loop(plan, shard, assignment);
    let sched_policy =
        if open.is_some() { SchedPolicy::of_open_loop() } else { SchedPolicy::of_closed_loop() };
    let parts = Parts {
        meter: make_meter(plan, shard),
        connect_queue: ConnectQueue::new(settings.control.clone(), shard),
        // Over all shards as many as may connect at once: no more are in the hands of the server.
        farewells: Farewells::new((plan.own_at_once() / plan.shards).max(1) as usize),
        open,
        events_of_open_loop: plan.own_events_of(shard),
        sched_policy,
    };
    ShardContext::new(settings, parts, coordinator)
}

fn make_meter(plan: &Plan, shard: usize) -> Meter {
    let users = plan.stride_of(shard).numbers(u64::from(plan.users)).count();
    let mut meter = Meter::new(Boundaries::new(&plan.stop), plan.targets.len())
        .with_members(plan.members.len());
    if plan.per_user {
        meter = meter.with_users(users);
    }
    if plan.figures_by_command {
        meter = meter.with_commands();
    }
    if plan.event_log {
        let Stride { first, .. } = plan.stride_of(shard);
        let log = EventLog::new(users, plan.event_log_share, plan.seed, first);
        meter = meter.with_event_log(log);
    }
    match plan.pauses_s {
        Some(least_s) => meter.with_pauses(Nanos::from_seconds(least_s), users),
        None => meter,
    }
}

/// Each shard has every `step`-th event: those of all shards of all parts make up the whole rate.
fn open_loop(plan: &Plan, shard: usize, assignment: Option<&Assignment>) -> Option<OpenLoop> {
    let Stride { first, step } = plan.stride_of(shard);
    let schedule = if plan.phases.is_empty() {
        plan.arrival.open(plan.seed, first, step, plan.stop.window_begins())?
    } else {
        plan.arrival.open_by_phases(plan.seed, first, step, &plan.phases)?
    };
    let picker = assignment.and_then(|assignment| assignment.picker(plan.seed, first));
    let open = OpenLoop::new(schedule, plan.arrival.backlog(step), picker);
    Some(open.with_latest_start(plan.arrival.latest_start()))
}

fn spawn_shard(
    sender: ShardSender,
    make: impl FnOnce(&ShardSender) -> Result<EventLoop, Failure> + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("shard-{}", sender.shard)).spawn(move || {
        let run = || make(&sender)?.run().map_err(|error| os_failure(&error));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => sender.send(Message::Failed(failure)),
            Err(_) => sender.send(Message::Failed(Failure::bug("a shard"))),
        }
        sender.send(Message::Finished);
    })
}

fn os_failure(error: &std::io::Error) -> Failure {
    use rustix::io::Errno;
    let kind = match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => FailureKind::Descriptors,
        _ => FailureKind::Internal,
    };
    Failure::new(kind, None, os_text(error))
}

/// The loop of a plan's only shard, for tests. Nobody reads its messages.
#[cfg(test)]
pub(super) fn event_loop(plan: &Plan) -> EventLoop {
    let workloads = plan.build_workloads().expect("a known workload");
    let assignment = workloads.map(|workloads| Assignment::new(plan, workloads));
    let endpoints: Arc<[_]> = Endpoint::of_plan(plan, true).expect("an address").into();
    let control = Control::new(1, None, plan.own_at_once()).expect("descriptors");
    let family = ServerFamily::default();
    let settings = Arc::new(settings(plan, family, Arc::new(control), assignment.as_ref()));
    let sender = ShardSender { shard: 0, messages: unbounded().0 };
    let context = make_context(plan, settings, assignment.as_ref(), sender).expect("descriptors");
    let places = places(plan, 0, &endpoints);
    let users = assignment.map(|assignment| make_users(plan, &places, &assignment, None));
    let users = users.into_iter().flatten().map(AnyUser::Native).collect();
    EventLoop::new(0, users, context)
}
