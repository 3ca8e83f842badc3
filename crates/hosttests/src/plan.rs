//! The plan of a host test: one JSON document, checked once, then frozen. `docs/engine.md` is the contract.

use crate::cpu::CpuPlan;
use crate::error::PlanError;
use crate::fileio::FilePlan;
use crate::memory::MemoryPlan;
use crate::mutex::MutexPlan;
use crate::threads::ThreadsPlan;
use loadstone_measure::{Nanos, hlog};
use serde::Deserialize;

/// More threads than any test needs.
const MOST_THREADS: u32 = 65_536;
/// A year.
const LONGEST_S: f64 = 31_622_400.0;
/// More events than any test starts, and far less than numbers lose their precision at.
const HIGHEST_RATE: f64 = 10_000_000.0;

/// A host test, or what has to be done before or after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// Make the files, run, or remove the files.
    pub command: Command,
    /// Which test, with its options.
    pub test: TestPlan,
    /// How many threads do its events.
    pub threads: u32,
    /// When it is over.
    pub stop: StopPlan,
    /// Events a second that are due, as of many users who know nothing of each other; `None`: each
    /// thread begins an event when its last one has ended.
    pub rate: Option<f64>,
    /// How often a sample is wanted, in seconds.
    pub interval_s: f64,
    /// The quantile that is told beside the usual ones, 0.95 for the 95th percentile.
    pub quantile: f64,
    /// The same seed gives the same places.
    pub seed: u64,
    /// What the lines for the latency log begin with.
    pub tag: String,
    /// Whether the samples tell what each thread did.
    #[serde(default)]
    pub per_thread: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Make what the test works on: files. The other tests need nothing.
    Prepare,
    /// Run it.
    Run,
    /// Remove what `Prepare` made.
    Cleanup,
}

/// Which test, with its options.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TestPlan {
    /// Prime numbers.
    Cpu(CpuPlan),
    /// Blocks of memory, read or written.
    Memory(MemoryPlan),
    /// Threads that yield while they hold a lock.
    Threads(ThreadsPlan),
    /// Threads that take one of many mutexes.
    Mutex(MutexPlan),
    /// Files, read, written and synchronised.
    Fileio(Box<FilePlan>),
}

/// Whichever comes first.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopPlan {
    /// Events of all threads together; `None`: any number.
    pub events: Option<u64>,
    /// Length of the window in seconds; `None`: without end.
    pub duration_s: Option<f64>,
    /// What is done before the window begins; its events count in no figure.
    pub warmup_s: f64,
}

impl StopPlan {
    /// When the window begins, since the test began.
    pub(crate) fn window_begins(&self) -> Nanos {
        Nanos::from_seconds(self.warmup_s)
    }

    /// When no event begins any more.
    pub(crate) fn window_ends(&self) -> Nanos {
        match self.duration_s {
            Some(duration_s) => self.window_begins() + Nanos::from_seconds(duration_s),
            None => Nanos::MAX,
        }
    }
}

impl HostPlan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text).map_err(|error| {
            PlanError::new(format!("the plan is not as docs/engine.md says: {error}"))
        })?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        let within = |value: f64, most: f64| value > 0.0 && value <= most;
        PlanError::unless((1..=MOST_THREADS).contains(&self.threads), "threads", "1 to 65536")?;
        PlanError::unless(self.stop.events != Some(0), "stop.events", "at least 1")?;
        PlanError::unless(
            self.stop.duration_s.is_none_or(|seconds| within(seconds, LONGEST_S)),
            "stop.duration_s",
            "more than 0 and at most a year",
        )?;
        PlanError::unless(
            (0.0..=LONGEST_S).contains(&self.stop.warmup_s),
            "stop.warmup_s",
            "0 to a year",
        )?;
        PlanError::unless(
            self.rate.is_none_or(|rate| within(rate, HIGHEST_RATE)),
            "rate",
            "above 0 and at most 10000000 events a second",
        )?;
        PlanError::unless(
            (0.01..=LONGEST_S).contains(&self.interval_s),
            "interval_s",
            "0.01 to a year",
        )?;
        PlanError::unless((0.0..=1.0).contains(&self.quantile), "quantile", "0 to 1")?;
        hlog::check_tag(&self.tag).map_err(|error| PlanError::new(format!("tag: {error}")))?;
        if let (Command::Run, TestPlan::Fileio(files)) = (self.command, &self.test) {
            PlanError::unless(files.mode.is_some(), "test.mode", "needed to run")?;
        }
        self.test.check()
    }
}

impl TestPlan {
    fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Cpu(plan) => plan.check(),
            Self::Memory(plan) => plan.check(),
            Self::Threads(plan) => plan.check(),
            Self::Mutex(plan) => plan.check(),
            Self::Fileio(plan) => plan.check(),
        }
    }
}
