//! Measures the cost of recording an event: the clock, the counters and the histograms. It is here
//! because all of these are private; `python -m benches recording` runs it.

use super::Boundaries;
use super::Class;
use super::{ALONE, HeldBy, Labels, Meter};
use crate::clock::Clock;
use criterion::Criterion;
use loadstone_measure::Nanos;
use loadstone_workload::stop::StopRule;
use std::time::Duration;

/// When an event was due and answered, as the loop would see it.
struct Course {
    clock: Clock,
    random: u64,
}

impl Course {
    /// Reads the clock, and adds 20 µs to 2 ms so that latencies spread over the histogram.
    fn later(&mut self) -> Nanos {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let spread = (20_000 << (self.random % 7)) + (self.random >> 50);
        Nanos(self.clock.now().0 + spread)
    }
}

/// An event of one statement: two readings of the clock, and every call of the meter.
fn record_event(meter: &mut Meter, course: &mut Course, lateness: Nanos) {
    let sent = course.clock.now();
    meter.became_due(ALONE);
    meter.event_started(ALONE, lateness, HeldBy::Generator);
    let answered = course.later();
    let service = answered - sent;
    meter.held(Nanos(service.0 >> 6));
    meter.statement(Class::Read, Labels::of_target(0), service);
    meter.event_succeeded(Labels::of_target(0), service + lateness, service);
}

fn meter() -> Meter {
    let mut meter =
        Meter::new(Boundaries::new(&StopRule::Time { warmup_s: 0.0, duration_s: 60.0 }), 1);
    meter.begin();
    meter
}

#[test]
#[ignore = "a measurement, not a test"]
fn recording_an_event() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    let mut measure = |name: &str, lateness: Nanos| {
        criterion.bench_function(name, |bencher| {
            let mut meter = meter();
            let mut course = Course { clock: Clock::start(), random: 0x9e37_79b9_7f4a_7c15 };
            bencher.iter(|| record_event(&mut meter, &mut course, lateness));
            assert!(meter.tally.balances());
        });
    };
    measure("record an event of a closed loop", Nanos::ZERO);
    measure("record an event of an open loop", Nanos(5_000));
    criterion.bench_function("read the clock", |bencher| {
        let clock = Clock::start();
        bencher.iter(|| clock.now());
    });
}
