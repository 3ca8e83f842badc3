//! What can go wrong with a null server.

/// A line for the person who started it.
#[derive(Debug, thiserror::Error)]
pub enum NullServerError {
    /// The settings or the script are wrong.
    #[error("{0}")]
    Plan(String),
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Its thread is gone.
    #[error("the null server is not running any more")]
    Gone,
}

impl NullServerError {
    /// For `map_err`: what was tried when the system refused.
    pub(crate) fn system<E: Into<std::io::Error>>(
        what: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::System { what: what.into(), source: source.into() }
    }
}
