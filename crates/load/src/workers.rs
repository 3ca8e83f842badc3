//! Worker threads, each with a connection, that share a list of work.

use crate::job::Job;
use crate::target::Refusal;
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, thread_cpu};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often one piece of work may stall.
const MOST_STALLS: u32 = 3;

/// Runs `work` on each of `items`, with as many connections as the plan allows. The first failure
/// ends it.
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
        let pulse = job.pulse();
        let connected = match job.connect(&pulse) {
            Err(halt) if halt.is_loss() && job.plan.connect.retries > 0 => {
                job.connect_again(&pulse)
            }
            other => other,
        };
        let result = connected.and_then(|mut client| {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if job.stop.is_set() {
                    return Err(Halt::Stopped);
                }
                work(&mut client, *item)?;
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

/// Retries after deadlocks and lock waits; a lost connection is reopened, and so is one whose
/// statement had to be killed because it stalled. The work checks what exists already and is then
/// repeated; it learns whether it stalled.
pub(super) fn with_retries(
    job: &Job,
    client: &mut Client,
    retries: u32,
    work: impl Fn(&mut Client, bool) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let (mut left, mut stalls) = (retries, 0);
    drop(client.pulse().take_stall());
    loop {
        let halt = match work(client, stalls > 0) {
            Err(halt) => halt,
            Ok(()) => return Ok(()),
        };
        match recover(job, client, halt, left > 0)? {
            None => left = left.saturating_sub(1),
            Some(stall) => {
                stalls += 1;
                if stalls >= MOST_STALLS {
                    return Err(Halt::Failed(stall));
                }
            }
        }
    }
}

/// Makes the connection ready for another attempt, if that makes sense. If the work was killed
/// because it stalled, returns the description of the stall.
pub(super) fn recover(
    job: &Job,
    client: &mut Client,
    halt: Halt,
    may_retry: bool,
) -> Result<Option<Failure>, Halt> {
    let refusal = job.rows.server.refusal(&halt);
    let was_ended = halt.is_loss() || refusal == Some(Refusal::Ended);
    let stall = client.pulse().take_stall().filter(|_| was_ended);
    if stall.is_none() && !may_retry {
        return Err(halt);
    }
    if halt.is_loss() {
        let pulse = client.pulse().clone();
        *client = job.connect_again(&pulse)?;
    } else if stall.is_some() || refusal == Some(Refusal::Conflict) {
        client.query("ROLLBACK")?;
    } else {
        return Err(halt);
    }
    Ok(stall)
}
