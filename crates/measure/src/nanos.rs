//! Nanoseconds, as a type.

use serde::{Deserialize, Serialize};

/// Nanoseconds since the start of the run's load, or a duration.
///
/// Differences saturate at zero: two clocks' readings can be slightly out of order, and a duration
/// of 584 years would be worse than zero.
#[derive(
    Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A zero duration, or the moment the load started.
    pub const ZERO: Self = Self(0);
    /// Later than any moment of any run (584 years).
    pub const MAX: Self = Self(u64::MAX);

    const PER_SECOND: f64 = 1e9;

    /// `seconds` as nanoseconds, rounded; negative and not-a-number become zero, too large becomes
    /// [`Nanos::MAX`].
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Self {
        // A float-to-integer cast saturates and maps NaN to zero: exactly what is needed here.
        Self((seconds * Self::PER_SECOND).round() as u64)
    }

    /// `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The value in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / Self::PER_SECOND
    }

    /// The time from `earlier` to here, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        self.saturating_sub(earlier)
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl std::ops::Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl std::ops::AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_survive_the_way_there_and_back() {
        for seconds in [0.0, 0.000_001, 1.0, 14_400.0] {
            assert!((Nanos::from_seconds(seconds).seconds() - seconds).abs() < 1e-9);
        }
    }

    #[test]
    fn impossible_seconds_saturate() {
        assert_eq!(Nanos::from_seconds(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_seconds(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_seconds(f64::INFINITY), Nanos::MAX);
    }

    #[test]
    fn differences_never_wrap() {
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
        assert_eq!(Nanos(5).since(Nanos(3)), Nanos(2));
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
    }
}
