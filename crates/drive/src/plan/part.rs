//! The part `part` of a plan: how users and events are dealt out to engines, and to their shards.

use crate::error::PlanError;
use serde::Deserialize;

/// One of the equal parts of a step, when several engines drive it together.
///
/// Users, and events that are due by a schedule, are dealt out in turn: part `i` of `n` has number
/// `i`, `i + n`, `i + 2 n` and so on. What a user does depends on its number alone, so the number of
/// parts changes no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Self { number: 0, of: 1 }
    }
}

impl Part {
    /// How many of `all` things this part has; those of all parts sum up to `all`.
    #[must_use]
    pub fn share(&self, all: u64) -> u64 {
        let (number, of) = (u64::from(self.number), u64::from(self.of));
        all.saturating_sub(number).div_ceil(of)
    }

    /// How many of the users with a number below `all` are this part's.
    #[must_use]
    pub fn share_of_users(&self, all: u32) -> u32 {
        u32::try_from(self.share(u64::from(all))).unwrap_or(u32::MAX)
    }

    /// The number, among all users, of this part's `index`-th user.
    pub(crate) fn number_of(&self, index: usize) -> u64 {
        u64::from(self.number) + u64::from(self.of) * index as u64
    }

    /// # Errors
    /// The number is not that of a part, or there are more parts than users.
    pub fn check(&self, users: u32) -> Result<(), PlanError> {
        if self.number >= self.of {
            return Err(PlanError::new("part: number counts from 0 and is less than of"));
        }
        if self.of > users {
            return Err(PlanError::new("part.of: at most one part for each virtual user"));
        }
        Ok(())
    }
}

/// The numbers that belong to one shard: `first`, and every `step`-th after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stride {
    pub(crate) first: u64,
    pub(crate) step: u64,
}

impl Stride {
    /// The shard's numbers below `all`.
    pub(crate) fn numbers(self, all: u64) -> impl Iterator<Item = u64> {
        // A shard count and a part count are far below what a usize holds.
        (self.first..all).step_by(usize::try_from(self.step).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |number| Part { number, of })
    }

    #[test]
    fn the_shares_of_all_parts_are_the_whole_and_differ_by_one_at_most() {
        for (of, all) in [(1, 7), (3, 7), (4, 4), (5, 3), (1000, 123_456)] {
            let shares: Vec<u64> = parts(of).map(|part| part.share(all)).collect();
            assert_eq!(shares.iter().sum::<u64>(), all);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn each_user_is_in_one_shard_of_one_part_whatever_the_numbers_of_shards() {
        let mut dealt: Vec<u64> = parts(3)
            .flat_map(|part| {
                let shards = u64::from(part.number) + 1;
                let (number, of) = (u64::from(part.number), u64::from(part.of));
                let of_shard =
                    move |shard| Stride { first: number + of * shard, step: of * shards };
                (0..shards).flat_map(move |shard| of_shard(shard).numbers(64))
            })
            .collect();
        dealt.sort_unstable();
        assert_eq!(dealt, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn a_part_that_is_none_is_refused() {
        assert!(Part { number: 2, of: 2 }.check(64).is_err());
        assert!(Part { number: 0, of: 0 }.check(64).is_err());
        assert!(Part { number: 0, of: 3 }.check(2).is_err());
        assert!(Part { number: 1, of: 2 }.check(2).is_ok());
    }
}
