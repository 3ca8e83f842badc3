//! Due times that ask nobody: one shard's share of an open loop.

use super::RateCurve;
use crate::random::{Purpose, Random};
use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

/// How the gaps between events are spread.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gaps {
    /// As of many users who know nothing of each other: the number in any time is Poisson's.
    #[default]
    Poisson,
    /// All the same.
    #[serde(rename = "uniform")]
    Even,
}

/// The due times of one shard's events, each later than the one before or equal to it.
///
/// Events are spread along the rate's integral, where they are one apart (or exponentially spread with
/// mean one), and carried over to time by its inverse: so a ramp needs no steps. With even gaps, shard
/// `i` of `n` has every n-th event and all together make one even row; n independent Poisson streams
/// make one of their summed rate.
#[derive(Clone, Debug)]
pub struct OpenSchedule {
    curve: RateCurve,
    /// Where on the rate's integral the next event stands.
    place: f64,
    gaps: Source,
    next: Nanos,
}

#[derive(Clone, Debug)]
enum Source {
    /// Counted in whole numbers, so that no error adds up.
    Even {
        number: u64,
        stride: u64,
    },
    Poisson {
        random: Random,
        mean: f64,
    },
}

impl OpenSchedule {
    /// Shard `shard` of `shards`.
    #[must_use]
    pub fn new(curve: RateCurve, gaps: Gaps, seed: u64, shard: u64, shards: u64) -> Self {
        let gaps = match gaps {
            Gaps::Even => Source::Even { number: shard, stride: shards },
            Gaps::Poisson => Source::Poisson {
                random: Random::new(seed, Purpose::Arrivals, &[shard]),
                mean: shards as f64,
            },
        };
        let mut schedule = Self { curve, place: 0.0, gaps, next: Nanos::ZERO };
        schedule.place = match &mut schedule.gaps {
            Source::Even { number, .. } => *number as f64,
            Source::Poisson { random, mean } => exponential(random, *mean),
        };
        schedule.next = curve.when(schedule.place);
        schedule
    }

    /// When the next event is due, since the load began.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// That event has become due: on to the one after it.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.gaps {
            Source::Even { number, stride } => {
                *number += *stride;
                self.place = *number as f64;
            }
            Source::Poisson { random, mean } => self.place += exponential(random, *mean),
        }
        self.next = self.curve.when(self.place);
    }
}

/// By inversion; `1 - unit` is never 0.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    -(1.0 - random.unit()).ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due_within(gaps: Gaps, rate: f64, shards: u64, seconds: f64) -> Vec<Nanos> {
        let end = Nanos::from_seconds(seconds);
        let mut all = Vec::new();
        for shard in 0..shards {
            let curve = RateCurve::new(rate, None, Nanos::ZERO);
            let mut schedule = OpenSchedule::new(curve, gaps, 7, shard, shards);
            while schedule.next() < end {
                all.push(schedule.next());
                schedule.advance();
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn even_gaps_are_even_over_all_shards_and_their_number_is_exact() {
        for shards in [1, 2, 3] {
            let due = due_within(Gaps::Even, 20_000.0, shards, 3.0);
            assert_eq!(due.len(), 60_000);
            assert!(due.windows(2).all(|pair| (pair[1] - pair[0]).0.abs_diff(50_000) <= 1));
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        for shards in [1, 4] {
            let due = due_within(Gaps::Poisson, 10_000.0, shards, 20.0);
            let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]).seconds()).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let deviation = (square / gaps.len() as f64).sqrt();
            // 200,000 gaps: three standard errors of the mean are 0.7 %.
            assert!((mean * 10_000.0 - 1.0).abs() < 0.01, "{mean}");
            assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation} {mean}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_times() {
        let due = || due_within(Gaps::Poisson, 100.0, 2, 1.0);
        assert_eq!(due(), due());
    }
}
