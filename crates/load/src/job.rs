//! What the threads of a load share: its plan, its ranges, its connections and its progress.

use crate::method::Method;
use crate::ownership::TableOwnership;
use crate::plan::LoadPlan;
use crate::range::{Range, interleave, share};
use crate::record::{LoadPhase, Missing, Progress};
use crate::row_loader::Rows;
use crate::stall::Board;
use loadstone_drive::client::{Client, Halt, Pulse, StopFlag, pause};
use loadstone_drive::{Clock, Failure, FailureKind};
use loadstone_measure::Nanos;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for a server that was lost during a load.
const LONGEST_OUTAGE: Duration = Duration::from_secs(60);

/// The pause between two attempts to reach it.
const LOST_SERVER_PAUSE: Duration = Duration::from_secs(1);

/// A set of tables that the load's threads share, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Tables(Mutex<BTreeSet<u32>>);

impl Tables {
    pub(super) fn add(&self, table: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(table);
    }

    /// Those of these tables that are not in the set.
    pub(super) fn others(&self, tables: &[u32]) -> Vec<u32> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.iter().filter(|table| !known.contains(table)).copied().collect()
    }
}

/// What the load's threads share.
pub(super) struct Job {
    pub(super) plan: LoadPlan,
    pub(super) stop: StopFlag,
    pub(super) board: Arc<Board>,
    pub(super) rows: Rows,
    /// The number of rows of each table, in order.
    pub(super) rows_wanted: Vec<u64>,
    /// This part's ranges of each table, in order.
    pub(super) own: Vec<Vec<Range>>,
    pub(super) rows_total: u64,
    pub(super) missing: Mutex<Vec<Missing>>,
    pub(super) abandoned: Mutex<Option<Failure>>,
    pub(super) method: Method,
    pub(super) clock: Clock,
    pub(super) cpu_ns: AtomicU64,
    pub(super) rows_there: AtomicU64,
    pub(super) rows_loaded: AtomicU64,
    pub(super) tables_done: AtomicU64,
    /// The tables that need no count: they are new, and the server has confirmed each range of theirs at once.
    pub(super) confirmed: Tables,
    /// The tables that have their indexes already.
    pub(super) indexed: Tables,
    pub(super) phase: Mutex<LoadPhase>,
    pub(super) over: AtomicBool,
}

impl Job {
    pub(super) fn new(plan: LoadPlan, board: &Arc<Board>) -> Result<Self, Halt> {
        let Board { server, endpoint, connect, stop, clock, .. } = &**board;
        let pulse = board.pulse();
        let mut client = Client::connect_with(endpoint, connect, stop, &pulse)?;
        let method = server.choose_method(plan.method, &mut client)?;
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
                server: *server,
                layout: plan.layout.clone(),
                source,
                ownership: TableOwnership::new(
                    *server,
                    plan.continues.as_deref(),
                    &plan.marks,
                    &plan.known,
                ),
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
            confirmed: Tables::default(),
            indexed: Tables::default(),
            phase: Mutex::new(LoadPhase::Tables),
            over: AtomicBool::new(false),
        })
    }

    /// The pulse of a thread that waits for the server, for the watchdog to see.
    pub(super) fn pulse(&self) -> Arc<Pulse> {
        self.board.pulse()
    }

    /// Opens a connection set up for loading.
    pub(super) fn connect(&self, pulse: &Arc<Pulse>) -> Result<Client, Halt> {
        let Board { endpoint, connect, stop, .. } = &*self.board;
        let mut client = Client::connect_with(endpoint, connect, stop, pulse)?;
        self.board.server.prepare_connection(&mut client, self.board.longest_lock_wait_s())?;
        Ok(client)
    }

    /// Reconnects after a loss: waits for a server that went away under the load.
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

    /// The number of rows a table is to have.
    pub(super) fn rows_of(&self, table: u32) -> u64 {
        self.rows_wanted.get(table as usize - 1).copied().unwrap_or_default()
    }

    /// This part's ranges of a table.
    pub(super) fn own(&self, table: u32) -> &[Range] {
        self.own.get(table as usize - 1).map_or(&[], Vec::as_slice)
    }

    /// The tables that this part has ranges of.
    pub(super) fn own_tables(&self) -> Vec<u32> {
        (1..=self.plan.layout.tables).filter(|table| !self.own(*table).is_empty()).collect()
    }

    /// This load has added one more range.
    pub(super) fn count_loaded(&self, range: Range) {
        self.rows_there.fetch_add(range.rows, Ordering::Relaxed);
        self.rows_loaded.fetch_add(range.rows, Ordering::Relaxed);
    }

    /// Begins a phase that so many tables do not need any more.
    pub(super) fn begin(&self, phase: LoadPhase, done: u64) {
        self.tables_done.store(done, Ordering::Relaxed);
        if let Ok(mut current) = self.phase.lock() {
            *current = phase;
        }
    }

    pub(super) fn progress(&self) -> Progress {
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
