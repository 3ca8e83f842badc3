//! CPU usage, on this thread's own clock.

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::error::Error;

/// An instant, with the work and CPU time up to then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    wall_ns: u64,
    cpu_ns: u64,
    /// How long the thread was ready to run while others had its core.
    ready_ns: u64,
    queries: u64,
}

/// The difference between two marks.
#[derive(Debug, Serialize)]
pub(crate) struct Spent {
    queries: u64,
    seconds: f64,
    /// CPU time by CLOCK_THREAD_CPUTIME_ID.
    cpu_us: u64,
    /// Ready to run while others had the core; 0 where the kernel does not say.
    run_delay_us: u64,
    queries_per_second: f64,
    /// Null if there were no queries.
    cpu_us_per_query: Option<f64>,
}

impl Mark {
    pub(crate) fn now(queries: u64) -> Self {
        let (wall_ns, cpu_ns) = (monotonic(), read(ClockId::ThreadCPUTime));
        Self { wall_ns, cpu_ns, ready_ns: run_delay().unwrap_or_default(), queries }
    }

    pub(crate) fn wall_ns(&self) -> u64 {
        self.wall_ns
    }

    pub(crate) fn since(&self, earlier: &Self) -> Spent {
        let queries = self.queries - earlier.queries;
        let seconds = (self.wall_ns - earlier.wall_ns) as f64 / 1e9;
        let cpu_us = (self.cpu_ns - earlier.cpu_ns) as f64 / 1e3;
        Spent {
            queries,
            seconds,
            cpu_us: cpu_us as u64,
            run_delay_us: (self.ready_ns - earlier.ready_ns) / 1000,
            queries_per_second: queries as f64 / seconds,
            cpu_us_per_query: (queries > 0).then(|| cpu_us / queries as f64),
        }
    }
}

pub(crate) fn monotonic() -> u64 {
    read(ClockId::Monotonic)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The second number of /proc/thread-self/schedstat: see the kernel's
/// Documentation/scheduler/sched-stats.rst.
fn run_delay() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// User and system time of the whole process, in microseconds. See proc_pid_stat(5).
pub(crate) fn process() -> Result<(u64, u64), Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may contain anything; the state after it is field 3.
    let (_, rest) = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let ticks = rustix::param::clock_ticks_per_second();
    let mut times = rest.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let mut next = || times.next().ok_or("no times in /proc/self/stat");
    Ok((next()?? * 1_000_000 / ticks, next()?? * 1_000_000 / ticks))
}
