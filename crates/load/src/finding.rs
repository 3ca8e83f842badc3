//! What a look at a silent statement has found.

use crate::record::Holder;
use loadstone_drive::client::Halt;

/// What a look has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    pub(crate) signs: Signs,
    pub(crate) waits_for: String,
    pub(crate) holder: Option<Holder>,
    /// The statement's own number, where the server gives it one: then no later one can be ended in its place.
    pub(crate) query: Option<String>,
    /// The server has our statement under this connection.
    pub(crate) is_ours: bool,
}

/// What was seen of a silent statement over another connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Somebody else's lock is what it waits for.
    pub(crate) waits: bool,
    /// It can be ended, and may be.
    pub(crate) endable: bool,
    /// Whoever holds what it waits for is a connection of this load that comes on.
    pub(crate) holder_works: bool,
    /// Figures that it alone moves; `None`: the other connection was not answered.
    pub(crate) own: Option<Vec<String>>,
    /// What the whole server has done, in pages, where its own figures may not show its work.
    pub(crate) server: Option<u64>,
}

impl Finding {
    /// There is nothing at the server that has figures.
    pub(crate) fn of_nothing(waits_for: &str) -> Self {
        let signs = Signs { own: Some(Vec::new()), ..Signs::default() };
        Self { signs, waits_for: waits_for.to_owned(), ..Self::default() }
    }
}

/// An answer that is an error, as opposed to none.
pub(crate) fn is_refusal(halt: &Halt) -> bool {
    !halt.is_loss() && matches!(halt, Halt::Failed(failure) if failure.sql_state.is_some())
}
