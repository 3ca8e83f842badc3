//! Waiting for the next record of whatever writes some: a step, or a load of tables.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// What waiting for a record brought.
#[derive(Debug)]
pub enum Next<R = super::Record> {
    /// The next record.
    Record(Box<R>),
    /// None came within the time.
    Timeout,
    /// There are no more.
    Closed,
}

/// Waits no longer than `timeout`.
pub fn next_record<R>(records: &Receiver<R>, timeout: Duration) -> Next<R> {
    match records.recv_timeout(timeout) {
        Ok(record) => Next::Record(Box::new(record)),
        Err(RecvTimeoutError::Timeout) => Next::Timeout,
        Err(RecvTimeoutError::Disconnected) => Next::Closed,
    }
}
