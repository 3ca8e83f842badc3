//! A flag with which one thread makes others stop waiting for a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by all its clones; once set, it stays set.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Sets the flag; all waits end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is time to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
