//! `permute`: a pseudorandom permutation that a seed chooses, the same as that of pgbench 15 and
//! newer, so that several programs which share the work of a script agree about its keys.
//!
//! The generator is xoroshiro128** seeded through SplitMix64. The values are compared with those of
//! pgbench itself (tests/postgres/test_pgbench_expressions.py).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128StarStar;

const ROUNDS: usize = 6;

/// The place of `value` in a permutation of `0..size`; values beyond `size` are taken modulo it.
pub(super) fn permuted(value: u64, size: u64, seed: u64) -> u64 {
    if size < 2 {
        return 0;
    }
    let mut random = Xoroshiro128StarStar::seed_from_u64(seed);
    let block = Block::within(size);
    (0..ROUNDS).fold(value % size, |place, _| {
        let lower = block.mixed(place, &mut random);
        let from_the_end = block.mixed(size - 1 - lower, &mut random);
        let offset = below(size, &mut random);
        ((u128::from(size - 1 - from_the_end) + u128::from(offset)) % u128::from(size)) as u64
    })
}

/// The numbers of so many bits: the largest such block within a size.
struct Block {
    bits: u32,
    mask: u64,
}

impl Block {
    fn within(size: u64) -> Self {
        let bits = size.ilog2();
        Self { bits, mask: (1 << bits) - 1 }
    }

    /// A bijection of the block: an odd factor, an exclusive or, and a rotation by one bit. What is
    /// beyond the block stays, and draws as many numbers.
    fn mixed(&self, place: u64, random: &mut Xoroshiro128StarStar) -> u64 {
        let odd = (random.next_u64() & self.mask) | 1;
        let flipped = random.next_u64() & self.mask;
        if place > self.mask {
            return place;
        }
        let mixed = (place.wrapping_mul(odd) ^ flipped) & self.mask;
        ((mixed << 1) & self.mask) | (mixed >> (self.bits - 1))
    }
}

/// A number of `0..size`, of the leading bits: those that are too large are drawn again.
fn below(size: u64, random: &mut Xoroshiro128StarStar) -> u64 {
    let greatest = size - 1;
    loop {
        let drawn = random.next_u64() >> (63 - greatest.ilog2());
        if drawn <= greatest {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::permuted;

    #[test]
    fn each_place_comes_once() {
        for size in [1, 2, 3, 64, 100, 1025] {
            for seed in [0, 5, u64::MAX] {
                let mut seen: Vec<u64> = (0..size).map(|at| permuted(at, size, seed)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..size).collect::<Vec<_>>(), "{size} {seed}");
            }
        }
    }

    #[test]
    fn the_values_are_those_of_pgbench() {
        assert_eq!(permuted(0, 4, 1), 0);
        assert_eq!(permuted(7, 1_000_000_007, 42), 51_706_419);
        assert_eq!(permuted(-3_i64 as u64, 10, 5), 9);
    }

    #[test]
    fn the_largest_size_has_a_permutation() {
        let size = i64::MAX as u64;
        assert!(permuted(size - 1, size, 3) < size);
    }
}
