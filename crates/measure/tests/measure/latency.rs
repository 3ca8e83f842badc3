//! Histograms compared with the recorded values.

use loadstone_measure::{HIGHEST_TRACKABLE, Latency, LatencyRecorder, LatencySummary, Nanos};
use proptest::prelude::*;

const QUANTILES: [f64; 9] = [0.0, 0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

fn of(values: &[u64]) -> Latency {
    let mut latency = Latency::new();
    values.iter().for_each(|value| latency.record(Nanos(*value)));
    latency
}

/// Values of all magnitudes, some of them above the range.
fn any_values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        8 => (0u32..42, any::<u64>()).prop_map(|(bits, value)| value >> (63 - bits)),
        1 => Just(0),
        1 => any::<u64>(),
    ];
    prop::collection::vec(value, 0..300)
}

/// The quantile by definition, from the values themselves.
fn true_quantile(sorted: &[u64], quantile: f64) -> u64 {
    let rank = ((quantile * sorted.len() as f64).ceil() as usize).max(1);
    sorted[rank - 1]
}

proptest! {
    #[test]
    fn merged_quantiles_are_those_of_all_values(parts in prop::collection::vec(any_values(), 1..5)) {
        let mut merged = Latency::new();
        parts.iter().for_each(|part| merged.merge(&of(part)));
        let whole = of(&parts.concat());
        for quantile in QUANTILES {
            prop_assert_eq!(merged.quantile(quantile), whole.quantile(quantile));
        }
        prop_assert_eq!(merged.summary(), whole.summary());
    }

    #[test]
    fn quantiles_are_right_to_three_digits(values in any_values()) {
        let latency = of(&values);
        let mut sorted = values;
        sorted.sort_unstable();
        for quantile in QUANTILES {
            let Some(found) = latency.quantile(quantile) else {
                prop_assert!(sorted.is_empty());
                continue;
            };
            let (found, truth) = (found.0, true_quantile(&sorted, quantile));
            if truth > HIGHEST_TRACKABLE.0 {
                prop_assert_eq!(Some(found), sorted.last().copied());
            } else {
                prop_assert!(found >= truth && found - truth <= truth / 1_000, "{found} for {truth}");
            }
        }
    }

    #[test]
    fn nothing_is_lost(values in any_values()) {
        let latency = of(&values);
        let above = values.iter().filter(|value| **value > HIGHEST_TRACKABLE.0).count();
        prop_assert_eq!(latency.count(), values.len() as u64);
        prop_assert_eq!(latency.above_range(), above as u64);
        prop_assert_eq!(latency.min().map(|least| least.0), values.iter().min().copied());
        prop_assert_eq!(latency.max().map(|greatest| greatest.0), values.iter().max().copied());
        let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
        let mean = (!values.is_empty()).then(|| sum as f64 / values.len() as f64);
        prop_assert_eq!(latency.mean_ns(), mean);
    }
}

#[test]
fn no_value_has_no_figures() {
    assert_eq!(of(&[]).summary(), LatencySummary::default());
}

#[test]
fn the_range_ends_at_an_hour_exactly() {
    let latency = of(&[HIGHEST_TRACKABLE.0, HIGHEST_TRACKABLE.0 + 1]);
    assert_eq!((latency.count(), latency.above_range()), (2, 1));
    assert_eq!(latency.quantile(0.5), Some(HIGHEST_TRACKABLE));
    assert_eq!(latency.quantile(0.51), Some(Nanos(HIGHEST_TRACKABLE.0 + 1)));
}

#[test]
fn one_value_many_times_is_that_value_each_time() {
    let (mut many, mut each) = (LatencyRecorder::new(), LatencyRecorder::new());
    many.record_many(Nanos(0), 3);
    many.record_many(Nanos(1), 0);
    (0..3).for_each(|_| each.record(Nanos(0)));
    assert_eq!(many.current().summary(), each.current().summary());
    many.merge(each.current());
    assert_eq!((many.current().count(), many.current().max()), (6, Some(Nanos(0))));
}

#[test]
fn intervals_are_apart() {
    let mut recorder = LatencyRecorder::new();
    recorder.record(Nanos(5));
    let first = recorder.take();
    recorder.record(Nanos(7));
    recorder.record(Nanos(9));
    let second = recorder.swap(first.clone());
    assert_eq!((first.count(), second.count()), (1, 2));
    assert!(recorder.current().is_empty(), "a spare is cleared before it is used");
    recorder.record(Nanos(11));
    let mut total = first;
    recorder.drain_into(&mut total);
    total.merge(&second);
    assert!(recorder.current().is_empty());
    assert_eq!((total.count(), total.max()), (4, Some(Nanos(11))));
}
