//! Measures the cost of recording an event (the clock, the counters and the histograms) and that of
//! handing over a second. It is here because all of these are private; `python -m benches second`
//! runs the latter.
#![expect(clippy::print_stdout, reason = "the figures are for a program that reads them")]

use super::Boundaries;
use super::Class;
use super::{ALONE, HeldBy, Interval, Labels, Merge, Meter, Spares, Whole};
use crate::clock::{Clock, thread_cpu};
use crate::plan::Part;
use criterion::Criterion;
use crossbeam_channel::{Receiver, Sender, unbounded};
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

/// Of the step whose seconds are handed over.
const USERS: u32 = 4_000;
const EVENTS_A_SECOND: u32 = 20_000;
/// The first seconds allocate what goes round later.
const WARMUP: u64 = 5;
const SECONDS: u64 = 60;

/// Adds up each second as the coordinator does, and says when it is done.
fn add_up(intervals: &Receiver<Box<Interval>>, done: &Sender<()>) {
    let spares = Spares::default();
    while let Ok(interval) = intervals.recv() {
        let tally = interval.tally;
        let mut merge = Merge::default();
        merge.add(0, *interval);
        let part = Part::default();
        let whole = Whole { tag: "cost", tally, members: Vec::new(), shards: 1, part };
        drop(merge.into_sample(&whole, &spares));
        done.send(()).expect("the test waits for it");
    }
}

/// The thread's CPU microseconds for each second's turn, in ascending order.
fn turns(mut meter: Meter) -> Vec<f64> {
    let (to_merge, intervals) = unbounded();
    let (done, merged) = unbounded();
    let merging = std::thread::spawn(move || add_up(&intervals, &done));
    let mut course = Course { clock: Clock::start(), random: 0x9e37_79b9_7f4a_7c15 };
    let mut turns = Vec::new();
    for second in 1..=WARMUP + SECONDS {
        for event in 0..EVENTS_A_SECOND {
            record_event(&mut meter, &mut course, Nanos::ZERO);
            meter.of_user(event % USERS, Nanos::from_millis(1_000 * second), Nanos(20_000));
        }
        let before = thread_cpu();
        let interval = meter.cut(Nanos::from_millis(1_000 * second));
        to_merge.send(Box::new(interval)).expect("somebody adds them up");
        turns.push((thread_cpu() - before).0 as f64 / 1e3);
        merged.recv().expect("it is added up");
    }
    drop(to_merge);
    merging.join().expect("the seconds add up");
    let mut turns = turns.split_off(WARMUP as usize);
    turns.sort_by(f64::total_cmp);
    turns
}

#[test]
#[ignore = "a measurement, not a test"]
fn the_turn_of_a_second() {
    let seconds = (WARMUP + SECONDS + 1) as f64;
    let stop = StopRule::Time { warmup_s: 0.0, duration_s: seconds };
    for per_user in [false, true] {
        let mut meter = Meter::new(Boundaries::new(&stop), 1);
        if per_user {
            meter = meter.with_users(USERS as usize);
        }
        meter.begin();
        let turns = turns(meter);
        let row = serde_json::json!({"users": USERS, "per_user": per_user, "turns_us": turns});
        println!("{row}");
    }
}
