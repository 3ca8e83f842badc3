//! The samplers compared with what sysbench 1.0.20 draws, and with theory where it draws nothing.
//!
//! The counts are of ten million calls each of its script interface's `sysbench.rand.special(1,
//! 10000)` and so on, made by a script of our own on 2026-11-21. Two-sample chi-square tests at one
//! in a million: a hundred such tests fail by chance once in ten thousand runs, and the seeds are
//! fixed anyway.

use loadstone_workload::Distribution;
use loadstone_workload::random::{Purpose, Random};

/// Our draws in each comparison.
const DRAWS: u64 = 4_000_000;

/// `(upper end of the bin, draws in it)` for keys of 1..=10,000.
type Bins<'a> = &'a [(u64, u64)];

const SPECIAL: Bins<'_> = &[
    (4000, 292_222),
    (4500, 398_250),
    (4800, 324_369),
    (4900, 115_845),
    (4950, 58_657),
    (4970, 23_533),
    (4974, 4_629),
    (4975, 25_838),
    (4976, 100_535),
    (4990, 1_402_998),
    (5000, 1_002_989),
    (5010, 1_003_608),
    (5030, 2_005_894),
    (5049, 1_903_390),
    (5050, 101_133),
    (5051, 50_126),
    (5052, 1_147),
    (5060, 9_511),
    (5100, 46_957),
    (5200, 115_596),
    (5500, 324_286),
    (6000, 397_958),
    (10_000, 290_529),
];

const GAUSSIAN: Bins<'_> = &[
    (3000, 75_211),
    (3500, 282_908),
    (4000, 808_176),
    (4250, 696_883),
    (4500, 903_306),
    (4750, 1_070_659),
    (4900, 694_032),
    (5000, 471_972),
    (5100, 470_472),
    (5250, 692_016),
    (5500, 1_069_121),
    (5750, 900_665),
    (6000, 697_091),
    (6500, 809_698),
    (7000, 282_482),
    (10_000, 75_308),
];

const PARETO: Bins<'_> = &[
    (1, 2_788_762),
    (2, 281_297),
    (3, 177_677),
    (5, 237_842),
    (8, 234_626),
    (13, 259_386),
    (30, 487_571),
    (100, 812_989),
    (300, 867_399),
    (800, 896_742),
    (1500, 642_629),
    (2500, 563_821),
    (4000, 555_483),
    (6000, 510_172),
    (8000, 379_184),
    (10_000, 304_420),
];

const UNIFORM: Bins<'_> = &[
    (1, 987),
    (10, 9_061),
    (100, 89_687),
    (1000, 899_218),
    (2500, 1_500_811),
    (5000, 2_497_674),
    (7500, 2_499_788),
    (9000, 1_502_173),
    (9999, 999_586),
    (10_000, 1_015),
];

/// Draws of each key of 1..=20.
const SPECIAL_20: [u64; 20] = [
    0, 0, 9, 333, 4_025, 27_972, 111_818, 290_924, 508_526, 3_113_943, 5_506_077, 292_342, 111_762,
    27_878, 4_096, 287, 8, 0, 0, 0,
];

const GAUSSIAN_20: [u64; 20] = [
    0, 1, 24, 717, 9_247, 65_306, 281_736, 808_243, 1_596_629, 2_236_754, 2_235_115, 1_601_031,
    806_695, 283_385, 65_148, 9_252, 690, 26, 1, 0,
];

const PARETO_20: [u64; 20] = [
    6_603_747, 666_747, 419_789, 312_454, 251_269, 210_774, 182_483, 161_273, 144_831, 131_723,
    120_740, 111_460, 103_703, 97_796, 91_282, 86_248, 82_235, 77_242, 73_745, 70_459,
];

#[test]
fn special_draws_as_sysbench_does() {
    check(Distribution::default(), SPECIAL);
    check(Distribution::default(), &bins_of_one(&SPECIAL_20));
}

#[test]
fn gaussian_draws_as_sysbench_does() {
    check(Distribution::Gaussian { iterations: 12 }, GAUSSIAN);
    check(Distribution::Gaussian { iterations: 12 }, &bins_of_one(&GAUSSIAN_20));
}

#[test]
fn pareto_draws_as_sysbench_does() {
    check(Distribution::Pareto { h: 0.2 }, PARETO);
    check(Distribution::Pareto { h: 0.2 }, &bins_of_one(&PARETO_20));
}

#[test]
fn uniform_draws_as_sysbench_does() {
    check(Distribution::Uniform {}, UNIFORM);
}

