//! The phases of a step: consecutive periods, each of which changes linearly from one level to
//! another. A level is a number of active users, or events per second.

use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

/// A period and the levels at its two ends.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Its length in seconds.
    pub seconds: f64,
    /// The level at its start.
    pub from: f64,
    /// The level at its end.
    pub to: f64,
}

/// The number of active users over time. While the number rises or falls, its changes are evenly
/// spaced, and the last of them comes at the period's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersOverTime {
    stretches: Vec<Users>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Users {
    begins: Nanos,
    length: u64,
    from: u32,
    to: u32,
}

impl UsersOverTime {
    /// Levels are whole numbers. `None` if there are no periods.
    #[must_use]
    pub fn new(stretches: &[Stretch]) -> Option<Self> {
        let mut begins = Nanos::ZERO;
        let mut made = Vec::new();
        for stretch in stretches {
            let length = Nanos::from_seconds(stretch.seconds);
            let (from, to) = (stretch.from as u32, stretch.to as u32);
            made.push(Users { begins, length: length.0, from, to });
            begins += length;
        }
        (!made.is_empty()).then_some(Self { stretches: made })
    }

    /// How many are active at `time`, since the start of the load. After the end: as many as at the
    /// end.
    #[must_use]
    pub fn at(&self, time: Nanos) -> u32 {
        let stretch = self.stretch_at(time);
        let done = stretch.changes_by(time);
        if stretch.to >= stretch.from { stretch.from + done } else { stretch.from - done }
    }

    /// When that number may change next, after `time`; `None`: it stays.
    #[must_use]
    pub fn next_change(&self, time: Nanos) -> Option<Nanos> {
        let stretch = self.stretch_at(time);
        let done = stretch.changes_by(time);
        if done < stretch.changes() {
            return Some(stretch.when(done + 1));
        }
        let following = self.stretches.iter().find(|next| next.begins > time);
        following.map(|next| next.begins)
    }

    fn stretch_at(&self, time: Nanos) -> &Users {
        let behind = self.stretches.partition_point(|stretch| stretch.begins <= time);
        &self.stretches[behind.saturating_sub(1)]
    }
}

impl Users {
    fn changes(&self) -> u32 {
        self.from.abs_diff(self.to)
    }

    /// How many changes there are by `time`.
    fn changes_by(&self, time: Nanos) -> u32 {
        let into = u128::from(time.since(self.begins).0.min(self.length));
        let done = u128::from(self.changes()) * into / u128::from(self.length.max(1));
        u32::try_from(done).unwrap_or(u32::MAX)
    }

    /// The time of this change.
    fn when(&self, changes: u32) -> Nanos {
        let all = u128::from(self.changes().max(1));
        let into = (u128::from(changes) * u128::from(self.length)).div_ceil(all);
        self.begins + Nanos(u64::try_from(into).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(stretches: &[(f64, f64, f64)]) -> UsersOverTime {
        let made: Vec<Stretch> =
            stretches.iter().map(|&(seconds, from, to)| Stretch { seconds, from, to }).collect();
        UsersOverTime::new(&made).expect("a stretch")
    }

    fn at(users: &UsersOverTime, millis: u64) -> u32 {
        users.at(Nanos::from_millis(millis))
    }

    #[test]
    fn users_climb_and_fall_evenly_and_jump_between_stretches() {
        let users =
            users(&[(1.0, 2.0, 2.0), (10.0, 2.0, 12.0), (1.0, 50.0, 50.0), (4.0, 8.0, 0.0)]);
        let seen = [0, 999, 1_000, 1_999, 2_000, 10_999, 11_000, 11_999, 12_000, 12_499, 12_500];
        assert_eq!(seen.map(|millis| at(&users, millis)), [2, 2, 2, 2, 3, 11, 50, 50, 8, 8, 7]);
        assert_eq!((at(&users, 15_999), at(&users, 16_000), at(&users, 99_000)), (1, 0, 0));
    }

    #[test]
    fn each_change_is_foretold_and_there_is_none_between() {
        let users = users(&[(1.5, 3.0, 3.0), (0.7, 3.0, 10.0), (2.0, 10.0, 4.0), (1.0, 1.0, 1.0)]);
        let mut time = Nanos::ZERO;
        let mut levels = vec![users.at(time)];
        while let Some(next) = users.next_change(time) {
            assert!(next > time, "{next:?} after {time:?}");
            assert_eq!(users.at(Nanos(next.0 - 1)), users.at(time));
            time = next;
            levels.push(users.at(time));
        }
        levels.dedup();
        // The last change of a period comes when the next one starts.
        assert_eq!(levels, [3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 6, 5, 1]);
        assert_eq!(UsersOverTime::new(&[]), None);
    }
}
