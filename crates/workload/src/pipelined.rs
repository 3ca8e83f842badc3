//! Sends the statements of any workload in flights: together with each statement go those that
//! follow without its answer.

use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ServerError, Verdict};

use crate::machine::IN_TRANSACTION;
use crate::{Answer, Entries, Machine, Params, Printer, StatementRef, Step, Undone};

/// One user whose machine sends one statement at a time, and who sends a flight of them.
///
/// A flight begins with BEGIN, or within a transaction behind the last flight, and ends with the
/// first statement whose answer the machine [needs](Machine::needs_answer): COMMIT at the latest.
/// One Sync follows it. A statement outside a transaction is sent alone, since a Sync behind several
/// of them would make these one transaction.
pub struct Pipelined {
    machine: Box<dyn Machine>,
    flight: Flight,
    /// After an error in a flight: whether a transaction is open, as its end said.
    left_open: Option<bool>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Flight {
    /// Nothing is queued. Next: `Filling`, `Full`.
    Empty,
    /// Statements are queued, and more follow. Next: `Full`.
    Filling,
    /// The last statement is queued, and the end follows. Next: `Empty`.
    Full,
}

impl Pipelined {
    /// The machine's statements, in flights.
    #[must_use]
    pub fn new(machine: Box<dyn Machine>) -> Self {
        Self { machine, flight: Flight::Empty, left_open: None }
    }

    /// What the machine says next; in a flight it goes on without an answer.
    fn next(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        match self.flight {
            Flight::Filling => {
                let unread = Completion::default();
                self.machine.step(Some(Answer::of(&unread)), params)
            }
            Flight::Empty | Flight::Full => self.machine.step(answer, params),
        }
    }
}

impl Machine for Pipelined {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        if self.flight == Flight::Full {
            params.clear();
            self.flight = Flight::Empty;
            return Step::EndPipeline;
        }
        let step = self.next(answer, params);
        let Step::Send(statement) = step else { return step };
        let waits = !self.machine.in_transaction() || self.machine.needs_answer();
        if waits && self.flight == Flight::Empty {
            return step;
        }
        self.flight = if waits { Flight::Full } else { Flight::Filling };
        Step::Queue(statement)
    }

    fn needs_answer(&self) -> bool {
        self.machine.needs_answer()
    }

    fn refused(&mut self, verdict: Verdict) {
        self.machine.refused(verdict);
    }

    fn failed(&mut self, error: &ServerError) {
        self.machine.failed(error);
    }

    fn undone(&mut self, attempt: &Undone) {
        self.machine.undone(attempt);
    }

    fn ran(&mut self, outcome: Result<Vec<u8>, String>) {
        self.machine.ran(outcome);
    }

    fn cut_short(
        &mut self,
        end: Option<Answer<'_>>,
        statement: StatementRef,
        command: Option<u16>,
    ) {
        self.left_open = end.map(|end| end.completion.status & IN_TRANSACTION != 0);
        self.machine.cut_short(end, statement, command);
    }

    fn abandon(&mut self) {
        (self.flight, self.left_open) = (Flight::Empty, None);
        self.machine.abandon();
    }

    fn command(&self) -> Option<u16> {
        self.machine.command()
    }

    fn return_after_each_command(&mut self) {
        self.machine.return_after_each_command();
    }

    fn print_to(&mut self, printer: &Printer) {
        self.machine.print_to(printer);
    }

    fn take_reason(&mut self) -> Option<String> {
        self.machine.take_reason()
    }

    fn in_transaction(&self) -> bool {
        self.left_open.unwrap_or_else(|| self.machine.in_transaction())
    }

    fn reads_rows(&self) -> bool {
        self.machine.reads_rows()
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.machine.kinds()
    }

    fn take_entries(&mut self) -> Option<Entries> {
        self.machine.take_entries()
    }

    fn select(&mut self, member: u16) {
        self.machine.select(member);
    }

    fn pause(&mut self) -> Nanos {
        self.machine.pause()
    }
}
