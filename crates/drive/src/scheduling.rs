//! How the kernel schedules an event loop beside the threads of a server on the same machine.

#![expect(unsafe_code, reason = "no crate of this workspace wraps sched_setscheduler(2)")]

/// Asks that waking this thread does not interrupt the one that runs.
///
/// An answer that wakes the loop would, by the ordinary policy, push a server's thread off its core
/// in the middle of a statement: two switches of context for one answer, which then is looked at
/// alone. A thread of `SCHED_BATCH` runs when the core is free or its turn has come, with the share
/// that any other thread has, and finds more answers at once. On a core of its own it changes
/// nothing. See sched(7) and docs/decisions/0012.
///
/// # Errors
/// The system does not allow it: the thread keeps the policy it has.
pub(crate) fn give_way() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: thread 0 is this one, and the kernel only reads `parameters`, which outlives the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_asks_and_no_other_gives_way() {
        // SAFETY: asks for the policy of this thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let of_it = std::thread::spawn(move || give_way().map(|()| policy())).join();
        assert_eq!(of_it.expect("no panic").expect("any user may"), libc::SCHED_BATCH);
        assert_eq!(policy(), before);
    }
}
