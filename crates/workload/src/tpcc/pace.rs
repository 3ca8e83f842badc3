//! Keying and think times of TPC-C's users (clause 5.2.5).

use loadstone_measure::Nanos;

use crate::random::{Purpose, Random};

use super::deck::Kind;

/// No think time is longer than this many means (clause 5.2.5.4).
const LONGEST_THINK: f64 = 10.0;

/// How long a user waits before and after its transactions.
#[derive(Debug)]
pub(super) struct Pace {
    random: Random,
}

impl Pace {
    pub(super) fn new(seed: u64, user: u64) -> Self {
        Self { random: Random::new(seed, Purpose::Pauses, &[user]) }
    }

    /// The time from the end of one transaction, if there was one, to the start of the next.
    pub(super) fn between(&mut self, before: Option<Kind>, next: Kind) -> Nanos {
        let think_s = before.map_or(0.0, |kind| self.think_s(kind));
        Nanos::from_seconds(think_s + keying_s(next))
    }

    /// Negative exponential (clause 5.2.5.4).
    fn think_s(&mut self, kind: Kind) -> f64 {
        let mean = mean_think_s(kind);
        // 1 - [0, 1) always has a logarithm.
        let drawn = -(1.0 - self.random.unit()).ln() * mean;
        drawn.min(LONGEST_THINK * mean)
    }
}

/// Clause 5.2.5.2: the minimum.
fn keying_s(kind: Kind) -> f64 {
    match kind {
        Kind::NewOrder => 18.0,
        Kind::Payment => 3.0,
        Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2.0,
    }
}

/// Clause 5.2.5.7: the minimum mean.
fn mean_think_s(kind: Kind) -> f64 {
    match kind {
        Kind::NewOrder | Kind::Payment => 12.0,
        Kind::OrderStatus => 10.0,
        Kind::Delivery | Kind::StockLevel => 5.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_have_their_mean_and_their_end() {
        let mut pace = Pace::new(1, 0);
        for (kind, mean) in
            [(Kind::NewOrder, 12.0), (Kind::OrderStatus, 10.0), (Kind::Delivery, 5.0)]
        {
            let drawn: Vec<f64> = (0..20_000)
                .map(|_| pace.between(Some(kind), Kind::Payment).seconds() - 3.0)
                .collect();
            let found = drawn.iter().sum::<f64>() / 20_000.0;
            assert!((found / mean - 1.0).abs() < 0.05, "{kind:?}: {found}");
            assert!(drawn.iter().all(|think| (0.0..=10.0 * mean + 1e-6).contains(think)));
        }
        assert_eq!(pace.between(None, Kind::NewOrder), Nanos::from_seconds(18.0));
    }
}
