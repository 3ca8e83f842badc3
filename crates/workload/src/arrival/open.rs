//! The schedule of an open loop: the due times of one shard's share of its events.

use super::rate::RateCurve;
use crate::random::{Purpose, Random};
use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

/// How the gaps between events are distributed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gaps {
    /// As of many independent users: the number of events in any period has a Poisson distribution.
    #[default]
    Poisson,
    /// All gaps are equal.
    #[serde(rename = "uniform")]
    Even,
}

/// The due times of one shard's events, in non-decreasing order.
///
/// Events are placed along the rate's integral, where they are one apart (or exponentially
/// distributed with mean one), and mapped to time by its inverse: so a ramp needs no steps. With
/// even gaps, shard `i` of `n` has every n-th event and all together form one even sequence; n
/// independent Poisson streams form one with their summed rate.
#[derive(Clone, Debug)]
pub struct OpenSchedule {
    curve: RateCurve,
    /// The next event's position on the rate's integral.
    place: f64,
    /// The start of the current curve: its time, and its position on the integral.
    since: (Nanos, f64),
    gaps: Source,
    next: Nanos,
}

#[derive(Clone, Debug)]
enum Source {
    /// Counted in whole numbers, so that no error accumulates.
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
    /// The schedule of shard `shard` of `shards`.
    #[must_use]
    pub fn new(curve: RateCurve, gaps: Gaps, seed: u64, shard: u64, shards: u64) -> Self {
        let gaps = match gaps {
            Gaps::Even => Source::Even { number: shard, stride: shards },
            Gaps::Poisson => Source::Poisson {
                random: Random::new(seed, Purpose::Arrivals, &[shard]),
                mean: shards as f64,
            },
        };
        let since = (Nanos::ZERO, 0.0);
        let mut schedule = Self { curve, place: 0.0, since, gaps, next: Nanos::ZERO };
        schedule.place = match &mut schedule.gaps {
            Source::Even { number, .. } => *number as f64,
            Source::Poisson { random, mean } => exponential(random, *mean),
        };
        schedule.next = schedule.due();
        schedule
    }

    /// From `at` on, since the start of the load, `rate` events per second are due over all shards.
    /// What was due before stays due; the current gap is stretched or shortened.
    pub fn change_rate(&mut self, at: Nanos, rate: f64) {
        let (since, before) = self.since;
        self.since = (at, before + self.curve.events(at - since));
        self.curve = RateCurve::new(rate, None, Nanos::ZERO);
        self.next = self.due();
    }

    /// When the next event is due, since the start of the load.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// That event has become due: moves on to the one after it.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.gaps {
            Source::Even { number, stride } => {
                *number += *stride;
                self.place = *number as f64;
            }
            Source::Poisson { random, mean } => self.place += exponential(random, *mean),
        }
        self.next = self.due();
    }

    #[inline]
    fn due(&self) -> Nanos {
        let (since, before) = self.since;
        since + self.curve.when((self.place - before).max(0.0))
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
    fn a_rate_that_is_changed_holds_from_then_on_and_loses_no_event() {
        let (at, end) = (Nanos::from_seconds(2.0), Nanos::from_seconds(5.0));
        for shards in [1, 3] {
            let mut due = Vec::new();
            for shard in 0..shards {
                let curve = RateCurve::new(1_000.0, None, Nanos::ZERO);
                let mut schedule = OpenSchedule::new(curve, Gaps::Even, 7, shard, shards);
                for until in [at, end] {
                    while schedule.next() < until {
                        due.push(schedule.next());
                        schedule.advance();
                    }
                    schedule.change_rate(at, 4_000.0);
                }
            }
            due.sort_unstable();
            // 2,000 in two seconds, then 12,000 in three; a millisecond, then a quarter of one.
            assert!(due.len().abs_diff(14_000) <= 1, "{}", due.len());
            let gap = |number: usize| (due[number + 1] - due[number]).0;
            assert!((0..1_998).all(|number| gap(number).abs_diff(1_000_000) <= 1));
            assert!((2_001..13_998).all(|number| gap(number).abs_diff(250_000) <= 1));
        }
    }

    #[test]
    fn a_poisson_rate_that_is_changed_twice_has_the_rate_of_each_part() {
        let curve = RateCurve::new(20_000.0, None, Nanos::ZERO);
        let mut schedule = OpenSchedule::new(curve, Gaps::Poisson, 7, 0, 1);
        for (from, rate) in [(0, 20_000.0), (5, 2_000.0), (15, 40_000.0)] {
            let (begin, end) = (Nanos::from_seconds(f64::from(from)), f64::from(from) + 5.0);
            while schedule.next() < begin {
                schedule.advance();
            }
            schedule.change_rate(begin, rate);
            let mut count = 0;
            while schedule.next() < Nanos::from_seconds(end) {
                count += 1;
                schedule.advance();
            }
            // Five standard deviations of the count.
            let (expected, count) = (5.0 * rate, f64::from(count));
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{count} {expected}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_times() {
        let due = || due_within(Gaps::Poisson, 100.0, 2, 1.0);
        assert_eq!(due(), due());
    }
}
