//! Bulk loading: creates the tables of a layout and fills them, in parallel over tables and within
//! each one. Uses the server's bulk statement if it is allowed (LOAD DATA LOCAL in MySQL, COPY in
//! PostgreSQL), otherwise INSERT.
//!
//! A load can be stopped at any time and resumed: complete ranges of ids are kept, incomplete ones
//! are emptied and loaded again. The same seed gives the same rows. From the engine it uses the
//! client that waits for each answer, and the parts of plans that say how to connect.
//!
//! What differs between families of servers is behind `target::LoadTarget`: see `mysql/` and
//! `postgres/`. To add a family: write its dialect in the crate of workloads, add a folder next to
//! these with its `LoadTarget`, and list it in `plan`.

mod finding;
mod holder;
mod identity;
mod job;
mod lease;
mod method;
mod mysql;
mod ownership;
mod plan;
mod postgres;
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

/// A running load.
#[derive(Debug)]
pub struct Load {
    stop: StopFlag,
    records: Receiver<Record>,
    lease: Arc<Lease>,
}

impl Load {
    /// Starts the load and returns at once; errors are reported by the end record.
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

    /// Renews the lease of a load that has one.
    pub fn renew(&self) {
        self.lease.renew();
    }

    /// The next record, or why there is none after `timeout`.
    pub fn next(&self, timeout: Duration) -> Next<Record> {
        next_record(&self.records, timeout)
    }

    /// Asks for an end: ranges in progress are finished, long statements are cancelled.
    pub fn stop(&self) {
        self.stop.set();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.set();
    }
}
