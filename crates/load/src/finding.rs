//! What the watchdog found out about a silent statement.

use crate::record::Holder;
use loadstone_drive::client::Halt;

/// What the watchdog found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    pub(crate) signs: Signs,
    pub(crate) waits_for: String,
    pub(crate) holder: Option<Holder>,
    /// The statement's own id, if the server has one: it keeps a later statement from being killed
    /// instead.
    pub(crate) query: Option<String>,
    /// The server is running our statement on this connection.
    pub(crate) is_ours: bool,
}

/// What was seen of a silent statement over another connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// It waits for another session's lock.
    pub(crate) waits: bool,
    /// It can be killed, and may be.
    pub(crate) endable: bool,
    /// The lock's holder is a connection of this load that makes progress.
    pub(crate) holder_works: bool,
    /// Figures that only this statement changes; `None`: the other connection got no answer.
    pub(crate) own: Option<Vec<String>>,
    /// Pages that the whole server has processed, if the statement's own figures may not show its
    /// work.
    pub(crate) server: Option<u64>,
}

impl Finding {
    /// The server shows no figures of it.
    pub(crate) fn of_nothing(waits_for: &str) -> Self {
        let signs = Signs { own: Some(Vec::new()), ..Signs::default() };
        Self { signs, waits_for: waits_for.to_owned(), ..Self::default() }
    }
}

/// The server answered with an error, rather than not at all.
pub(crate) fn is_refusal(halt: &Halt) -> bool {
    !halt.is_loss() && matches!(halt, Halt::Failed(failure) if failure.sql_state.is_some())
}
