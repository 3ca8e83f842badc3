//! The traits that all host tests implement.

use crate::error::HostError;
use crate::meter::Meter;
use loadstone_measure::Nanos;

/// Whether a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// With the next event.
    Event,
    /// Nothing is left for this thread.
    Nothing,
}

/// A test as its threads share it.
pub(crate) trait Test: Send + Sync {
    /// What thread number `thread` does.
    fn work(&self, thread: u32) -> Result<Box<dyn Work + '_>, HostError>;
}

/// One thread's part of a test.
pub(crate) trait Work {
    /// Does one event, and counts it: it is due, or begins, at `from`. `Nothing` without having
    /// counted one means that there was none.
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError>;

    /// No further event begins: what is under way is finished.
    fn finish(&mut self, _meter: &mut Meter) -> Result<(), HostError> {
        Ok(())
    }
}
