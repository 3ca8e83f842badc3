//! A load from its first to its last statement.

use super::method::{Rows, choose};
use super::range::{Range, interleave, share};
use super::whose::Whose;
use super::{
    Lease, LoadEnd, LoadPhase, LoadPlan, Method, Missing, Progress, Stage, tables, workers,
};
use crate::client::{Client, Halt, pause};
use crate::clock::{Clock, thread_cpu};
use crate::control::Control;
use crate::endpoint::Endpoint;
use crate::error::{Failure, FailureKind};
use crate::record::{EndReason, Record};
use crossbeam_channel::Sender;
use loadstone_measure::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// The same to another machine, which hears of many.
const TELL_AFAR_EVERY: Duration = Duration::from_secs(1);

/// How soon it is noticed that the load is over, or that nobody wants it any more.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a server that was lost in the middle of a load is waited for.
const LONGEST_OUTAGE: Duration = Duration::from_secs(60);

/// The pause between two attempts to reach it.
const LOST_SERVER_PAUSE: Duration = Duration::from_secs(1);

/// A worker's connection is never idle for so long.
const IDLE_S: u64 = 60;

/// What the load's threads share.
pub(super) struct Job {
    pub(super) plan: LoadPlan,
    pub(super) control: Arc<Control>,
    endpoint: Arc<Endpoint>,
    rows: Rows,
    /// How many rows each table is to have, in their order.
    rows_wanted: Vec<u64>,
    /// The ranges of this part of each table, in their order.
    own: Vec<Vec<Range>>,
    rows_total: u64,
    missing: Mutex<Vec<Missing>>,
    abandoned: Mutex<Option<Failure>>,
    method: Method,
    clock: Clock,
    cpu_ns: AtomicU64,
    rows_there: AtomicU64,
    rows_loaded: AtomicU64,
    tables_done: AtomicU64,
    phase: Mutex<LoadPhase>,
    over: AtomicBool,
}

/// Runs a load and tells of it; the last record is always the end.
pub(super) fn run(plan: LoadPlan, control: &Arc<Control>, lease: &Lease, records: &Sender<Record>) {
    let clock = Clock::start();
    let end = match Job::new(plan, control, clock) {
        Err(halt) => end_of(Err(halt), None, clock),
        Ok(job) => {
            let result = std::thread::scope(|scope| {
                scope.spawn(|| job.tell_progress(lease, records));
                let result = catch_unwind(AssertUnwindSafe(|| job.carry_out()));
                job.over.store(true, Ordering::Release);
                let abandoned = job.abandoned.lock().ok().and_then(|mut found| found.take());
                let result = result.unwrap_or_else(|_| Err(Halt::Failed(bug())));
                abandoned.map_or(result, |failure| Err(Halt::Failed(failure)))
            });
            end_of(result, Some(&job), clock)
        }
    };
    // Nobody listens any more: then nobody wants to know.
    drop(records.send(Record::LoadEnd(end)));
}

fn bug() -> Failure {
    let text = "the loader panicked; this is a bug of Loadstone";
    Failure::new(FailureKind::Internal, None, text)
}

fn end_of(result: Result<(), Halt>, job: Option<&Job>, clock: Clock) -> LoadEnd {
    let (reason, error) = match result {
        Ok(()) => (EndReason::Finished, None),
        Err(Halt::Stopped) => (EndReason::Stopped, None),
        Err(Halt::Failed(failure)) => (EndReason::Failed, Some(failure)),
    };
    let count =
        |field: fn(&Job) -> &AtomicU64| job.map_or(0, |job| field(job).load(Ordering::Relaxed));
    LoadEnd {
        reason,
        error,
        seconds: clock.now().seconds(),
        rows: count(|job| &job.rows_there),
        rows_loaded: count(|job| &job.rows_loaded),
        method: job.map_or(Method::Infile, |job| job.method),
        cpu_us: (count(|job| &job.cpu_ns) + thread_cpu().0) / 1_000,
        tables: job
            .filter(|job| job.plan.stage == Some(Stage::Make))
            .map_or_else(Vec::new, |job| job.rows.whose.all()),
        missing: job
            .and_then(|job| job.missing.lock().ok().map(|mut found| std::mem::take(&mut *found)))
            .unwrap_or_default(),
    }
}

