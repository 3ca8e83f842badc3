//! The handle of a running host test: start it, read its records, stop it.

use crate::claims::Claims;
use crate::coordinator::Coordinator;
use crate::cpu::CpuPlan;
use crate::error::HostError;
use crate::fileio::{self, FileIo};
use crate::memory::Memory;
use crate::mutex::Mutexes;
use crate::plan::{Command, HostPlan, TestPlan};
use crate::record::{End, Record};
use crate::threads::Threads;
use crate::work::Test;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use loadstone_measure::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A running test.
pub struct HostTest {
    claims: Arc<Claims>,
    records: Receiver<Record>,
}

/// The result of waiting for a record.
#[derive(Debug)]
pub enum Next {
    /// The next record.
    Record(Box<Record>),
    /// None arrived in time.
    Timeout,
    /// There are no more.
    Closed,
}

impl HostTest {
    /// Starts the test and returns at once; errors are reported by the end record.
    ///
    /// # Errors
    /// The operating system refuses threads.
    pub fn start(plan: HostPlan) -> std::io::Result<Self> {
        let (sender, records) = unbounded();
        let claims = Arc::new(Claims::new(&plan, events_of(&plan.test)));
        let shared = claims.clone();
        std::thread::Builder::new()
            .name("host-test".to_owned())
            .spawn(move || run(&plan, &shared, &sender))?;
        Ok(Self { claims, records })
    }

    /// The next record, or why there is none after `timeout`.
    pub fn next(&self, timeout: Duration) -> Next {
        match self.records.recv_timeout(timeout) {
            Ok(record) => Next::Record(Box::new(record)),
            Err(RecvTimeoutError::Timeout) => Next::Timeout,
            Err(RecvTimeoutError::Disconnected) => Next::Closed,
        }
    }

    /// Asks for a clean end: running events are finished, then the last record follows.
    pub fn stop(&self) {
        self.claims.stop();
    }
}

impl Drop for HostTest {
    fn drop(&mut self) {
        self.claims.stop();
    }
}

impl std::fmt::Debug for HostTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostTest").finish_non_exhaustive()
    }
}

fn run(plan: &HostPlan, claims: &Claims, records: &Sender<Record>) {
    let carry_out = || try_run(plan, claims, records);
    let outcome = catch_unwind(AssertUnwindSafe(carry_out)).unwrap_or(Err(HostError::Bug));
    let end = outcome.unwrap_or_else(|error| End::failed(&error));
    // If the receiver is gone, nobody needs the record.
    drop(records.send(Record::End(Box::new(end))));
}

fn try_run(plan: &HostPlan, claims: &Claims, records: &Sender<Record>) -> Result<End, HostError> {
    match (plan.command, &plan.test) {
        (Command::Run, test) => {
            let test = build(test, plan.seed)?;
            Coordinator::new(plan, claims, records).run(test.as_ref())
        }
        (Command::Prepare, TestPlan::Fileio(files)) => {
            let interval = Nanos::from_seconds(plan.interval_s);
            fileio::prepare(files, plan.seed, interval, &|| claims.is_stopped(), records)
        }
        (Command::Cleanup, TestPlan::Fileio(files)) => fileio::cleanup(files),
        (Command::Prepare | Command::Cleanup, _) => Ok(End::nothing()),
    }
}

/// The test's own number of events, if it has one.
fn events_of(test: &TestPlan) -> Option<u64> {
    match test {
        TestPlan::Memory(plan) => Some(plan.blocks()),
        _ => None,
    }
}

fn build(test: &TestPlan, seed: u64) -> Result<Box<dyn Test>, HostError> {
    Ok(match test {
        TestPlan::Cpu(plan) => Box::new(CpuPlan::clone(plan)),
        TestPlan::Memory(plan) => Box::new(Memory::new(*plan, seed)?),
        TestPlan::Threads(plan) => Box::new(Threads::new(*plan)),
        TestPlan::Mutex(plan) => Box::new(Mutexes::new(*plan, seed)),
        TestPlan::Fileio(plan) => Box::new(FileIo::open(plan, seed)?),
    })
}
