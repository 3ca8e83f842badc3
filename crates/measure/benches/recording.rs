//! The cost of recording one value: `cargo bench -p loadstone-measure`.

use criterion::{Criterion, criterion_group, criterion_main};
use loadstone_measure::{LatencyRecorder, Nanos};
use std::hint::black_box;

fn record(criterion: &mut Criterion) {
    criterion.bench_function("record a latency", |bencher| {
        let mut recorder = LatencyRecorder::new();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        bencher.iter(|| recorder.record(black_box(spread(&mut random))));
    });
}

/// From 20 µs to 2 ms, each binary order of magnitude equally likely, as latencies spread over a
/// histogram.
fn spread(random: &mut u64) -> Nanos {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    Nanos((20_000 << (*random % 7)) + (*random >> 50))
}

criterion_group!(benches, record);
criterion_main!(benches);
