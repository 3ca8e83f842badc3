//! A load from its first to its last statement.

use crate::Record;
use crate::method::{Rows, choose};
use crate::ownership::TableOwnership;
use crate::range::{Range, interleave, share};
use crate::stall::{self, Board};
use crate::{
    Lease, LoadEnd, LoadPhase, LoadPlan, Method, Missing, Progress, Stage, rows, tables, workers,
};
use crossbeam_channel::Sender;
use loadstone_drive::client::Endpoint;
use loadstone_drive::client::Pulse;
use loadstone_drive::client::StopFlag;
use loadstone_drive::client::{Client, Halt, pause};
use loadstone_drive::record::EndReason;
use loadstone_drive::{Clock, thread_cpu};
use loadstone_drive::{Failure, FailureKind};
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

/// ER_UNKNOWN_SYSTEM_VARIABLE.
const NO_SUCH_VARIABLE: u16 = 1193;

/// A worker's connection is never idle for so long.
const IDLE_S: u64 = 60;

/// What the load's threads share.
pub(super) struct Job {
    pub(super) plan: LoadPlan,
    pub(super) stop: StopFlag,
    board: Arc<Board>,
    pub(super) rows: Rows,
    /// How many rows each table is to have, in their order.
    rows_wanted: Vec<u64>,
    /// The ranges of this part of each table, in their order.
    own: Vec<Vec<Range>>,
    rows_total: u64,
    missing: Mutex<Vec<Missing>>,
    abandoned: Mutex<Option<Failure>>,
    pub(super) method: Method,
    clock: Clock,
    cpu_ns: AtomicU64,
    rows_there: AtomicU64,
    rows_loaded: AtomicU64,
    tables_done: AtomicU64,
    phase: Mutex<LoadPhase>,
    over: AtomicBool,
}

/// Runs a load and tells of it; the last record is always the end.
pub(super) fn run(plan: LoadPlan, stop: &StopFlag, lease: &Lease, records: &Sender<Record>) {
    let clock = Clock::start();
    let end = match board_of(&plan, stop, clock) {
        Err(failure) => end_of(Err(Halt::Failed(failure)), None, clock),
        Ok(board) => std::thread::scope(|scope| {
            scope.spawn(|| stall::watch(&board, records));
            let work = || watched(plan, &board, lease, records);
            let end = catch_unwind(AssertUnwindSafe(work));
            board.close();
            end.unwrap_or_else(|_| end_of(Err(Halt::Failed(bug())), None, clock))
        }),
    };
    // Nobody listens any more: then nobody wants to know.
    drop(records.send(Record::End(end)));
}

fn board_of(plan: &LoadPlan, stop: &StopFlag, clock: Clock) -> Result<Arc<Board>, Failure> {
    let endpoint = Endpoint::resolve(0, &plan.target, &plan.session)?.for_loading();
    let board = Board::new(Arc::new(endpoint), plan.connect.clone(), plan.stall, stop, clock);
    Ok(Arc::new(board))
}

/// The load itself, while the watchdog looks after it.
fn watched(plan: LoadPlan, board: &Arc<Board>, lease: &Lease, records: &Sender<Record>) -> LoadEnd {
    let clock = board.clock;
    let job = match Job::new(plan, board) {
        Err(halt) => return end_of(Err(halt), None, clock),
        Ok(job) => job,
    };
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
            .map_or_else(Vec::new, |job| job.rows.ownership.all()),
        missing: job
            .and_then(|job| job.missing.lock().ok().map(|mut found| std::mem::take(&mut *found)))
            .unwrap_or_default(),
    }
}

impl Job {
    fn new(plan: LoadPlan, board: &Arc<Board>) -> Result<Self, Halt> {
        let Board { endpoint, connect, stop, clock, .. } = &**board;
        let pulse = board.pulse();
        let mut client = Client::connect_with(endpoint, connect, stop, &pulse)?;
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
                ownership: TableOwnership::new(plan.continues.as_deref(), &plan.marks, &plan.known),
            },
            plan,
            stop: stop.clone(),
            board: board.clone(),
            method,
            clock: *clock,
            cpu_ns: AtomicU64::new(0),
            rows_there: AtomicU64::new(0),
            rows_loaded: AtomicU64::new(0),
            tables_done: AtomicU64::new(0),
            phase: Mutex::new(LoadPhase::Tables),
            over: AtomicBool::new(false),
        })
    }

    /// For a thread that waits for the server, and is watched meanwhile.
    pub(super) fn pulse(&self) -> Arc<Pulse> {
        self.board.pulse()
    }

    /// A connection as the loader wants it.
    pub(super) fn connect(&self, pulse: &Arc<Pulse>) -> Result<Client, Halt> {
        let Board { endpoint, connect, stop, .. } = &*self.board;
        let mut client = Client::connect_with(endpoint, connect, stop, pulse)?;
        // The rows are known to refer to nothing. A connection that is lost without a word to the server keeps its
        // transaction for no longer than that. Unique checks stay on: without either check MariaDB fills an empty
        // table in a way of its own (MDEV-515), and where such a statement is cut off in 10.11.19 another one into the same
        // table may wait for a page's latch for ever.
        let common = format!("SET SESSION foreign_key_checks = 0, wait_timeout = {IDLE_S}");
        // Nothing of ours stays behind at the server for a day, as these would let it.
        let longest_s = self.board.longest_lock_wait_s();
        let all = format!(
            "{common}, lock_wait_timeout = {longest_s}, innodb_lock_wait_timeout = {longest_s}"
        );
        match client.query(&all) {
            Err(halt) if halt.errno() == Some(NO_SUCH_VARIABLE) => drop(client.query(&common)?),
            other => drop(other?),
        }
        Ok(client)
    }

    /// The same, after a loss: a server that went away under the load is waited for.
    pub(super) fn connect_again(&self, pulse: &Arc<Pulse>) -> Result<Client, Halt> {
        let began = Instant::now();
        loop {
            match self.connect(pulse) {
                Err(Halt::Failed(failure))
                    if failure.may_pass() && began.elapsed() < LONGEST_OUTAGE =>
                {
                    pause(LOST_SERVER_PAUSE, &self.stop)?;
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
        rows::load(self, missing)
    }

    fn finish(&self, tables: &[u32]) -> Result<(), Halt> {
        let (layout, ownership) = (&self.plan.layout, &self.rows.ownership);
        self.begin(LoadPhase::Indexes);
        self.with_tables(tables, |client, table| tables::index(client, layout, ownership, table))?;
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

    /// One more range is there, and by this load.
    pub(super) fn count_loaded(&self, range: Range) {
        self.rows_there.fetch_add(range.rows, Ordering::Relaxed);
        self.rows_loaded.fetch_add(range.rows, Ordering::Relaxed);
    }

    fn with_tables(
        &self,
        tables: &[u32],
        work: impl Fn(&mut Client, u32) -> Result<(), Halt> + Sync,
    ) -> Result<(), Halt> {
        workers::for_each(self, tables, |client, table| {
            let retries = self.plan.connect.retries;
            workers::with_retries(self, client, retries, |client, _| work(client, table))?;
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
                self.stop.set();
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
