//! An answer of the null server on its way to the client.

use crate::library::Library;
use crate::log::{Kind, Outcome, Record};
use crate::packet::Shape;
use crate::rows::Form;

/// The bytes of an answer.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// From the library, shared by all connections.
    Shared { answer: u32, form: Form, shape: Shape },
    /// Owned by this answer.
    Own(Vec<u8>),
}

impl Bytes {
    pub(crate) fn get<'a>(&'a self, library: &'a Library) -> &'a [u8] {
        match self {
            Self::Shared { answer, form, shape } => library.bytes(*answer, *form, *shape),
            Self::Own(bytes) => bytes,
        }
    }
}

/// What happens after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next command is read.
    GoOn,
    /// Records follow: the client has asked for TLS.
    Encrypt,
    /// The connection is closed: it was refused.
    Close,
    /// The connection is closed: the script asks for it.
    Drop,
}

/// The answer to a command.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) errno: u16,
    pub(crate) bytes: Bytes,
    pub(crate) then: Then,
}

impl Reply {
    pub(crate) fn own(kind: Kind, outcome: Outcome, bytes: Vec<u8>) -> Self {
        Self { kind, outcome, errno: 0, bytes: Bytes::Own(bytes), then: Then::GoOn }
    }

    /// Whether the script applies to it.
    pub(crate) fn is_load(&self) -> bool {
        is_load(self.kind)
    }
}

pub(crate) fn is_load(kind: Kind) -> bool {
    matches!(kind, Kind::Execute | Kind::Query)
}

/// An answer that is due, or partly sent.
#[derive(Debug)]
pub(crate) struct Answering {
    pub(crate) record: Record,
    pub(crate) bytes: Bytes,
    pub(crate) sent: usize,
    /// When the next piece is due.
    pub(crate) next_ns: u64,
    /// It had to wait until it was due.
    pub(crate) timed: bool,
    pub(crate) then: Then,
}
