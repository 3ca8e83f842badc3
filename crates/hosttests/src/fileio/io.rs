//! The interface that all ways to make file requests have in common.

use super::requests::Request;
use crate::error::HostError;
use crate::meter::Meter;
use crate::record::Done;
use loadstone_measure::Nanos;

/// A file was synchronised.
pub(super) const SYNCED: Done =
    Done { events: 0, reads: 0, writes: 0, syncs: 1, bytes_read: 0, bytes_written: 0 };

/// A way to make requests, one thread's.
pub(super) trait Io {
    /// Makes the request that is due, or begins, at `from`; it is counted when it has ended.
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError>;

    /// Waits for requests that are under way.
    fn finish(&mut self, _meter: &mut Meter) -> Result<(), HostError> {
        Ok(())
    }
}
