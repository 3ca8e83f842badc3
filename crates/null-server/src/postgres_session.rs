//! What a PostgreSQL connection knows between two messages.

use crate::answer::{Bytes, Reply, Then};
use crate::library::{Effect, Known};
use crate::log::{Kind, Outcome};
use crate::postgres_catalog::Shown;
use crate::postgres_messages::{put_complete, put_error, put_ready};
use std::collections::HashMap;
use std::sync::Arc;

/// A prepared statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) does: Does,
    pub(crate) params: u16,
}

/// What executing a statement does.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    Load(Known),
    /// It tells something about the server.
    Show(Arc<Shown>),
}

/// The state of a connection that is logged in.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) statements: HashMap<Vec<u8>, Statement>,
    /// The statement of the unnamed portal.
    pub(crate) bound: Option<Statement>,
    /// Idle, in a transaction, or in one that has failed: `I`, `T`, `E`.
    pub(crate) status: u8,
    /// After an error everything up to the next Sync is skipped.
    pub(crate) skips: bool,
    /// The lines that a COPY has sent so far, while one is going on.
    pub(crate) copied: Option<u64>,
    /// The answer to the messages since the last Sync or query.
    pub(crate) out: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) errno: u16,
}

impl Session {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn fail(&mut self, errno: u16, state: &str, text: &str) {
        put_error(&mut self.out, "ERROR", state, text);
        (self.outcome, self.errno, self.skips) = (Outcome::Error, errno, true);
        if self.status == b'T' {
            self.status = b'E';
        }
    }

    /// A statement without rows that changes nothing but the transaction has been executed.
    pub(crate) fn take_effect(&mut self, effect: Effect) {
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
    pub(crate) fn ready(&mut self) -> Reply {
        put_ready(&mut self.out, self.status);
        self.skips = false;
        self.answer()
    }

    /// The answer so far.
    pub(crate) fn answer(&mut self) -> Reply {
        Reply {
            kind: std::mem::replace(&mut self.kind, Kind::Other),
            outcome: std::mem::replace(&mut self.outcome, Outcome::Done),
            errno: std::mem::take(&mut self.errno),
            bytes: Bytes::Own(std::mem::take(&mut self.out)),
            then: Then::GoOn,
        }
    }
}
