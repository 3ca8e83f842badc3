//! Programs that scripts run amid the load.
//!
//! The event loop never waits for one: threads of their own do, a few for each shard, and wake the
//! loop when one has ended. A program does not outlast the shard's part of the step.

mod children;

use children::Children;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::io;
use std::sync::Arc;

/// The most programs of a shard's users that run at once; the others wait for their turn.
const MOST_AT_ONCE: usize = 16;

/// The programs of a shard's users.
pub(crate) struct Programs {
    children: Arc<Children>,
    wake: Arc<dyn Fn() + Send + Sync>,
    jobs: (Sender<Job>, Receiver<Job>),
    ended: (Sender<Ended>, Receiver<Ended>),
    threads: usize,
    /// Programs that were asked for and have not ended.
    under_way: usize,
    /// The number of the last one.
    last: u64,
}

/// A program to be run.
struct Job {
    user: u32,
    number: u64,
    command: Vec<u8>,
    wants_line: bool,
}

/// A program that has ended.
pub(crate) struct Ended {
    /// The user's place in the shard.
    pub(crate) user: u32,
    /// The number that [`Programs::run`] gave to it.
    pub(crate) number: u64,
    /// The first line that it printed, if that was wanted, or why it failed.
    pub(crate) outcome: Result<Vec<u8>, String>,
}

impl Programs {
    /// `wake` makes the shard look for what has [ended](Self::next_ended).
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            children: Arc::default(),
            wake: Arc::new(wake),
            jobs: unbounded(),
            ended: unbounded(),
            threads: 0,
            under_way: 0,
            last: 0,
        }
    }

    /// Has a shell run this command line. Returns the program's number.
    ///
    /// # Errors
    /// The operating system refuses the first thread.
    pub(crate) fn run(&mut self, user: u32, command: &[u8], wants_line: bool) -> io::Result<u64> {
        if self.under_way >= self.threads
            && self.threads < MOST_AT_ONCE
            && let Err(error) = self.add_thread()
            && self.threads == 0
        {
            return Err(error);
        }
        self.under_way += 1;
        self.last += 1;
        let job = Job { user, number: self.last, command: command.to_vec(), wants_line };
        // We hold a receiver, so it has one.
        drop(self.jobs.0.send(job));
        Ok(self.last)
    }

    fn add_thread(&mut self) -> io::Result<()> {
        let (children, wake) = (self.children.clone(), self.wake.clone());
        let (jobs, ended) = (self.jobs.1.clone(), self.ended.0.clone());
        let work = move || {
            for Job { user, number, command, wants_line } in jobs {
                let outcome = children.run(&command, wants_line);
                if ended.send(Ended { user, number, outcome }).is_err() {
                    return;
                }
                wake();
            }
        };
        std::thread::Builder::new().name("programs".to_owned()).spawn(work)?;
        self.threads += 1;
        Ok(())
    }

    /// The next one that has ended.
    pub(crate) fn next_ended(&mut self) -> Option<Ended> {
        let ended = self.ended.1.try_recv().ok()?;
        self.under_way -= 1;
        Some(ended)
    }
}

/// Ends all that still run. Their threads are not waited for: what a program leaves behind may keep
/// its output open.
impl Drop for Programs {
    fn drop(&mut self) {
        // Otherwise a thread would go on with the next one.
        while self.jobs.1.try_recv().is_ok() {}
        self.children.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_secs(20);

    fn programs() -> (Programs, mpsc::Receiver<()>) {
        let (woken, wakes) = mpsc::channel();
        let wake = move || {
            let _ = woken.send(());
        };
        let programs = Programs::new(wake);
        (programs, wakes)
    }

    fn outcome(command: &str, wants_line: bool) -> Result<String, String> {
        let (mut programs, wakes) = programs();
        let number = programs.run(7, command.as_bytes(), wants_line).expect("a thread");
        wakes.recv_timeout(PATIENCE).expect("an end");
        let ended = programs.next_ended().expect("the one");
        assert_eq!((ended.user, ended.number), (7, number));
        assert!(programs.next_ended().is_none());
        ended.outcome.map(|line| String::from_utf8(line).expect("a text"))
    }

    #[test]
    fn the_first_line_is_taken_and_the_rest_is_nobodys() {
        assert_eq!(outcome("echo 41; echo 42", true).as_deref(), Ok("41\n"));
        assert_eq!(outcome("yes", true).as_deref(), Ok("y\n"), "it ends when nobody reads it");
        assert_eq!(outcome("echo 41", false).as_deref(), Ok(""));
        let long = outcome("head -c 100000 /dev/zero", true).expect("a success");
        assert_eq!(long.len(), 256);
    }

    #[test]
    fn a_status_matters_where_no_line_is_wanted() {
        assert_eq!(outcome("exit 3", false), Err("the program has failed: exit status: 3".into()));
        let killed = outcome("kill -9 $$", false).expect_err("it has not succeeded");
        assert!(killed.starts_with("the program has failed: signal: 9"), "{killed}");
        assert_eq!(outcome("echo 5; exit 3", true).as_deref(), Ok("5\n"));
        assert_eq!(outcome("exit 3", true), Err("the program has printed nothing".into()));
    }

    #[test]
    fn those_that_still_run_end_with_the_step() {
        let (mut programs, wakes) = programs();
        for user in 0..3 {
            programs.run(user, b"echo $$; exec sleep 1000", false).expect("a thread");
        }
        let begun = Instant::now();
        while programs.children.count() < 3 {
            assert!(begun.elapsed() < PATIENCE, "they do not start");
            std::thread::sleep(Duration::from_millis(1));
        }
        let children = programs.children.clone();
        drop(programs);
        drop(wakes);
        while children.count() > 0 {
            assert!(begun.elapsed() < PATIENCE, "they do not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(children.run(b"true", false).is_err(), "nothing starts any more");
    }

    #[test]
    fn more_than_may_run_at_once_wait_for_their_turn() {
        let (mut programs, wakes) = programs();
        let all = MOST_AT_ONCE + 8;
        for user in 0..all {
            programs.run(user as u32, b"true", false).expect("a thread");
        }
        assert_eq!(programs.threads, MOST_AT_ONCE);
        for _ in 0..all {
            wakes.recv_timeout(PATIENCE).expect("an end");
            assert_eq!(programs.next_ended().expect("one").outcome, Ok(Vec::new()));
        }
        programs.run(0, b"true", false).expect("a thread");
        assert_eq!(programs.threads, MOST_AT_ONCE);
    }
}
