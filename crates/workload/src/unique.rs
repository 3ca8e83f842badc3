//! Ids for inserts that no two users, and no loaded row, have in common.

use crate::random::{Purpose, Random};

/// 32-bit ids for `oltp_insert` without AUTO_INCREMENT: scattered over the whole range, unique
/// among all users, and different from those of loaded rows.
///
/// Each user counts through its own share of the 2^32 numbers, and a permutation scatters them. sysbench
/// sends such ids too, but may hit a loaded row.
#[derive(Copy, Clone, Debug)]
pub struct UniqueIds {
    next: u32,
    stride: u32,
    key: (u32, u32),
    /// Ids of `1..=taken` belong to loaded rows.
    taken: i32,
}

impl UniqueIds {
    /// The ids of the user `user` of `users`, none of them in `0..=taken`.
    #[must_use]
    pub fn new(seed: u64, user: u64, users: u64, taken: u64) -> Self {
        // One permutation for all users, or their shares would overlap.
        let key = Random::new(seed, Purpose::InsertIds, &[]).bits();
        Self {
            next: user as u32,
            stride: users.max(user + 1) as u32,
            key: (key as u32, (key >> 32) as u32),
            taken: i32::try_from(taken).unwrap_or(i32::MAX),
        }
    }

    /// The next one.
    pub fn draw(&mut self) -> i64 {
        loop {
            let id = scatter(self.next.wrapping_add(self.key.0)) ^ self.key.1;
            self.next = self.next.wrapping_add(self.stride);
            let id = id as i32;
            // Zero asks the server for an id if the column is AUTO_INCREMENT after all.
            if !(0..=self.taken).contains(&id) {
                return i64::from(id);
            }
        }
    }
}

/// The numbers of a range in a random order, each of them once over all users.
///
/// Each user has its own share of them, and begins again when it has drawn all of that.
#[derive(Copy, Clone, Debug)]
pub struct UniqueWithin {
    low: i64,
    /// How many numbers there are.
    size: u64,
    first: u64,
    next: u64,
    stride: u64,
    key: u64,
}

impl UniqueWithin {
    /// The numbers of `low..=high` for the user `user` of `users`; only `low` if there are none.
    #[must_use]
    pub fn new(seed: u64, user: u64, users: u64, low: i64, high: i64) -> Self {
        let span = u64::try_from(high.saturating_sub(low)).unwrap_or(0);
        let size = span.min(u64::from(u32::MAX)) + 1;
        // One order for all users, or their shares would overlap.
        let key = Random::new(seed, Purpose::InsertIds, &[low as u64, high as u64]).bits();
        // With more users than numbers some have to share one.
        let first = user % size;
        Self { low, size, first, next: first, stride: users.max(1), key }
    }

    /// The next one.
    pub fn draw(&mut self) -> i64 {
        let mut number = self.next;
        self.next += self.stride;
        if self.next >= self.size {
            self.next = self.first;
        }
        // The order is one of a power of two of numbers. Those beyond the range lead on to others
        // until one is within, which gives each of the range's numbers exactly once.
        loop {
            number = self.shuffled(number);
            if number < self.size {
                return self.low.wrapping_add(number as i64);
            }
        }
    }

    /// Each step is invertible on the numbers of as many bits, so no two are mapped to the same one.
    fn shuffled(&self, number: u64) -> u64 {
        let bits = u64::BITS - (self.size - 1).leading_zeros();
        let mask = (1_u64 << bits) - 1;
        let fold = bits / 2 + 1;
        let mut value = number;
        for round in 0..4 {
            value = (value ^ self.key.rotate_right(round * 16)) & mask;
            value ^= value >> fold;
            value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        }
        value
    }
}

/// The finalizer of MurmurHash3: each step is invertible, so no two numbers are mapped to the same
/// one.
fn scatter(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    let value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_users_insert_the_same_id_and_none_a_loaded_one() {
        let taken = 1 << 20;
        let mut seen = std::collections::HashSet::new();
        for user in 0..7 {
            let mut ids = UniqueIds::new(42, user, 7, taken);
            for _ in 0..20_000 {
                let id = ids.draw();
                assert!(id < 0 || id > taken as i64, "{id}");
                assert!(i32::try_from(id).is_ok());
                assert!(seen.insert(id), "{id} twice");
            }
        }
    }

    #[test]
    fn each_number_of_a_range_is_drawn_once() {
        for (low, high, users) in
            [(1, 1, 1), (1, 10, 1), (-5, 5, 2), (5, 14, 3), (1, 100_000, 1), (0, 65_535, 7)]
        {
            let mut seen = std::collections::BTreeSet::new();
            for user in 0..users {
                let mut ids = UniqueWithin::new(42, user, users, low, high);
                let share = (high - low - user as i64) / users as i64 + 1;
                for _ in 0..share {
                    let id = ids.draw();
                    assert!((low..=high).contains(&id), "{id}");
                    assert!(seen.insert(id), "{id} twice in {low}..={high}");
                }
            }
            assert_eq!(seen.len() as i64, high - low + 1, "{low}..={high}");
        }
    }

    #[test]
    fn a_range_begins_again_and_its_order_depends_on_the_seed() {
        let order = |seed| {
            let mut ids = UniqueWithin::new(seed, 0, 1, 1, 100);
            (0..200).map(|_| ids.draw()).collect::<Vec<_>>()
        };
        let (one, other) = (order(1), order(2));
        assert_eq!(one[..100], one[100..]);
        assert_ne!(one, other);
        assert_ne!(one[..100], (1..=100).collect::<Vec<_>>());
        let mut empty = UniqueWithin::new(1, 3, 8, 9, 1);
        assert_eq!((empty.draw(), empty.draw()), (9, 9));
    }

    #[test]
    fn ids_are_scattered() {
        let mut ids = UniqueIds::new(1, 0, 1, 100);
        let negative = (0..10_000).filter(|_| ids.draw() < 0).count();
        assert!((4_700..5_300).contains(&negative), "{negative}");
    }
}
