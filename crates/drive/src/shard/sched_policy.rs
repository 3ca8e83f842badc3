//! The scheduling policy of an event loop's thread, for servers on the same machine.

#![expect(unsafe_code, reason = "no crate of this workspace wraps sched_setscheduler(2)")]

use loadstone_measure::Nanos;

/// An event loop that uses more of its core than this finds several answers at each turn anyway.
const BUSY: f64 = 0.5;

/// The scheduling policy of an event loop's thread, which follows its load.
#[derive(Debug)]
pub(crate) struct SchedPolicy {
    /// Whether events have due times of their own, for which an idle loop must be woken without
    /// delay.
    is_punctual: bool,
    gives_way: bool,
}

impl SchedPolicy {
    /// For a loop whose events are due when others end: it yields from the start.
    pub(crate) fn of_closed_loop() -> Self {
        Self { is_punctual: false, gives_way: false }
    }

    /// For a loop whose events are due by a schedule: it yields only while it is busy. An idle one
    /// would start its events late by whatever runs on its core, which can be milliseconds next to
    /// a busy neighbour.
    pub(crate) fn of_open_loop() -> Self {
        Self { is_punctual: true, gives_way: false }
    }

    /// Sets the calling thread's policy before its load.
    pub(crate) fn begin(&mut self) {
        self.give_way(!self.is_punctual);
    }

    /// Changes the policy if the load has changed. The calling thread used `cpu` of `elapsed`.
    pub(crate) fn adapt(&mut self, cpu: Nanos, elapsed: Nanos) {
        if self.is_punctual && elapsed > Nanos::ZERO {
            self.give_way(cpu.seconds() > BUSY * elapsed.seconds());
        }
    }

    fn give_way(&mut self, wanted: bool) {
        if wanted != self.gives_way {
            let policy = if wanted { libc::SCHED_BATCH } else { libc::SCHED_OTHER };
            // If the system refuses, the loop only costs more, or is later.
            self.gives_way = if set_policy(policy).is_ok() { wanted } else { self.gives_way };
        }
    }
}

/// With `SCHED_BATCH`, waking this thread does not preempt the running one.
///
/// Under the default policy, an answer that wakes the loop would preempt a server's thread in the
/// middle of a statement: two context switches for a single answer. A `SCHED_BATCH` thread runs
/// when the core is free or its turn has come, with the same share of CPU as any other thread, and
/// then finds several answers at once. On a core of its own nothing changes. See sched(7) and
/// docs/decisions/0012.
///
/// # Errors
/// The system refuses: the thread keeps its policy.
fn set_policy(policy: i32) -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: thread 0 is this one, and the kernel only reads `parameters`, which outlives the call.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_millis(1_000);

    fn policy() -> i32 {
        // SAFETY: only reads the policy of this thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// The policies of a thread of its own, after the start of the load and after each interval.
    fn policies(mut sched_policy: SchedPolicy, busy_ms: &[u64]) -> Vec<i32> {
        let busy_ms = busy_ms.to_vec();
        let seen = std::thread::spawn(move || {
            sched_policy.begin();
            let mut seen = vec![policy()];
            for busy in busy_ms {
                sched_policy.adapt(Nanos::from_millis(busy), SECOND);
                seen.push(policy());
            }
            seen
        });
        seen.join().expect("no panic")
    }

    #[test]
    fn a_closed_loop_gives_way_and_nobody_else() {
        let before = policy();
        let batch = libc::SCHED_BATCH;
        assert_eq!(policies(SchedPolicy::of_closed_loop(), &[10, 900]), [batch, batch, batch]);
        assert_eq!(policy(), before);
    }

    #[test]
    fn an_open_loop_gives_way_while_it_is_busy() {
        let (other, batch) = (policy(), libc::SCHED_BATCH);
        let seen = policies(SchedPolicy::of_open_loop(), &[10, 900, 800, 100]);
        assert_eq!(seen, [other, other, batch, batch, libc::SCHED_OTHER]);
    }
}
