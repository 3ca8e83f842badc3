//! Waiting for the next record of a step or of a load of tables.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The result of waiting for a record.
#[derive(Debug)]
pub enum Next<R = super::Record> {
    /// The next record.
    Record(Box<R>),
    /// None arrived in time.
    Timeout,
    /// There are no more.
    Closed,
}

/// Waits for at most `timeout`.
pub fn next_record<R>(records: &Receiver<R>, timeout: Duration) -> Next<R> {
    match records.recv_timeout(timeout) {
        Ok(record) => Next::Record(Box::new(record)),
        Err(RecvTimeoutError::Timeout) => Next::Timeout,
        Err(RecvTimeoutError::Disconnected) => Next::Closed,
    }
}
