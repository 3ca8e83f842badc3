//! A rate over time, and its inverse: the time by which a number of events is due.

use crate::phases::Stretch;
use loadstone_measure::Nanos;
use serde::{Deserialize, Serialize};

/// A rate that changes linearly.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Events per second at its end, and from then on.
    pub to: f64,
    /// Its duration in seconds.
    pub over_s: f64,
}

/// Events per second, in consecutive linear pieces; the last level stays.
#[derive(Clone, Debug, PartialEq)]
pub struct RateCurve {
    pieces: Vec<Piece>,
    /// When the last piece ends, in seconds.
    ends: f64,
    /// How many events have been due by then.
    held: f64,
    /// Events per second from then on.
    stays: f64,
}

#[derive(Copy, Clone, Debug, PartialEq)]
struct Piece {
    begins: f64,
    line: Stretch,
    /// How many events were due before it.
    before: f64,
}

impl RateCurve {
    /// The ramp starts at `begins`; without one the rate is constant.
    #[must_use]
    pub fn new(rate: f64, ramp: Option<Ramp>, begins: Nanos) -> Self {
        let Some(ramp) = ramp else { return Self::of(rate, &[]) };
        let level = Stretch { seconds: begins.seconds(), from: rate, to: rate };
        let climbs = Stretch { seconds: ramp.over_s, from: rate, to: ramp.to };
        Self::of(rate, &[level, climbs])
    }

    /// These stretches one after another; `rate` if there are none.
    #[must_use]
    pub fn of(rate: f64, stretches: &[Stretch]) -> Self {
        let (mut ends, mut held) = (0.0, 0.0);
        let mut pieces = Vec::new();
        for &line in stretches {
            pieces.push(Piece { begins: ends, line, before: held });
            ends += line.seconds;
            held += (line.from + line.to) / 2.0 * line.seconds;
        }
        let stays = stretches.last().map_or(rate, |line| line.to);
        Self { pieces, ends, held, stays }
    }

    /// The time at which `events` events have been due: the inverse of the rate's integral.
    /// [`Nanos::MAX`] if that never happens.
    #[must_use]
    pub fn when(&self, events: f64) -> Nanos {
        if events < self.held {
            // Of pieces without events, the last one starts where the next event's own piece does.
            let behind = self.pieces.partition_point(|piece| piece.before <= events);
            let piece = &self.pieces[behind.saturating_sub(1)];
            return Nanos::from_seconds(piece.begins + piece.seconds_of(events - piece.before));
        }
        let seconds = self.ends + (events - self.held) / self.stays;
        if seconds.is_finite() { Nanos::from_seconds(seconds) } else { Nanos::MAX }
    }

    /// How many events have been due by `at`: the rate's integral.
    #[must_use]
    pub fn events(&self, at: Nanos) -> f64 {
        let time = at.seconds();
        if time >= self.ends {
            return self.held + self.stays * (time - self.ends);
        }
        let behind = self.pieces.partition_point(|piece| piece.begins <= time);
        let piece = &self.pieces[behind.saturating_sub(1)];
        let into = time - piece.begins;
        let line = piece.line;
        piece.before + line.from * into + piece.slope() * into * into / 2.0
    }
}

impl Piece {
    fn slope(&self) -> f64 {
        if self.line.seconds > 0.0 {
            (self.line.to - self.line.from) / self.line.seconds
        } else {
            0.0
        }
    }

    /// Solves `from t + slope t^2 / 2 = events`, in a form that avoids subtracting nearly equal
    /// numbers.
    fn seconds_of(&self, events: f64) -> f64 {
        let from = self.line.from;
        let root = (from * from + 2.0 * self.slope() * events).max(0.0).sqrt();
        let sum = from + root;
        if sum > 0.0 { 2.0 * events / sum } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(curve: &RateCurve, events: f64) -> f64 {
        curve.when(events).seconds()
    }

    #[test]
    fn a_level_rate_is_a_ruler() {
        let curve = RateCurve::new(1000.0, None, Nanos::from_millis(5_000));
        for events in [0.0, 1.0, 4999.0, 5000.0, 5500.0, 6000.0, 1e9] {
            assert!((seconds(&curve, events) - events / 1000.0).abs() < 1e-6, "{events}");
        }
    }

    #[test]
    fn a_ramp_from_nothing_grows_with_the_square() {
        let ramp = Ramp { to: 100.0, over_s: 10.0 };
        let curve = RateCurve::new(0.0, Some(ramp), Nanos::ZERO);
        // 5 t^2 events are due by t, 500 at its end.
        for time in [0.0_f64, 1.0, 5.0, 9.999] {
            assert!((seconds(&curve, 5.0 * time * time) - time).abs() < 1e-6);
        }
        assert!((seconds(&curve, 600.0) - 11.0).abs() < 1e-6);
    }

    #[test]
    fn a_rate_that_ends_at_nothing_never_gives_another_event() {
        let ramp = Ramp { to: 0.0, over_s: 10.0 };
        let curve = RateCurve::new(100.0, Some(ramp), Nanos::ZERO);
        assert!(curve.when(499.9) < Nanos::from_millis(10_000));
        assert_eq!(curve.when(501.0), Nanos::MAX);
    }

    #[test]
    fn stretches_follow_each_other_and_pauses_hold_no_event() {
        let line = |seconds, from, to| Stretch { seconds, from, to };
        let curve = RateCurve::of(
            9.0,
            &[
                line(2.0, 10.0, 10.0),
                line(3.0, 0.0, 0.0),
                line(2.0, 0.0, 20.0),
                line(1.0, 5.0, 5.0),
            ],
        );
        // 20 in two seconds, none in three, 5 t^2 in two, then 5 a second.
        for (events, time) in
            [(0.0, 0.0), (19.0, 1.9), (25.0, 6.0), (40.0, 7.0), (45.0, 8.0), (50.0, 9.0)]
        {
            assert!((seconds(&curve, events) - time).abs() < 1e-6, "{events}");
            assert!((curve.events(Nanos::from_seconds(time)) - events).abs() < 1e-6, "{time}");
        }
        assert!((curve.events(Nanos::from_seconds(4.0)) - 20.0).abs() < 1e-9);
        assert!(seconds(&curve, 20.001) > 5.0);
    }

    proptest! {
        #[test]
        fn the_time_is_the_inverse_of_the_integral(
            from in 0.0..5000.0_f64, to in 1.0..5000.0_f64, begins in 0.0..10.0_f64,
            over in 0.1..60.0_f64, share in 0.0..1.0_f64,
        ) {
            let curve = RateCurve::new(from, Some(Ramp { to, over_s: over }), Nanos::from_seconds(begins));
            let events = share * (from * begins + (from + to) / 2.0 * over + to * 5.0);
            let held = curve.events(curve.when(events));
            prop_assert!((held - events).abs() < 1e-3 * events.max(1.0), "{held} {events}");
        }
    }
}
