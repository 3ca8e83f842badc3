//! The traits that all host tests implement.

use crate::error::HostError;
use crate::meter::Meter;
use loadstone_measure::Nanos;

/// Whether a thread continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It may take the next event.
    Event,
    /// Nothing is left for this thread.
    Nothing,
}

/// A test, shared by its threads.
pub(crate) trait Test: Send + Sync {
    /// The work of thread number `thread`.
    fn work(&self, thread: u32) -> Result<Box<dyn Work + '_>, HostError>;
}

/// One thread's part of a test.
pub(crate) trait Work {
    /// Runs one event and counts it: it is due, or starts, at `from`. `Nothing` without having
    /// counted one means that there was none.
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError>;

    /// No more events start: finishes pending ones.
    fn finish(&mut self, _meter: &mut Meter) -> Result<(), HostError> {
        Ok(())
    }
}