impl Job {
    fn new(plan: LoadPlan, control: &Arc<Control>, clock: Clock) -> Result<Self, Halt> {
        let endpoint = Endpoint::resolve(0, &plan.target, &plan.session).map_err(Halt::Failed)?;
        let endpoint = Arc::new(endpoint.for_loading());
        let mut client = Client::connect(&endpoint, &plan.connect, control)?;
        let method = choose(plan.method, &mut client)?;
        client.quit();
        let source = plan.layout.rows(plan.seed).map_err(|error| {
            Halt::Failed(Failure::new(FailureKind::Plan, None, error.to_string()))
        })?;
        let rows_in = |ranges: &Vec<Range>| -> u64 { ranges.iter().map(|range| range.rows).sum() };
        let all: Vec<Vec<Range>> = (1..=plan.layout.tables)
            .map(|table| Range::of_table(&plan.layout, &source, table))
            .collect();
        let rows_wanted: Vec<u64> = all.iter().map(rows_in).collect();
        let mut own = vec![Vec::new(); all.len()];
        for range in share(interleave(all), plan.part) {
            own[range.table as usize - 1].push(range);
        }
        Ok(Self {
            rows_total: own.iter().map(rows_in).sum(),
            rows_wanted,
            own,
            missing: Mutex::default(),
            abandoned: Mutex::default(),
            rows: Rows {
                layout: plan.layout.clone(),
                source,
                whose: Whose::new(plan.continues.as_deref(), &plan.known),
            },
            plan,
            control: control.clone(),
            endpoint,
            method,
            clock,
            cpu_ns: AtomicU64::new(0),
            rows_there: AtomicU64::new(0),
            rows_loaded: AtomicU64::new(0),
            tables_done: AtomicU64::new(0),
            phase: Mutex::new(LoadPhase::Tables),
            over: AtomicBool::new(false),
        })
    }

    /// A connection as the loader wants it.
    pub(super) fn connect(&self) -> Result<Client, Halt> {
        let mut client = Client::connect(&self.endpoint, &self.plan.connect, &self.control)?;
        // The rows are known to be unique and to refer to nothing. A connection that is lost without a word to the
        // server keeps its transaction for no longer than that.
        client.query(&format!(
            "SET SESSION unique_checks = 0, foreign_key_checks = 0, wait_timeout = {IDLE_S}"
        ))?;
        Ok(client)
    }

    /// The same, after a loss: a server that went away under the load is waited for.
    pub(super) fn connect_again(&self) -> Result<Client, Halt> {
        let began = Instant::now();
        loop {
            match self.connect() {
                Err(Halt::Failed(failure))
                    if failure.may_pass() && began.elapsed() < LONGEST_OUTAGE =>
                {
                    pause(LOST_SERVER_PAUSE, &self.control)?;
                }
                other => return other,
            }
        }
    }

    pub(super) fn add_cpu(&self, cpu: Nanos) {
        self.cpu_ns.fetch_add(cpu.0, Ordering::Relaxed);
    }

    fn carry_out(&self) -> Result<(), Halt> {
        let tables: Vec<u32> = (1..=self.plan.layout.tables).collect();
        match self.plan.stage {
            None => {
                let missing = self.find_missing(&tables, |client, table| {
                    tables::make(client, &self.rows, table)
                })?;
                self.fill(&missing)?;
                self.finish(&tables)
            }
            Some(Stage::Make) => self.with_tables(&tables, |client, table| {
                tables::make(client, &self.rows, table)?;
                tables::note_missing(client, &self.rows, self.own(table), table)
            }),
            Some(Stage::Fill) => {
                let missing = self.find_missing(&self.own_tables(), |_, _| Ok(()))?;
                self.fill(&missing)
            }
            Some(Stage::Finish) => self.finish(&tables),
            Some(Stage::Look) => self.look(&self.own_tables()),
        }
    }

    fn fill(&self, missing: &[Range]) -> Result<(), Halt> {
        self.begin(LoadPhase::Rows);
        self.load_rows(missing)
    }

    fn finish(&self, tables: &[u32]) -> Result<(), Halt> {
        let (layout, whose) = (&self.plan.layout, &self.rows.whose);
        self.begin(LoadPhase::Indexes);
        self.with_tables(tables, |client, table| tables::index(client, layout, whose, table))?;
        self.begin(LoadPhase::Verify);
        self.with_tables(tables, |client, table| {
            tables::verify(client, layout, table, self.rows_of(table))
        })
    }

