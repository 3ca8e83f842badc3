//! The plan of a host test: one JSON document, checked once, then frozen. `docs/engine.md` is the
//! contract.

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
/// More events than any test starts, and far below the numbers that lose precision.
const HIGHEST_RATE: f64 = 10_000_000.0;

/// A host test, or its preparation or cleanup.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// Prepare the files, run, or remove the files.
    pub command: Command,
    /// The test and its options.
    pub test: TestPlan,
    /// The number of threads.
    pub threads: u32,
    /// When the test is over.
    pub stop: StopPlan,
    /// Events per second that are due, as from many independent users; `None`: each thread starts
    /// an event when its last one has ended.
    pub rate: Option<f64>,
    /// The interval between samples, in seconds.
    pub interval_s: f64,
    /// An additional quantile to report; 0.95 is the 95th percentile.
    pub quantile: f64,
    /// The same seed gives the same random places.
    pub seed: u64,
    /// The tag of the lines for the latency log.
    pub tag: String,
    /// Whether samples show what each thread did.
    #[serde(default)]
    pub per_thread: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Create the test's files. The other tests need no preparation.
    Prepare,
    /// Run it.
    Run,
    /// Remove what `Prepare` made.
    Cleanup,
}

/// The test and its options.
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
    /// Files that are read, written and synchronised.
    Fileio(Box<FilePlan>),
}

/// When the test stops: at whichever limit is reached first.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopPlan {
    /// Events of all threads together; `None`: no limit.
    pub events: Option<u64>,
    /// Length of the window in seconds; `None`: no limit.
    pub duration_s: Option<f64>,
    /// The warm-up in seconds; its events count in no figure.
    pub warmup_s: f64,
}

impl StopPlan {
    /// When the window starts, since the start of the test.
    pub(crate) fn window_begins(&self) -> Nanos {
        Nanos::from_seconds(self.warmup_s)
    }

    /// When no more events start.
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
