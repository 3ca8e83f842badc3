use loadstone_wire::Completion;

use crate::{Params, StatementRef};

/// What a virtual user does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this statement with the parameters that were filled in, and come back with its answer.
    Send(StatementRef),
    /// The event is over.
    Done,
}

/// A workload for one virtual user: it is given answers and says what to send. It knows no socket and
/// no clock.
///
/// After [`Step::Done`] or [`Machine::abandon`] the next call of `step` begins an event, with `None`.
pub trait Machine: Send {
    /// `None` begins an event; `Some` is the answer to the statement last sent. `params` are cleared and
    /// filled.
    fn step(&mut self, reply: Option<&Completion>, params: &mut Params) -> Step;

    /// The server refused a statement or the connection is gone: forget the rest of this event. What an
    /// event begun again draws is new, as the field's tools have it.
    fn abandon(&mut self);

    /// Whether the event has a transaction open: from its BEGIN being handed out until the answer to its
    /// COMMIT. Ask before [`Machine::abandon`].
    fn in_transaction(&self) -> bool;
}
