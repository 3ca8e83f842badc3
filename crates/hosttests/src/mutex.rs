//! The mutex test: threads that repeatedly take one of many mutexes, for a moment each time. One
//! event per thread: the figure is how long it takes.

use crate::error::{HostError, PlanError};
use crate::meter::Meter;
use crate::record::Done;
use crate::work::{Next, Test, Work};
use loadstone_measure::Nanos;
use loadstone_workload::random::{Purpose, Random};
use serde::Deserialize;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

/// Options of the test.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutexPlan {
    /// The number of mutexes.
    pub num: u32,
    /// How often a thread takes one of them.
    pub locks: u32,
    /// Iterations of an empty loop before each lock.
    pub loops: u32,
}

impl MutexPlan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        PlanError::unless((1..=100_000_000).contains(&self.num), "num", "1 to 100000000")?;
        PlanError::unless(self.locks > 0, "locks", "at least 1")
    }
}

/// The mutexes.
pub(crate) struct Mutexes {
    plan: MutexPlan,
    seed: u64,
    all: Vec<Mutex<u64>>,
}

impl Mutexes {
    pub(crate) fn new(plan: MutexPlan, seed: u64) -> Self {
        Self { plan, seed, all: (0..plan.num).map(|_| Mutex::default()).collect() }
    }
}

impl Test for Mutexes {
    fn work(&self, thread: u32) -> Result<Box<dyn Work + '_>, HostError> {
        let random = Random::new(self.seed, Purpose::Keys, &[u64::from(thread)]);
        Ok(Box::new(Taker { mutexes: self, random }))
    }
}

struct Taker<'a> {
    mutexes: &'a Mutexes,
    random: Random,
}

impl Work for Taker<'_> {
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError> {
        for _ in 0..self.mutexes.plan.locks {
            let which = self.random.below(u64::from(self.mutexes.plan.num)) as usize;
            for round in 0..self.mutexes.plan.loops {
                black_box(round);
            }
            if let Some(mutex) = self.mutexes.all.get(which) {
                *mutex.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            }
        }
        meter.event(from, &Done::default());
        Ok(Next::Nothing)
    }
}
