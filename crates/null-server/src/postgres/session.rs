//! What a PostgreSQL connection knows between two messages.

use super::messages::{put_complete, put_error, put_ready};
use crate::answer::{Bytes, Reply, Then};
use crate::library::{Effect, Known};
use crate::log::{Kind, Outcome};
use std::collections::HashMap;

/// A prepared statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement {
    pub(super) known: Known,
    pub(super) params: u16,
}

/// The state of a connection that is logged in.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) statements: HashMap<Vec<u8>, Statement>,
    /// The statement of the unnamed portal.
    pub(super) bound: Option<Statement>,
    /// Idle, in a transaction, or in one that has failed: `I`, `T`, `E`.
    pub(super) status: u8,
    /// After an error everything up to the next Sync is skipped.
    pub(super) skips: bool,
    /// The lines that a COPY has sent so far, while one is going on.
    pub(super) copied: Option<u64>,
    /// The answer to the messages since the last Sync or query.
    pub(super) out: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) outcome: Outcome,
    pub(super) errno: u16,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            statements: HashMap::new(),
            bound: None,
            status: b'I',
            skips: false,
            copied: None,
            out: Vec::new(),
            kind: Kind::Other,
            outcome: Outcome::Done,
            errno: 0,
        }
    }

    pub(super) fn fail(&mut self, errno: u16, state: &str, text: &str) {
        put_error(&mut self.out, "ERROR", state, text);
        (self.outcome, self.errno, self.skips) = (Outcome::Error, errno, true);
        if self.status == b'T' {
            self.status = b'E';
        }
    }

    /// A statement without rows that changes nothing but the transaction has been executed.
    pub(super) fn take_effect(&mut self, effect: Effect) {
        let tag = match effect {
            Effect::Nothing => return put_complete(&mut self.out, "SET"),
            Effect::Opens => "BEGIN",
            Effect::Ends if self.status == b'E' => "ROLLBACK",
            Effect::Ends => "COMMIT",
        };
        self.status = if effect == Effect::Opens { b'T' } else { b'I' };
        put_complete(&mut self.out, tag);
    }

    /// The whole answer, with the ReadyForQuery that ends it.
    pub(super) fn ready(&mut self) -> Reply {
        put_ready(&mut self.out, self.status);
        self.skips = false;
        self.answer()
    }

    /// The answer so far.
    pub(super) fn answer(&mut self) -> Reply {
        Reply {
            kind: std::mem::replace(&mut self.kind, Kind::Other),
            outcome: std::mem::replace(&mut self.outcome, Outcome::Done),
            errno: std::mem::take(&mut self.errno),
            bytes: Bytes::Own(std::mem::take(&mut self.out)),
            then: Then::GoOn,
        }
    }
}
