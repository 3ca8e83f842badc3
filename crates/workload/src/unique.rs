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
    fn ids_are_scattered() {
        let mut ids = UniqueIds::new(1, 0, 1, 100);
        let negative = (0..10_000).filter(|_| ids.draw() < 0).count();
        assert!((4_700..5_300).contains(&negative), "{negative}");
    }
}
