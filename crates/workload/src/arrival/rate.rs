//! A rate over time, and its inverse: when has so much come together?

use super::Ramp;
use loadstone_measure::Nanos;

/// Events a second: level until a moment, then in a straight line to another level, which stays.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RateCurve {
    from: f64,
    to: f64,
    /// When the ramp begins, in seconds.
    begins: f64,
    /// How long it takes, in seconds; above 0.
    over: f64,
}

impl RateCurve {
    /// The ramp begins at `begins`; without one the rate is level.
    #[must_use]
    pub fn new(rate: f64, ramp: Option<Ramp>, begins: Nanos) -> Self {
        let ramp = ramp.unwrap_or(Ramp { to: rate, over_s: 1.0 });
        Self { from: rate, to: ramp.to, begins: begins.seconds(), over: ramp.over_s }
    }

    /// The time at which `events` events have been due: the inverse of the rate's integral. Later than
    /// any time where that never comes.
    #[must_use]
    pub fn when(&self, events: f64) -> Nanos {
        let before = self.from * self.begins;
        if events < before {
            return Nanos::from_seconds(events / self.from);
        }
        let in_ramp = events - before;
        let ramp_holds = (self.from + self.to) / 2.0 * self.over;
        if in_ramp < ramp_holds {
            return Nanos::from_seconds(self.begins + self.seconds_of_ramp(in_ramp));
        }
        let seconds = self.begins + self.over + (in_ramp - ramp_holds) / self.to;
        if seconds.is_finite() { Nanos::from_seconds(seconds) } else { Nanos::MAX }
    }

    /// How many events have been due by `at`: the rate's integral.
    #[must_use]
    pub fn events(&self, at: Nanos) -> f64 {
        let time = at.seconds();
        let into = (time - self.begins).clamp(0.0, self.over);
        self.from * time.min(self.begins)
            + self.from * into
            + (self.to - self.from) * into * into / (2.0 * self.over)
            + self.to * (time - self.begins - self.over).max(0.0)
    }

    /// Solves `from t + (to - from) t^2 / (2 over) = events`, in the form that subtracts nothing of
    /// nearly the same size.
    fn seconds_of_ramp(&self, events: f64) -> f64 {
        let slope = (self.to - self.from) / self.over;
        let root = (self.from * self.from + 2.0 * slope * events).max(0.0).sqrt();
        let sum = self.from + root;
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
        // 5 t^2 events have come by t, 500 at its end.
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
