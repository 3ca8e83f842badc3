//! A lease: a load that another machine started ends when nobody renews it.

use loadstone_drive::{Clock, Failure, FailureKind};
use loadstone_measure::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// When somebody last wanted a load, and how long it goes on after that.
#[derive(Debug)]
pub(super) struct Lease {
    clock: Clock,
    limit: Option<Nanos>,
    renewed_ns: AtomicU64,
}

impl Lease {
    /// Without `limit_s` it never runs out.
    pub(super) fn new(limit_s: Option<f64>) -> Self {
        let clock = Clock::start();
        Self { clock, limit: limit_s.map(Nanos::from_seconds), renewed_ns: AtomicU64::new(0) }
    }

    /// A sign of life.
    pub(super) fn renew(&self) {
        self.renewed_ns.store(self.clock.now().0, Ordering::Relaxed);
    }

    /// Why the load has to end, where it has run out.
    pub(super) fn ran_out(&self) -> Option<Failure> {
        let limit = self.limit?;
        let silent_ns = self.clock.now().0.saturating_sub(self.renewed_ns.load(Ordering::Relaxed));
        let text = format!("no sign of life for {} s of whoever started it", limit.seconds());
        (silent_ns >= limit.0).then(|| Failure::new(FailureKind::Abandoned, None, text))
    }
}
