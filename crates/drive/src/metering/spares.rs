//! Histograms and users' shares that go round: a shard fills them, the coordinator adds them up and
//! empties them, and the shard gets them back.
//!
//! A histogram takes 270 KB, and the shares of 4,000 users 125. What is allocated comes from the
//! system and goes back to it: each of its pages costs a fault when it is first used, and each
//! release interrupts every core that runs one of the process's threads. On the event loop that is
//! time in which answers wait.

use crossbeam_channel::{Receiver, Sender, unbounded};
use loadstone_measure::{Latency, LatencyRecorder, Share};

/// Empty histograms and shares. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Spares {
    given: Sender<Latency>,
    taken: Receiver<Latency>,
    shares_given: Sender<Vec<Share>>,
    shares_taken: Receiver<Vec<Share>>,
}

impl Default for Spares {
    fn default() -> Self {
        let (given, taken) = unbounded();
        let (shares_given, shares_taken) = unbounded();
        Self { given, taken, shares_given, shares_taken }
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

    /// Takes out the shares of all users; they start again from zero.
    pub(crate) fn swap_shares(&self, shares: &mut Vec<Share>) -> Vec<Share> {
        let empty = self.shares_taken.try_recv();
        let empty = empty.unwrap_or_else(|_| vec![Share::default(); shares.len()]);
        std::mem::replace(shares, empty)
    }

    /// These shares are no longer needed.
    pub(crate) fn give_back_shares(&self, mut shares: Vec<Share>) {
        if !shares.is_empty() {
            shares.fill(Share::default());
            self.shares_given.send(shares).ok();
        }
    }

    /// How many histograms there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.taken.len()
    }

    /// How many users' shares have come back.
    #[cfg(test)]
    pub(crate) fn shares_count(&self) -> usize {
        self.shares_taken.len()
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
