//! The thread test: threads that yield while they hold a lock.

use crate::error::{HostError, PlanError};
use crate::meter::Meter;
use crate::record::Done;
use crate::work::{Next, Test, Work};
use loadstone_measure::Nanos;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};

/// Options of the test.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadsPlan {
    /// How often an event takes a lock, yields and releases the lock.
    pub yields: u32,
    /// The number of locks.
    pub locks: u32,
}

impl ThreadsPlan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        PlanError::unless(self.yields > 0, "yields", "at least 1")?;
        PlanError::unless((1..=1_000_000).contains(&self.locks), "locks", "1 to 1000000")
    }
}

/// The locks.
pub(crate) struct Threads {
    yields: u32,
    locks: Vec<Mutex<()>>,
}

impl Threads {
    pub(crate) fn new(plan: ThreadsPlan) -> Self {
        Self { yields: plan.yields, locks: (0..plan.locks).map(|_| Mutex::default()).collect() }
    }
}

impl Test for Threads {
    fn work(&self, _thread: u32) -> Result<Box<dyn Work + '_>, HostError> {
        Ok(Box::new(self))
    }
}

impl Work for &Threads {
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError> {
        for lock in self.locks.iter().cycle().take(self.yields as usize) {
            let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            std::thread::yield_now();
            drop(held);
        }
        meter.event(from, &Done::default());
        Ok(Next::Event)
    }
}
