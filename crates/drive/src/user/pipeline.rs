//! What was sent in a pipeline and is not answered.

use loadstone_measure::Nanos;
use loadstone_protocol::ServerError;
use loadstone_workload::StatementRef;
use std::collections::VecDeque;

/// The pipeline of an event.
#[derive(Default)]
pub(super) struct Pipeline {
    /// Whose answers are due, in their order.
    pub(super) owed: VecDeque<Owed>,
    /// Its end is sent, or about to be.
    pub(super) has_ended: bool,
    pub(super) failure: Option<Refused>,
}

/// An answer that is due.
pub(super) struct Owed {
    pub(super) of: Of,
    /// The script's command that sent what it answers.
    pub(super) command: Option<u16>,
    /// When that was sent.
    pub(super) sent: Nanos,
}

/// The first error, and where it came up.
pub(super) struct Refused {
    pub(super) error: Box<ServerError>,
    pub(super) statement: StatementRef,
    pub(super) command: Option<u16>,
}

/// What an answer is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Preparation(StatementRef),
    Statement(StatementRef),
    Sync,
}

impl Pipeline {
    /// The server skips what was sent before the next Sync: no answer to it comes.
    pub(super) fn skip(&mut self) {
        while self.owed.front().is_some_and(|owed| owed.of != Of::Sync) {
            self.owed.pop_front();
        }
    }
}
