//! The step machine: the event loop's view of every workload, answers in and statements out.

use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ResultSet, ServerError, Value, Values, Verdict};

use crate::{Params, StatementRef};
use std::sync::Arc;

/// Both families have this flag in a completion's state: a transaction is open.
pub(crate) const IN_TRANSACTION: u16 = 1;

/// What a virtual user does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this statement with the parameters that were filled in, and return with its answer.
    Send(StatementRef),
    /// Send this statement in a pipeline, which begins with it if none has, and return at once,
    /// without an answer.
    Queue(StatementRef),
    /// In a pipeline: here the server commits what it was sent so far, or gives it up (a Sync).
    /// Return at once, without an answer.
    Sync,
    /// The same, and the pipeline ends: return when all of its statements are answered, with the
    /// answer to the last of them, in which the state of the transaction is that after the end. Where
    /// one was refused, [`Machine::cut_short`] comes in place of that.
    EndPipeline,
    /// Wait for so long, and return without an answer.
    Sleep(Nanos),
    /// A command of the client's own was executed: return without an answer. Only from a machine
    /// that is [asked](Machine::return_after_each_command) for it.
    Executed,
    /// Run a program, whose command line for a shell is the only parameter, and return without an
    /// answer after [`Machine::ran`].
    Run {
        /// Whether that needs the first line that the program prints.
        wants_line: bool,
    },
    /// The event is over.
    Done,
    /// The event cannot continue with this answer; says what is missing. As after any error,
    /// [`Machine::abandon`] comes next.
    Fail(&'static str),
}

/// The outcome of a ledger user's entries since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// All entries up to this number are settled: acknowledged, unless they are or were in doubt.
    pub settled: u64,
    /// Those among them with an unknown outcome: COMMIT was sent, but no answer said whether it
    /// succeeded.
    pub doubts: Vec<u64>,
}

/// An attempt at an event that an error has ended, and of which the server has nothing left.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Undone {
    /// The event is tried again; otherwise it has failed.
    pub restarts: bool,
    /// How often it was tried.
    pub tries: u32,
    /// How often it may be; `None`: that is not limited.
    pub most_tries: Option<u32>,
    /// The share that has passed of the time in which it may be tried again; `None`: that is not
    /// limited.
    pub time_used: Option<f64>,
    /// Whether the load goes on.
    pub is_loading: bool,
}

/// The server's answer to a statement.
#[derive(Copy, Clone, Debug)]
pub struct Answer<'a> {
    /// What it did.
    pub completion: &'a Completion,
    /// Its results with rows, in their order; only for machines that read them.
    pub results: &'a [ResultSet],
}

impl<'a> Answer<'a> {
    /// An answer whose rows nobody reads.
    #[must_use]
    pub fn of(completion: &'a Completion) -> Self {
        Self { completion, results: &[] }
    }

    /// Its first result with rows.
    #[must_use]
    pub fn result(&self) -> Option<&'a ResultSet> {
        self.results.first()
    }

    /// The rows of `N` columns each; none if the result has a different number of columns.
    #[must_use]
    pub fn rows<const N: usize>(&self) -> Rows<'a, N> {
        let fits = |result: &&ResultSet| usize::from(result.columns) == N;
        Rows(self.result().filter(fits).map(ResultSet::values))
    }
}

/// See [`Answer::rows`]. Ends before an unreadable row.
#[derive(Clone, Debug)]
pub struct Rows<'a, const N: usize>(Option<Values<'a>>);

impl<'a, const N: usize> Iterator for Rows<'a, N> {
    type Item = [Value<'a>; N];

    fn next(&mut self) -> Option<Self::Item> {
        let values = self.0.as_mut()?;
        let mut row = [Value::Null; N];
        for place in &mut row {
            *place = values.next()?.ok()?;
        }
        Some(row)
    }
}

/// Where a script's output goes, line by line.
#[derive(Clone)]
pub struct Printer(Arc<dyn Fn(String) + Send + Sync>);

impl Printer {
    /// Passes each line on, with its end.
    pub fn new(print: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(print))
    }

    pub(crate) fn print(&self, line: String) {
        (self.0)(line);
    }
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Printer")
    }
}

/// A workload for one virtual user: it receives answers and returns what to send. It knows no
/// socket and no clock.
///
/// After [`Step::Done`] or [`Machine::abandon`] the next call of `step` starts an event, with
/// `None`.
pub trait Machine: Send {
    /// `None` starts an event, or continues it after a sleep; `Some` is the answer to the statement
    /// last sent. `params` are cleared and filled.
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step;

    /// The server has refused the statement last sent, and the connection still exists;
    /// [`Machine::abandon`] comes next.
    fn refused(&mut self, _verdict: Verdict) {}

    /// An error ends this attempt at the event; [`Machine::abandon`] comes next.
    fn failed(&mut self, _error: &ServerError) {}

    /// After [`Machine::failed`] and [`Machine::abandon`]: nothing is left of the attempt, and this
    /// comes of its event. If that restarts, it begins next.
    fn undone(&mut self, _attempt: &Undone) {}

    /// The program of [`Step::Run`] has ended: the first line that it printed if that was wanted, or
    /// why it failed.
    fn ran(&mut self, _outcome: Result<Vec<u8>, String>) {}

    /// A pipeline has ended after `statement` in it was refused; the server has skipped what was
    /// behind it. `end` is the answer to the end, unless that was refused; `command` is the number of the command
    /// that was refused. [`Machine::refused`] and [`Machine::abandon`] come next.
    fn cut_short(
        &mut self,
        _end: Option<Answer<'_>>,
        _statement: StatementRef,
        _command: Option<u16>,
    ) {
    }

    /// Whether what comes next depends on the answer to the statement last sent, or the event ends
    /// with it. Otherwise another statement comes next whatever the answer, and the answer may be an
    /// empty one.
    fn needs_answer(&self) -> bool {
        true
    }

    /// The server refused a statement or the connection is gone: drops the rest of this event. What
    /// a restarted event draws is up to the machine: new keys, as in sysbench, unless it says
    /// otherwise.
    fn abandon(&mut self);

    /// The number of the script's command that the last step belongs to, if there is a script. Call
    /// this before [`Machine::abandon`].
    fn command(&self) -> Option<u16> {
        None
    }

    /// From now on [`Step::Executed`] follows each command of a script that the client executes itself, so
    /// that it can be timed.
    fn return_after_each_command(&mut self) {}

    /// What a script of the machine prints goes there.
    fn print_to(&mut self, _printer: &Printer) {}

    /// What the last [`Step::Fail`] was about, if there is more to say than it did.
    fn take_reason(&mut self) -> Option<String> {
        None
    }

    /// Whether the event has a transaction open: from returning its BEGIN until the answer to its
    /// COMMIT. Call this before [`Machine::abandon`].
    fn in_transaction(&self) -> bool;

    /// Whether the machine reads rows: only then are they kept for it.
    fn reads_rows(&self) -> bool {
        false
    }

    /// The kinds that the event that has just ended belongs to, if the workload has several: their
    /// latencies are recorded separately. It belongs to the first one whatever its outcome.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// The outcome of the entries of a machine that keeps a ledger. Called after each event,
    /// whatever its outcome.
    fn take_entries(&mut self) -> Option<Entries> {
        None
    }

    /// In a mix: the next event belongs to this member.
    fn select(&mut self, _member: u16) {}

    /// How long the user waits on its own before its next event is due, in a closed loop. Called
    /// once before each event.
    fn pause(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
