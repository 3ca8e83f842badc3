//! The pulse of a client that waits for answers: other threads see what it waits for, and can end the wait.

use super::family::ServerFamily;
use crate::clock::Clock;
use crate::error::{Failure, FailureKind};
use loadstone_measure::Nanos;
use loadstone_protocol::Fault;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of characters shown of a statement.
const SHOWN: usize = 100;

/// Shown in place of a statement while a connection is opened.
const OPENING: &str = "opening a connection";

/// The pulse of one client, and of the clients that replace it.
#[derive(Debug)]
pub struct Pulse {
    clock: Clock,
    /// When the last byte was sent or received.
    moved_ns: AtomicU64,
    /// The deadline of the current wait.
    deadline_ns: AtomicU64,
    wait: Mutex<Wait>,
}

#[derive(Debug, Default)]
struct Wait {
    /// The number of the current or last statement.
    number: u64,
    statement: Option<String>,
    /// The server's number for the connection.
    connection: Option<u32>,
    /// The family of the server, once the client has started to connect.
    family: Option<ServerFamily>,
    /// Why the wait is over, whatever the server says.
    given_up: Option<Failure>,
    /// What to report of a statement that another thread has ended.
    stall: Option<Failure>,
}

/// A statement that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Unique to each statement.
    pub number: u64,
    /// The statement's text, cut to the length that is shown.
    pub statement: String,
    /// The server's number for the connection; `None` while it is opened.
    pub connection: Option<u32>,
    /// When the last byte was sent or received.
    pub moved_at: Nanos,
}

impl Default for Pulse {
    fn default() -> Self {
        Self::new(Clock::start())
    }
}

impl Pulse {
    /// Makes a pulse whose times come from this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            moved_ns: AtomicU64::new(0),
            deadline_ns: AtomicU64::new(u64::MAX),
            wait: Mutex::default(),
        }
    }

    /// Notes that a connection is about to be opened. Successive attempts are one wait.
    pub(crate) fn connects(&self, family: ServerFamily) {
        let mut wait = self.wait();
        wait.family = Some(family);
        let goes_on = wait.statement.as_deref() == Some(OPENING);
        wait.connection = None;
        drop(wait);
        if !goes_on {
            self.begins(OPENING);
        }
    }

    /// Notes that the connection is open.
    pub(crate) fn connected(&self, connection: u32) {
        self.wait().connection = Some(connection);
        self.ends();
    }

    pub(crate) fn begins(&self, statement: &str) {
        let mut wait = self.wait();
        wait.number += 1;
        wait.statement = Some(shown(statement));
        wait.given_up = None;
        drop(wait);
        self.moves();
    }

    pub(crate) fn moves(&self) {
        self.moved_ns.store(self.clock.now().0, Ordering::Relaxed);
    }

    pub(crate) fn ends(&self) {
        self.wait().statement = None;
    }

    /// The current wait, if there is one.
    pub fn beat(&self) -> Option<Beat> {
        let wait = self.wait();
        Some(Beat {
            number: wait.number,
            statement: wait.statement.clone()?,
            connection: wait.connection,
            moved_at: Nanos(self.moved_ns.load(Ordering::Relaxed)),
        })
    }

    /// Whether this statement is still under way.
    pub fn is_at(&self, number: u64) -> bool {
        let wait = self.wait();
        wait.number == number && wait.statement.is_some()
    }

    /// Ends the wait for this statement if it is still current; the waiting client fails with `why`.
    pub fn give_up(&self, number: u64, why: Failure) {
        let mut wait = self.wait();
        if wait.number == number && wait.statement.is_some() {
            wait.given_up = Some(why);
        }
    }

    /// Why the wait is over.
    pub(crate) fn given_up(&self) -> Option<Failure> {
        if self.clock.now().0 >= self.deadline_ns.load(Ordering::Relaxed) {
            let code = self.wait().family.map(|family| family.code_of(Fault::TimedOut));
            return Some(Failure::new(FailureKind::TimedOut, code, "no answer in time"));
        }
        self.wait().given_up.clone()
    }

    /// Notes that another thread ends the statement, and what to report of it.
    pub fn note_stall(&self, what: Failure) {
        self.wait().stall = Some(what);
    }

    /// Takes what [`Self::note_stall`] noted since the last call.
    pub fn take_stall(&self) -> Option<Failure> {
        self.wait().stall.take()
    }

    /// Sets the deadline after which no wait continues.
    pub fn set_deadline(&self, at: Nanos) {
        self.deadline_ns.store(at.0, Ordering::Relaxed);
    }

    fn wait(&self) -> MutexGuard<'_, Wait> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning of a statement, on one line.
fn shown(statement: &str) -> String {
    let mut shown: String = statement.chars().take(SHOWN).collect();
    if shown.len() < statement.len() {
        shown.push('…');
    }
    shown.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        Failure::new(FailureKind::Stalled, None, "it stands still")
    }

    #[test]
    fn only_the_statement_that_was_meant_is_given_up() {
        let pulse = Pulse::default();
        pulse.begins("SELECT 1");
        let first = pulse.beat().expect("it is under way").number;
        pulse.ends();
        pulse.begins("SELECT 2");
        pulse.give_up(first, failure());
        assert_eq!(pulse.given_up(), None);
        let second = pulse.beat().expect("it is under way").number;
        pulse.give_up(second, failure());
        assert_eq!(pulse.given_up(), Some(failure()));
        pulse.begins("ROLLBACK");
        assert_eq!(pulse.given_up(), None);
    }

    #[test]
    fn what_is_said_of_an_ended_statement_outlives_the_rollback_after_it() {
        let pulse = Pulse::default();
        pulse.begins("INSERT");
        pulse.note_stall(failure());
        pulse.begins("ROLLBACK");
        assert_eq!((pulse.take_stall(), pulse.take_stall()), (Some(failure()), None));
    }

    #[test]
    fn attempts_to_connect_are_one_wait_until_one_of_them_succeeds() {
        let pulse = Pulse::default();
        pulse.connects(ServerFamily::MySql);
        let first = pulse.beat();
        pulse.connects(ServerFamily::MySql);
        assert_eq!(pulse.beat(), first);
        pulse.connected(7);
        assert_eq!(pulse.beat(), None);
        pulse.begins("SELECT 1");
        assert_eq!(pulse.beat().and_then(|beat| beat.connection), Some(7));
    }

    #[test]
    fn a_long_statement_is_shown_in_part_and_on_one_line() {
        let text = shown(&format!("INSERT\nINTO {}", "x".repeat(1000)));
        assert_eq!((text.chars().count(), &text[..12]), (SHOWN + 1, "INSERT INTO "));
    }
}
