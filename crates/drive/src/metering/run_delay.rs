//! How long a thread was ready to run while others had its core.
//!
//! A generator that is not scheduled sees its answers late, and would report that as the server's
//! latency. The kernel counts the delay: the second number of /proc/thread-self/schedstat (see the
//! kernel's Documentation/scheduler/sched-stats.rst).

use loadstone_measure::Nanos;
use std::fs::File;
use std::os::unix::fs::FileExt;

#[derive(Debug, Default)]
pub(crate) struct RunDelay {
    /// Open for the thread's lifetime: "thread-self" is resolved when it is opened.
    file: Option<File>,
    before: Option<Nanos>,
}

impl RunDelay {
    pub(crate) fn of_this_thread() -> Self {
        let mut delay = Self { file: File::open("/proc/thread-self/schedstat").ok(), before: None };
        delay.before = delay.read();
        delay
    }

    /// The delay since the last call; `None` where the kernel does not report it.
    pub(crate) fn take(&mut self) -> Option<Nanos> {
        let now = self.read()?;
        let delay = now - self.before?;
        self.before = Some(now);
        Some(delay)
    }

    fn read(&self) -> Option<Nanos> {
        let mut text = [0_u8; 96];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_shares_its_core_is_seen_to_wait() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let busy = || {
            let mut delay = RunDelay::of_this_thread();
            let end = std::time::Instant::now() + std::time::Duration::from_millis(200);
            while std::time::Instant::now() < end {
                std::hint::spin_loop();
            }
            delay.take()
        };
        let threads: Vec<_> = (0..4 * cores).map(|_| std::thread::spawn(busy)).collect();
        let delays = threads.into_iter().map(|thread| thread.join().expect("it ran"));
        let longest = delays.max().flatten().expect("this kernel counts run delay");
        assert!(longest > Nanos::from_millis(20), "{longest:?}");
    }
}