    fn look(&self, tables: &[u32]) -> Result<(), Halt> {
        self.begin(LoadPhase::Verify);
        self.with_tables(tables, |client, table| {
            let found = tables::look(client, &self.plan.layout, self.own(table))?;
            if let Ok(mut missing) = self.missing.lock() {
                missing.extend(found);
            }
            Ok(())
        })
    }

    /// How many rows a table is to have.
    fn rows_of(&self, table: u32) -> u64 {
        self.rows_wanted.get(table as usize - 1).copied().unwrap_or_default()
    }

    /// This part's ranges of a table.
    fn own(&self, table: u32) -> &[Range] {
        self.own.get(table as usize - 1).map_or(&[], Vec::as_slice)
    }

    /// The tables of which this part has some.
    fn own_tables(&self) -> Vec<u32> {
        (1..=self.plan.layout.tables).filter(|table| !self.own(*table).is_empty()).collect()
    }

    /// What of this part's ranges is missing, in the order of work; `first` is done with each table before.
    fn find_missing(
        &self,
        tables: &[u32],
        first: impl Fn(&mut Client, u32) -> Result<(), Halt> + Sync,
    ) -> Result<Vec<Range>, Halt> {
        let missing: Mutex<Vec<Vec<Range>>> = Mutex::new(Vec::new());
        self.with_tables(tables, |client, table| {
            first(client, table)?;
            let own = self.own(table);
            let ranges = tables::missing(client, &self.rows, own, table)?;
            let rows_in = |ranges: &[Range]| ranges.iter().map(|range| range.rows).sum::<u64>();
            self.rows_there.fetch_add(rows_in(own) - rows_in(&ranges), Ordering::Relaxed);
            if let Ok(mut missing) = missing.lock() {
                missing.push(ranges);
            }
            Ok(())
        })?;
        let mut missing = missing.into_inner().unwrap_or_default();
        missing.sort_by_key(|ranges| ranges.first().map(|range| range.table));
        Ok(interleave(missing))
    }

    fn load_rows(&self, missing: &[Range]) -> Result<(), Halt> {
        let tried = Mutex::new(std::collections::BTreeSet::new());
        workers::for_each(self, missing, |client, range| {
            let first_try = tried
                .lock()
                .map(|mut tried| tried.insert((range.table, range.first)))
                .unwrap_or(false);
            let layout = &self.plan.layout;
            // A range that was tried before may be there in full or in part.
            let clear = |client: &mut Client| range.clear_unless_full(client, layout);
            if first_try || !self.rows.hold(client, range, clear)? {
                self.rows.load(client, range, self.method)?;
            }
            self.rows_there.fetch_add(range.rows, Ordering::Relaxed);
            self.rows_loaded.fetch_add(range.rows, Ordering::Relaxed);
            Ok(())
        })
    }

    fn with_tables(
        &self,
        tables: &[u32],
        work: impl Fn(&mut Client, u32) -> Result<(), Halt> + Sync,
    ) -> Result<(), Halt> {
        workers::for_each(self, tables, |client, table| {
            work(client, table)?;
            self.tables_done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }

    fn begin(&self, phase: LoadPhase) {
        self.tables_done.store(0, Ordering::Relaxed);
        if let Ok(mut current) = self.phase.lock() {
            *current = phase;
        }
    }

    fn tell_progress(&self, lease: &Lease, records: &Sender<Record>) {
        let is_afar = self.plan.stage == Some(Stage::Fill);
        let tell_every = if is_afar { TELL_AFAR_EVERY } else { TELL_EVERY };
        let mut waited = Duration::ZERO;
        while !self.over.load(Ordering::Acquire) {
            std::thread::sleep(LOOK_EVERY);
            waited += LOOK_EVERY;
            if waited >= tell_every {
                waited = Duration::ZERO;
                drop(records.send(Record::Progress(self.progress())));
            }
            if let Some(failure) = lease.ran_out()
                && let Ok(mut abandoned) = self.abandoned.lock()
            {
                abandoned.get_or_insert(failure);
                self.control.stop();
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            seconds: self.clock.now().seconds(),
            rows: self.rows_there.load(Ordering::Relaxed),
            rows_total: self.rows_total,
            phase: self.phase.lock().map_or(LoadPhase::Tables, |phase| *phase),
            tables_done: self.tables_done.load(Ordering::Relaxed),
            method: self.method,
        }
    }
}
