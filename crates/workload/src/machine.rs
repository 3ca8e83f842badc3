//! The step machine: what every workload is to the event loop, answers in and statements out.

use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ResultSet, Value, Values, Verdict};

use crate::{Params, StatementRef};

/// What a virtual user does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this statement with the parameters that were filled in, and come back with its answer.
    Send(StatementRef),
    /// The event is over.
    Done,
    /// The answer is not one that the event can go on with; says what is missing. As after any error,
    /// [`Machine::abandon`] comes next.
    Fail(&'static str),
}

/// What became of the entries of a user that keeps a ledger since this was asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// All entries up to this number are over: acknowledged, unless they are or were in doubt.
    pub settled: u64,
    /// Those among them of which nobody knows, as COMMIT was sent and no answer came that says what became
    /// of it.
    pub doubts: Vec<u64>,
}

/// What the server answered to a statement.
#[derive(Copy, Clone, Debug)]
pub struct Answer<'a> {
    /// What it did.
    pub completion: &'a Completion,
    /// The first of its results with rows; only for machines that read them.
    pub result: Option<&'a ResultSet>,
}

impl<'a> Answer<'a> {
    /// An answer of which nobody reads rows.
    #[must_use]
    pub fn of(completion: &'a Completion) -> Self {
        Self { completion, result: None }
    }

    /// The rows of `N` columns each; none where the result has another number of them.
    #[must_use]
    pub fn rows<const N: usize>(&self) -> Rows<'a, N> {
        let fits = |result: &&ResultSet| usize::from(result.columns) == N;
        Rows(self.result.filter(fits).map(ResultSet::values))
    }
}

/// See [`Answer::rows`]. Ends before a row that cannot be read.
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

/// A workload for one virtual user: it is given answers and says what to send. It knows no socket and
/// no clock.
///
/// After [`Step::Done`] or [`Machine::abandon`] the next call of `step` begins an event, with `None`.
pub trait Machine: Send {
    /// `None` begins an event; `Some` is the answer to the statement last sent. `params` are cleared and
    /// filled.
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step;

    /// The server has refused the statement last sent, and the connection is still there;
    /// [`Machine::abandon`] comes next.
    fn refused(&mut self, _verdict: Verdict) {}

    /// The server refused a statement or the connection is gone: forget the rest of this event. What an
    /// event begun again draws is the machine's business: new keys, as the field's tools have it, unless
    /// it says otherwise.
    fn abandon(&mut self);

    /// Whether the event has a transaction open: from its BEGIN being handed out until the answer to its
    /// COMMIT. Ask before [`Machine::abandon`].
    fn in_transaction(&self) -> bool;

    /// Whether the machine looks at rows: only then are they kept for it.
    fn reads_rows(&self) -> bool {
        false
    }

    /// Which kinds of event the one belongs to that has just ended, where the workload has several: their
    /// latencies are told apart. The first is the one that it belongs to whatever became of it.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// What became of the entries of a machine that keeps a ledger. Asked after each event, whatever became
    /// of it.
    fn take_entries(&mut self) -> Option<Entries> {
        None
    }

    /// Of a mix: the next event is this member's.
    fn select(&mut self, _member: u16) {}

    /// How long the user waits of its own accord before its next event is due, in a closed loop. Asked
    /// once before each event.
    fn pause(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
