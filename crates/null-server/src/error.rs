//! Errors of a null server.

/// An error as one line for the person who started the server.
#[derive(Debug, thiserror::Error)]
pub enum NullServerError {
    /// The settings or the script are wrong.
    #[error("{0}")]
    Plan(String),
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// The attempted action.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The server's thread has ended.
    #[error("the null server is not running any more")]
    Gone,
}

impl NullServerError {
    /// For `map_err`: names the action that the system refused.
    pub(crate) fn system<E: Into<std::io::Error>>(
        what: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::System { what: what.into(), source: source.into() }
    }
}
