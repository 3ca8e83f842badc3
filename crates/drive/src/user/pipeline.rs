//! What was sent in a pipeline and is not answered.

use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ServerError};
use loadstone_workload::StatementRef;
use std::collections::VecDeque;

/// The pipeline of an event.
#[derive(Default)]
pub(super) struct Pipeline {
    /// Whose answers are due, in their order.
    pub(super) owed: VecDeque<Owed>,
    /// The statements whose preparation is owed, by the numbers to execute them by.
    preparing: Vec<(StatementRef, u32)>,
    /// What the statement did that was answered last.
    pub(super) last: Option<Completion>,
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
    /// The number to execute a statement by that was queued to be prepared since the last Sync.
    pub(super) fn prepared_here(&self, statement: StatementRef) -> Option<u32> {
        let found = self.preparing.iter().find(|(prepared, _)| *prepared == statement);
        found.map(|(_, id)| *id)
    }

    /// A statement is queued to be prepared.
    pub(super) fn prepares(&mut self, statement: StatementRef, id: u32) {
        self.preparing.push((statement, id));
    }

    /// A Sync is queued: what stands before it may be skipped, what comes behind it is not.
    pub(super) fn begin_behind_sync(&mut self) {
        self.preparing.clear();
    }

    /// The server skips what was sent before the next Sync: no answer to it comes.
    pub(super) fn skip(&mut self) {
        while self.owed.front().is_some_and(|owed| owed.of != Of::Sync) {
            self.owed.pop_front();
        }
    }
}
