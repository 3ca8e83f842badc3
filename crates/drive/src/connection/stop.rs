//! A flag by which one thread tells others to stop waiting for a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by all its clones; once set, it stays set.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// From now on nobody waits any longer.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is time to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
