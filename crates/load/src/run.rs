//! Runs a load from its first to its last statement.

use crate::job::Job;
use crate::lease::Lease;
use crate::method::Method;
use crate::plan::{LoadPlan, Stage};
use crate::range::{Range, in_groups};
use crate::record::{LoadEnd, LoadPhase, Record};
use crate::stall::{self, Board};
use crate::{rows, tables, workers};
use crossbeam_channel::Sender;
use loadstone_drive::client::{Client, Endpoint, Halt, StopFlag};
use loadstone_drive::record::EndReason;
use loadstone_drive::{Clock, Failure, FailureKind, thread_cpu};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often progress is reported.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// How often progress is reported to another machine, which receives many reports.
const TELL_AFAR_EVERY: Duration = Duration::from_secs(1);

/// How soon it is noticed that the load is over, or that its lease has run out.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a load and reports on it; the last record is always the end.
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
    // If the receiver is gone, nobody needs the record.
    drop(records.send(Record::End(end)));
}

fn board_of(plan: &LoadPlan, stop: &StopFlag, clock: Clock) -> Result<Arc<Board>, Failure> {
    let endpoint = Endpoint::resolve(0, &plan.target, &plan.session)?.for_loading();
    let server = (plan.server, Arc::new(endpoint));
    let board = Board::new(server, plan.connect.clone(), plan.stall, stop, clock);
    Ok(Arc::new(board))
}

/// The load itself, observed by the watchdog.
fn watched(plan: LoadPlan, board: &Arc<Board>, lease: &Lease, records: &Sender<Record>) -> LoadEnd {
    let clock = board.clock;
    let job = match Job::new(plan, board) {
        Err(halt) => return end_of(Err(halt), None, clock),
        Ok(job) => job,
    };
    let result = std::thread::scope(|scope| {
        scope.spawn(|| job.tell_progress(lease, records));
        let result = catch_unwind(AssertUnwindSafe(|| job.run_stages()));
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
    fn run_stages(&self) -> Result<(), Halt> {
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
        self.begin(LoadPhase::Rows, 0);
        rows::load(self, missing)
    }

    fn finish(&self, tables: &[u32]) -> Result<(), Halt> {
        let layout = &self.plan.layout;
        let plain = self.indexed.others(tables);
        self.begin(LoadPhase::Indexes, (tables.len() - plain.len()) as u64);
        self.with_tables(&plain, |client, table| tables::index(client, &self.rows, table))?;
        if tables.iter().any(|table| !layout.late_keys(*table).is_empty()) {
            self.begin(LoadPhase::Keys, 0);
            self.with_tables(tables, |client, table| tables::add_keys(client, &self.rows, table))?;
            self.begin(LoadPhase::Keys, 0);
            self.with_tables(tables, |client, table| {
                tables::check_keys(client, &self.rows, table)
            })?;
        }
        let uncounted = self.confirmed.others(tables);
        self.begin(LoadPhase::Verify, (tables.len() - uncounted.len()) as u64);
        self.with_tables(&uncounted, |client, table| {
            tables::verify(client, layout, table, self.rows_of(table))
        })
    }

    fn look(&self, tables: &[u32]) -> Result<(), Halt> {
        self.begin(LoadPhase::Verify, 0);
        self.with_tables(tables, |client, table| {
            let found = tables::look(client, &self.plan.layout, self.own(table))?;
            if let Ok(mut missing) = self.missing.lock() {
                missing.extend(found);
            }
            Ok(())
        })
    }

    /// This part's missing ranges, in the order of work; runs `first` on each table before.
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
        missing.retain(|ranges| !ranges.is_empty());
        missing.sort_by_key(|ranges| ranges.first().map(|range| range.table));
        // Parts of a load work on the same tables: theirs are spread over all of them.
        let at_a_time = match self.plan.stage {
            None => self.plan.parallel as usize,
            Some(_) => missing.len(),
        };
        Ok(in_groups(missing, at_a_time))
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
}
