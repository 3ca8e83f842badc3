//! Connections that share a list of work.

use super::job::Job;
use crate::client::{Client, Halt};
use crate::clock::thread_cpu;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `work` with each of `items`, with as many connections as the plan allows. The first thing
/// that goes wrong ends it.
pub(super) fn for_each<T: Copy + Sync>(
    job: &Job,
    items: &[T],
    work: impl Fn(&mut Client, T) -> Result<(), Halt> + Sync,
) -> Result<(), Halt> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<Halt>> = Mutex::new(None);
    let halt = |halt: Halt| {
        next.store(items.len(), Ordering::Relaxed);
        // A worker never panics while it holds the lock.
        if let Ok(mut first) = failed.lock() {
            first.get_or_insert(halt);
        }
    };
    let worker = || {
        let result = job.connect().and_then(|mut client| {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if job.control.stop_wanted() {
                    return Err(Halt::Stopped);
                }
                with_retries(job, &mut client, |client| work(client, *item))?;
            }
            client.quit();
            Ok(())
        });
        job.add_cpu(thread_cpu());
        if let Err(reason) = result {
            halt(reason);
        }
    };
    let count = items.len().min(job.plan.parallel as usize);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(worker);
        }
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}

/// Deadlocks and lock waits pass; a lost connection is opened again, and the work, which looks at
/// what is there first, is done again.
fn with_retries(
    job: &Job,
    client: &mut Client,
    work: impl Fn(&mut Client) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let mut left = job.plan.connect.retries;
    loop {
        match work(client) {
            Err(halt) if left > 0 && halt.is_loss() => *client = job.connect_again()?,
            Err(halt) if left > 0 && matches!(halt.errno(), Some(1205 | 1213)) => {
                client.query("ROLLBACK")?;
            }
            other => return other,
        }
        left -= 1;
    }
}
