//! A lease: a load started by another machine ends unless it is renewed.

use loadstone_drive::{Clock, Failure, FailureKind};
use loadstone_measure::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// When a load was last renewed, and how long it continues after that.
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

    /// Renews the lease.
    pub(super) fn renew(&self) {
        self.renewed_ns.store(self.clock.now().0, Ordering::Relaxed);
    }

    /// Why the load has to end, if the lease has run out.
    pub(super) fn ran_out(&self) -> Option<Failure> {
        let limit = self.limit?;
        let silent_ns = self.clock.now().0.saturating_sub(self.renewed_ns.load(Ordering::Relaxed));
        let text = format!("no sign of life for {} s of whoever started it", limit.seconds());
        (silent_ns >= limit.0).then(|| Failure::new(FailureKind::Abandoned, None, text))
    }
}
