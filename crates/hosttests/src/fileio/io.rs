//! The interface that all kinds of file requests have in common.

use super::requests::Request;
use crate::error::HostError;
use crate::meter::Meter;
use crate::record::Done;
use loadstone_measure::Nanos;

/// A file was synchronised.
pub(super) const SYNCED: Done =
    Done { events: 0, reads: 0, writes: 0, syncs: 1, bytes_read: 0, bytes_written: 0 };

/// One thread's way to make requests.
pub(super) trait Io {
    /// Makes the request that is due, or starts, at `from`; it is counted when it has ended.
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError>;

    /// Waits for pending requests.
    fn finish(&mut self, _meter: &mut Meter) -> Result<(), HostError> {
        Ok(())
    }
}
