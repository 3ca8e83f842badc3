//! The classes `Drive`, `Load` and `HostTest` for Python: running work.

use crate::errors;
use crate::json::to_json;
use loadstone_drive::Next;
use loadstone_hosttests as hosttests;
use loadstone_measure::Nanos;
use pyo3::prelude::*;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long one wait may last before Python checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A running step.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct Drive {
    inner: loadstone_drive::Drive,
}

/// A running bulk load.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct Load {
    inner: loadstone_load::Load,
}

/// A running host test.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct HostTest {
    inner: hosttests::HostTest,
}

impl HostTest {
    pub(crate) fn new(inner: hosttests::HostTest) -> Self {
        Self { inner }
    }
}

impl Drive {
    pub(crate) fn new(inner: loadstone_drive::Drive) -> Self {
        Self { inner }
    }
}

impl Load {
    pub(crate) fn new(inner: loadstone_load::Load) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Drive {
    /// The next record as JSON, or `None` if the time is up or there are no more.
    fn next(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        next_record(py, timeout_s, |timeout| self.inner.next(timeout))
    }

    /// From now on this many events per second are due. Raises `PlanError` in a closed loop.
    fn set_rate(&self, rate: f64) -> PyResult<()> {
        self.inner.set_rate(rate).map_err(errors::plan)
    }

    /// From now on only this many users start events. Raises `PlanError` if the step has fewer.
    fn set_users(&self, users: u32) -> PyResult<()> {
        self.inner.set_users(users).map_err(errors::plan)
    }

    /// From now on no events start (`True`), or they start again (`False`).
    fn hold(&self, held: bool) {
        self.inner.hold(held);
    }

    /// Asks for a clean end.
    fn stop(&self) {
        self.inner.stop();
    }

    /// Starts the load of a step that waits for it, at this instant of CLOCK_MONOTONIC.
    fn begin_at(&self, monotonic_ns: u64) {
        self.inner.begin_at(Nanos(monotonic_ns));
    }

    /// Renews the lease of a step that has one.
    fn renew(&self) {
        self.inner.renew();
    }
}

#[pymethods]
impl Load {
    /// The next record as JSON, or `None` if the time is up or there are no more.
    fn next(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        next_record(py, timeout_s, |timeout| self.inner.next(timeout))
    }

    /// Asks for a clean end.
    fn stop(&self) {
        self.inner.stop();
    }

    /// Renews the lease of a load that has one.
    fn renew(&self) {
        self.inner.renew();
    }
}

#[pymethods]
impl HostTest {
    /// The next record as JSON, or `None` if the time is up or there are no more.
    fn next(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        next_record(py, timeout_s, |timeout| match self.inner.next(timeout) {
            hosttests::Next::Record(record) => Next::Record(record),
            hosttests::Next::Timeout => Next::Timeout,
            hosttests::Next::Closed => Next::Closed,
        })
    }

    /// Asks for a clean end.
    fn stop(&self) {
        self.inner.stop();
    }
}

/// Waits without holding the interpreter, and wakes twice a second so that Ctrl-C works.
fn next_record<Record: Serialize + Send>(
    py: Python<'_>,
    timeout_s: f64,
    wait: impl Fn(Duration) -> Next<Record> + Sync,
) -> PyResult<Option<String>> {
    let timeout_s = if timeout_s.is_nan() { 0.0 } else { timeout_s.clamp(0.0, 86_400.0) };
    let timeout = Duration::from_secs_f64(timeout_s);
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match py.detach(|| wait(left.min(POLL_INTERVAL))) {
            Next::Record(record) => return to_json(&record).map(Some),
            Next::Closed => return Ok(None),
            Next::Timeout => py.check_signals()?,
        }
        if left.is_zero() {
            return Ok(None);
        }
    }
}
