//! Histograms that go round: a shard fills them, the coordinator adds them up and empties them, and
//! the shard gets them back.
//!
//! A histogram takes 270 KB. One that is allocated comes from the system and goes back to it: each
//! of its pages costs a fault when it is first used, and each release interrupts every core that
//! runs one of the process's threads. On the event loop that is time in which answers wait.

use crossbeam_channel::{Receiver, Sender, unbounded};
use loadstone_measure::{Latency, LatencyRecorder};

/// Empty histograms. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Spares {
    given: Sender<Latency>,
    taken: Receiver<Latency>,
}

impl Default for Spares {
    fn default() -> Self {
        let (given, taken) = unbounded();
        Self { given, taken }
    }
}

impl Spares {
    /// A histogram without values: a new one only if none has come back.
    pub(crate) fn take(&self) -> Latency {
        self.taken.try_recv().unwrap_or_default()
    }

    /// A recorder without values.
    pub(crate) fn recorder(&self) -> LatencyRecorder {
        LatencyRecorder::from(self.take())
    }

    /// Takes out what was recorded; recording goes on in a spare one.
    pub(crate) fn swap(&self, recorder: &mut LatencyRecorder) -> Latency {
        recorder.swap(self.take())
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.taken.len()
    }

    /// These are no longer needed. They are emptied here, as that takes time.
    pub(crate) fn give_back(&self, latencies: impl IntoIterator<Item = Latency>) {
        for mut latency in latencies {
            latency.clear();
            // This cannot fail, as the receiver is here.
            self.given.send(latency).ok();
        }
    }
}
