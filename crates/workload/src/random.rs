//! Random streams: one for each virtual user and purpose, the same on every machine and shard count.
//!
//! The generator is xoshiro256++ seeded through SplitMix64, both published with reference output,
//! so a seed means the same keys in every version. Streams of different purposes are independent: a
//! longer `c` string or one more table does not change the drawn keys.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The purpose of a stream. The numbers are part of what a seed means: never change or reuse one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Which rows a user touches.
    Keys = 1,
    /// Which tables a user touches.
    Tables = 2,
    /// What a user writes.
    Values = 3,
    /// The loaded rows of the tables.
    Rows = 4,
    /// When events are due.
    Arrivals = 5,
    /// Ids of new rows, shared by all users.
    InsertIds = 6,
    /// Constants drawn once for a whole step, shared by all users.
    Constants = 7,
    /// Which of several kinds of events a user runs.
    Kinds = 8,
    /// How long a user waits between events.
    Pauses = 9,
    /// The seeds of a mix's members except the first.
    Members = 10,
    /// Which member of a mix an event is of.
    Lots = 11,
    /// Which events are logged.
    Samples = 12,
    /// How long a user waits before it tries to connect again.
    Backoff = 13,
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of this seed, purpose and place (a user; a table and a row; a shard).
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, place: &[u64]) -> Self {
        let start = mix(mix(seed) ^ purpose as u64);
        let state = place.iter().fold(start, |state, part| mix(state ^ part));
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number of `0..bound`. Scaled from 64 bits, so one in `2^64 / bound` draws is off: for the
    /// bounds in use, below 2^40, no run can notice that.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of `least..=greatest`.
    #[inline]
    pub fn within(&mut self, least: u64, greatest: u64) -> u64 {
        least + self.below(greatest - least + 1)
    }

    /// A number of `[0, 1)`, in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// The finalizer of SplitMix64: each input bit reaches each output bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a seed means must not change. The numbers were computed by a separate program, in
    /// another language, from the published descriptions of SplitMix64 and xoshiro256++.
    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let first = |purpose, place: &[u64]| Random::new(42, purpose, place).bits();
        assert_eq!(first(Purpose::Keys, &[0]), KEYS_0);
        assert_eq!(first(Purpose::Values, &[0]), VALUES_0);
        assert_eq!(first(Purpose::Rows, &[1, 1]), ROWS_1_1);
    }

    const KEYS_0: u64 = 7_407_734_607_844_313_177;
    const VALUES_0: u64 = 11_264_311_484_434_346_951;
    const ROWS_1_1: u64 = 13_992_624_826_711_194_195;

    #[test]
    fn users_purposes_and_seeds_have_streams_of_their_own() {
        let mut firsts = std::collections::HashSet::new();
        for seed in 0..10 {
            for purpose in [Purpose::Keys, Purpose::Tables, Purpose::Values] {
                for user in 0..1000 {
                    firsts.insert(Random::new(seed, purpose, &[user]).bits());
                }
            }
        }
        assert_eq!(firsts.len(), 30_000);
    }
}
