//! The clock of a step, in monotonic nanoseconds since its start; and the CPU time of a thread.

use loadstone_measure::Nanos;
use rustix::event::Timespec;
use rustix::time::{ClockId, clock_gettime};

/// All threads of a step share one, so that their timestamps are comparable.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// CLOCK_MONOTONIC when the clock was started; timers that take absolute times need it.
    epoch: Nanos,
    /// Since 1970, at the same time.
    unix_epoch: Nanos,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch: read(ClockId::Monotonic), unix_epoch: read(ClockId::Realtime) }
    }

    /// Time since the clock started.
    #[must_use]
    pub fn now(self) -> Nanos {
        Nanos(read(ClockId::Monotonic).0 - self.epoch.0)
    }

    /// The instant in microseconds since 1970. Later changes of the system's time have no effect.
    pub(crate) fn unix_us(self, at: Nanos) -> u64 {
        (self.unix_epoch.0 + at.0) / 1_000
    }

    /// The instant of CLOCK_MONOTONIC on this clock; zero if it is before the clock's start.
    pub(crate) fn at_monotonic(self, instant: Nanos) -> Nanos {
        Nanos(instant.0.saturating_sub(self.epoch.0))
    }

    /// The instant as CLOCK_MONOTONIC counts it.
    pub(crate) fn monotonic(self, at: Nanos) -> Timespec {
        let absolute = self.epoch.0.saturating_add(at.0);
        Timespec {
            tv_sec: i64::try_from(absolute / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(absolute % 1_000_000_000).unwrap_or(0),
        }
    }
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Nanos(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU time of the calling thread, user and system.
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}
