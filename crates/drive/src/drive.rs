//! A step from outside: start it, hear of it, stop it.

use crate::clock::Clock;
use crate::control::Control;
use crate::coordinator::{Coordinator, Message, ShardMessage};
use crate::core::{Core, Parts, Settings};
use crate::endpoint::Endpoint;
use crate::error::{Failure, FailureKind};
use crate::meter::Meter;
use crate::open_loop::OpenLoop;
use crate::plan::Plan;
use crate::ramp::Ramp;
use crate::record::{End, EndReason, Record};
use crate::scheduling::give_way;
use crate::shard::Shard;
use crate::ticks::Ticks;
use crate::user::User;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use loadstone_measure::{Nanos, Tally};
use loadstone_workload::Workload;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A step that is under way.
#[derive(Debug)]
pub struct Drive {
    control: Arc<Control>,
    records: Receiver<Record>,
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
        let control =
            Arc::new(Control::new(plan.shards, plan.stop.events(), plan.connect.at_once)?);
        let (sender, records) = unbounded();
        let shared = control.clone();
        std::thread::Builder::new()
            .name("coordinator".to_owned())
            .spawn(move || run_step(&plan, shared, sender))?;
        Ok(Self { control, records })
    }

    /// The next record, or what there is to say instead after `timeout`.
    pub fn next(&self, timeout: Duration) -> Heard {
        hear(&self.records, timeout)
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

fn run_step(plan: &Plan, control: Arc<Control>, records: Sender<Record>) {
    let spare = records.clone();
    let run = || try_run_step(plan, control, records);
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
) -> Result<(), Failure> {
    let workload = plan
        .build_workload()
        .map_err(|error| Failure::new(FailureKind::Plan, None, error.to_string()))?;
    let endpoints = Endpoint::of_plan(plan)?;
    let clock = Clock::start();
    let settings = Arc::new(Settings {
        control: control.clone(),
        clock,
        catalogue: workload.catalogue(),
        protocol: plan.protocol,
        on_error: plan.on_error,
        restart_on: plan.restart_on.clone(),
        longest_drain: Nanos::from_seconds(plan.drain_s),
        connect: plan.connect.clone(),
        window_begins: plan.stop.window_begins(),
        think: plan.arrival.think(),
    });
    let shards = plan.shards as usize;
    let (sender, messages) = unbounded();
    let mut threads = Vec::new();
    for index in 0..shards {
        let users = make_users(plan, index, &workload, &endpoints);
        let spawned = make_core(plan, index, settings.clone(), sender.clone())
            .and_then(|core| spawn_shard(Shard::new(index, users, core), index, sender.clone()));
        threads.push(spawned.map_err(|error| {
            // The shards that run already must not wait for this one.
            control.stop();
            os_failure(&error)
        })?);
    }
    drop(sender);
    Coordinator::new(control, clock, plan.tag.clone(), shards, records).run(&messages);
    for thread in threads {
        // A panic was caught and told.
        drop(thread.join());
    }
    Ok(())
}

/// Users are dealt out in turn, to shards and to targets; what a user does depends on its number
/// alone, so the number of shards changes no key.
fn make_users(
    plan: &Plan,
    shard: usize,
    workload: &Workload,
    endpoints: &[Arc<Endpoint>],
) -> Vec<User> {
    let all = u64::from(plan.concurrency);
    (shard as u64..all)
        .step_by(plan.shards as usize)
        .enumerate()
        .map(|(place, number)| {
            let endpoint = endpoints[number as usize % endpoints.len()].clone();
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            User::new(place, endpoint, workload.machine(plan.seed, number, all))
        })
        .collect()
}

fn make_core(
    plan: &Plan,
    shard: usize,
    settings: Arc<Settings>,
    messages: Sender<ShardMessage>,
) -> std::io::Result<Core> {
    let parts = Parts {
        meter: make_meter(plan, shard),
        ramp: Ramp::new(settings.control.clone()),
        open: open_loop(plan, shard as u64),
    };
    Core::new(settings, parts, shard, messages)
}

fn make_meter(plan: &Plan, shard: usize) -> Meter {
    let meter = Meter::new(Ticks::new(&plan.stop), plan.targets.len());
    if !plan.per_user {
        return meter;
    }
    let users = (shard..plan.concurrency as usize).step_by(plan.shards as usize);
    meter.with_users(users.count())
}

fn open_loop(plan: &Plan, shard: u64) -> Option<OpenLoop> {
    let shards = u64::from(plan.shards);
    let schedule = plan.arrival.open(plan.seed, shard, shards, plan.stop.window_begins())?;
    Some(OpenLoop::new(schedule, plan.arrival.backlog(shards)))
}

fn spawn_shard(
    shard: Shard,
    index: usize,
    messages: Sender<ShardMessage>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("shard-{index}")).spawn(move || {
        let say = |message| drop(messages.send(ShardMessage { shard: index, message }));
        // Where the system does not let it, the loop only costs more.
        drop(give_way());
        match catch_unwind(AssertUnwindSafe(|| shard.run())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => say(Message::Failed(os_failure(&error))),
            Err(_) => {
                say(Message::Failed(Failure::bug("a shard")));
            }
        }
        say(Message::Finished);
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