/// The edges of the hot zone for other parameters, in keys: sysbench with one iteration, so that
/// the rest is even, and the share of a full hot key in the edges.
#[test]
fn the_hot_zone_of_special_ends_where_sysbenchs_does() {
    // (size, percent, hits, lower edge and its share, last full key, upper edge's share)
    for (size, percent, hits, (low, low_share), last, high_share) in [
        (10_000, 1.0, 75.0, (4975, 0.25), 5050, 0.5),
        (10_000, 5.0, 75.0, (4875, 0.24), 5250, 0.47),
        (10_000, 1.0, 50.0, (5000, 0.0), 5050, 0.49),
        (10_000, 2.0, 100.0, (4900, 0.49), 5100, 0.49),
        (10_000, 10.0, 20.0, (5301, 0.73), 5500, 0.45),
        (1_000, 1.0, 75.0, (498, 0.75), 505, 0.5),
        (1_001, 1.0, 75.0, (498, 0.25), 506, 0.0),
        (999, 1.0, 75.0, (497, 0.245), 504, 0.99),
    ] {
        let counts = draw(Distribution::Special { iterations: 1, percent, hits }, size);
        let (full, rest) = (counts[last - 1] as f64, counts[10] as f64);
        let share = |key: usize| (counts[key] as f64 - rest) / (full - rest);
        let case = format!("size {size}, percent {percent}, hits {hits}");
        assert!((share(low) - low_share).abs() < 0.06, "{case}: {} at {low}", share(low));
        assert!((share(last) - 1.0).abs() < 0.06, "{case}: {} at {last}", share(last));
        assert!((share(last + 1) - high_share).abs() < 0.06, "{case}: {}", share(last + 1));
        assert!(share(low - 1).abs() < 0.01 && share(last + 2).abs() < 0.01, "{case}");
    }
}

#[test]
fn zipfian_follows_its_law() {
    for exponent in [0.0, 0.5, 0.8, 1.0, 1.3, 3.0] {
        let size = 1_000u64;
        let weight = |key: u64| (key as f64).powf(-exponent);
        let total: f64 = (1..=size).map(weight).sum();
        let counts = draw(Distribution::Zipfian { exponent }, size);
        // Neighbouring keys are combined until a bin expects a thousand draws.
        let (mut chi_square, mut bins, mut expected, mut seen) = (0.0, 0, 0.0, 0.0);
        for key in 1..=size {
            expected += weight(key) / total * DRAWS as f64;
            seen += counts[key as usize] as f64;
            if expected > 1_000.0 {
                chi_square += (seen - expected).powi(2) / expected;
                bins += 1;
                (expected, seen) = (0.0, 0.0);
            }
        }
        assert!(chi_square < limit(bins - 1), "exponent {exponent}: {chi_square} in {bins} bins");
    }
}

#[test]
fn zipfian_over_many_keys_stays_within_them() {
    let sampler = Distribution::Zipfian { exponent: 0.8 }.sampler(2_147_483_647).unwrap();
    let mut random = Random::new(3, Purpose::Keys, &[]);
    let draws: Vec<u64> = (0..100_000).map(|_| sampler.draw(&mut random)).collect();
    assert!(draws.iter().all(|key| (1..=2_147_483_647).contains(key)));
    assert!(draws.iter().any(|key| *key > 1_000_000_000));
}

#[test]
fn a_table_of_one_row_has_one_key() {
    for kind in ["uniform", "special", "gaussian", "pareto", "zipfian"] {
        let plan = format!(r#"{{"kind": "{kind}"}}"#);
        let sampler = serde_json::from_str::<Distribution>(&plan).unwrap().sampler(1).unwrap();
        let mut random = Random::new(3, Purpose::Keys, &[]);
        assert!((0..1000).all(|_| sampler.draw(&mut random) == 1), "{kind}");
    }
}

/// How often each key was drawn; the index is the key.
fn draw(distribution: Distribution, size: u64) -> Vec<u64> {
    let sampler = distribution.sampler(size).expect("good parameters");
    let mut random = Random::new(42, Purpose::Keys, &[size]);
    let mut counts = vec![0; size as usize + 1];
    for _ in 0..DRAWS {
        counts[sampler.draw(&mut random) as usize] += 1;
    }
    counts
}

fn bins_of_one(counts: &[u64; 20]) -> Vec<(u64, u64)> {
    (1..).zip(counts.iter().copied()).collect()
}

/// Compares our draws with sysbench's. Bins that hold too little for the test are merged into the
/// next one.
#[track_caller]
fn check(distribution: Distribution, theirs: Bins<'_>) {
    let counts = draw(distribution, theirs[theirs.len() - 1].0);
    let their_total: u64 = theirs.iter().map(|bin| bin.1).sum();
    let ratio = (their_total as f64 / DRAWS as f64).sqrt();
    let (mut chi_square, mut bins, mut next) = (0.0, 0u32, 1);
    let (mut ours, mut other) = (0.0, 0.0);
    for &(end, count) in theirs {
        ours += counts[next..=end as usize].iter().sum::<u64>() as f64;
        other += count as f64;
        next = end as usize + 1;
        if ours + other > 20.0 {
            chi_square += (ours * ratio - other / ratio).powi(2) / (ours + other);
            bins += 1;
            (ours, other) = (0.0, 0.0);
        }
    }
    assert!(chi_square < limit(bins - 1), "{distribution:?}: {chi_square:.1} in {bins} bins");
}

/// The value that chi-square with this many degrees of freedom exceeds once in a million (Wilson
/// and Hilferty).
fn limit(freedom: u32) -> f64 {
    let freedom = f64::from(freedom);
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 4.753 * spread.sqrt()).powi(3)
}
