//! Bulk loading: makes the tables of a layout and fills them, in parallel over tables and inside
//! one, with the server's statement for that where it lets it (LOAD DATA LOCAL in MySQL) and with INSERT where not.
//!
//! It can be stopped at any time and taken up again: ranges of ids that are there in full are kept,
//! ranges that are there in part are emptied and loaded again. The same seed gives the same rows.
//! Of the engine it uses the client that waits for each answer, and the parts of plans that say how to
//! connect.
//!
//! What families of servers do in ways of their own stands behind `target::LoadTarget`, MySQL's in `mysql/`. To add a
//! family: write its dialect in the crate of workloads, write a folder beside `mysql` with its `LoadTarget`, and let
//! `plan` choose it by its target's family; today there is one to choose.

mod finding;
mod identity;
mod job;
mod lease;
mod method;
mod mysql;
mod ownership;
mod plan;
mod range;
mod record;
mod row_loader;
mod rows;
mod run;
mod stall;
mod tables;
mod target;
mod workers;

pub use identity::{Identity, KnownTable};
pub use method::{Method, MethodWish};
pub use plan::{LoadPlan, Stage};
pub use record::{Holder, LoadEnd, LoadPhase, Missing, Progress, Record, StallDeed, Stalled};
pub use stall::StallPlan;

use crossbeam_channel::{Receiver, unbounded};
use lease::Lease;
use loadstone_drive::client::StopFlag;
use loadstone_drive::{Next, next_record};
use std::sync::Arc;
use std::time::Duration;

/// Loading that is under way.
#[derive(Debug)]
pub struct Load {
    stop: StopFlag,
    records: Receiver<Record>,
    lease: Arc<Lease>,
}

impl Load {
    /// Begins and returns at once; what goes wrong comes as the end record.
    ///
    /// # Errors
    /// The operating system refuses threads.
    pub fn start(plan: LoadPlan) -> std::io::Result<Self> {
        let stop = StopFlag::default();
        let lease = Arc::new(Lease::new(plan.lease_s));
        let (sender, records) = unbounded();
        let (shared, watched) = (stop.clone(), lease.clone());
        std::thread::Builder::new()
            .name("loader".to_owned())
            .spawn(move || run::run(plan, &shared, &watched, &sender))?;
        Ok(Self { stop, records, lease })
    }

    /// A sign of life of whoever wants the load, which has a lease.
    pub fn renew(&self) {
        self.lease.renew();
    }

    /// The next record, or what there is to say instead after `timeout`.
    pub fn next(&self, timeout: Duration) -> Next<Record> {
        next_record(&self.records, timeout)
    }

    /// Asks for an end: ranges under way are finished, long statements are given up.
    pub fn stop(&self) {
        self.stop.set();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.set();
    }
}
