//! The interval log: values survive a round trip, in a form that other tools read.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use loadstone_measure::hlog::{self, HlogError};
use loadstone_measure::{HIGHEST_TRACKABLE, Latency, Nanos};
use proptest::prelude::*;

fn of(values: &[u64]) -> Latency {
    let mut latency = Latency::new();
    values.iter().for_each(|value| latency.record(Nanos(*value)));
    latency
}

fn lines(tag: &str, latency: &Latency) -> Vec<String> {
    let mut lines = Vec::new();
    hlog::write(tag, 1.0, 0.5, latency, &mut lines).expect("a good tag");
    lines
}

proptest! {
    #[test]
    fn values_survive_to_three_digits(values in prop::collection::vec(0..=u64::MAX / 4, 1..200)) {
        let written = of(&values);
        let read = hlog::read(&lines("step-1/response", &written).join("\n")).unwrap();
        prop_assert_eq!(read.len(), 1);
        let read = &read[0].latency;
        prop_assert_eq!(read.count(), written.count());
        prop_assert_eq!(read.above_range(), written.above_range());
        let near = |left: Option<f64>, right: Option<f64>| {
            let (left, right) = (left.unwrap(), right.unwrap());
            (left - right).abs() <= right / 1_000.0 + 1.0
        };
        let nanos = |value: Option<Nanos>| value.map(|nanos| nanos.0 as f64);
        // Of the values above the range only the greatest is stored.
        if written.min() <= Some(HIGHEST_TRACKABLE) {
            prop_assert!(near(nanos(read.min()), nanos(written.min())));
        }
        prop_assert!(near(nanos(read.max()), nanos(written.max())));
        for quantile in [0.5, 0.99] {
            prop_assert!(near(nanos(read.quantile(quantile)), nanos(written.quantile(quantile))));
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "(Tag=[a-z!]{0,3},)?[0-9.,-]{0,12}(,HISTF[A-Za-z0-9+/=]{0,40})?") {
        let _ = hlog::read(&text);
    }
}

#[test]
fn a_line_has_the_formats_fields() {
    let lines = lines("step-1/response", &of(&[1_500_000]));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.starts_with("Tag=step-1/response,1.000000,0.500000,1.500,HISTFAAA"), "{line}");
    assert!(!line.contains('\n'));
}

#[test]
fn a_tag_without_values_has_no_line() {
    assert_eq!(lines("a", &of(&[])), Vec::<String>::new());
}

#[test]
fn values_above_the_range_have_a_line_of_their_own() {
    let day = 24 * HIGHEST_TRACKABLE.0;
    let lines = lines("a", &of(&[1_000, day, day / 2]));
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("Tag=a!above,1.000000,0.500000,"), "{}", lines[1]);
    let merged = hlog::merge(lines.iter().map(String::as_str)).unwrap();
    assert_eq!(merged.keys().collect::<Vec<_>>(), ["a"], "joined also line by line");
    let latency = &merged["a"];
    assert_eq!((latency.count(), latency.above_range()), (3, 2));
    assert!(latency.max().unwrap().0.abs_diff(day) < day / 1_000);
}

#[test]
fn where_all_were_above_only_their_line_is_written() {
    let written = lines("a", &of(&[2 * HIGHEST_TRACKABLE.0]));
    assert_eq!(written.len(), 1);
    let read = hlog::read(&written[0]).unwrap();
    assert_eq!((read[0].tag.as_str(), read[0].latency.above_range()), ("a", 1));
}

#[test]
fn a_log_is_merged_by_tag_over_its_intervals() {
    let mut log = vec![hlog::header(1_700_000_000.25)];
    for (from_s, tag, value) in [(0.0, "a", 10), (0.0, "b", 20), (1.0, "a", 30)] {
        hlog::write(tag, from_s, 1.0, &of(&[value]), &mut log).unwrap();
    }
    let text = log.join("\n");
    let intervals = hlog::read(&text).unwrap();
    let places: Vec<_> = intervals.iter().map(|one| (one.from_s, one.tag.as_str())).collect();
    assert_eq!(places, [(0.0, "a"), (0.0, "b"), (1.0, "a")]);
    let merged = hlog::merge(text.lines()).unwrap();
    assert_eq!((merged["a"].count(), merged["b"].count()), (2, 1));
    assert_eq!((merged["a"].min(), merged["a"].max()), (Some(Nanos(10)), Some(Nanos(30))));
}

proptest! {
    #[test]
    fn summing_in_any_grouping_gives_what_all_values_together_give(
        parts in prop::collection::vec(prop::collection::vec(1..=u64::MAX / 4, 0..60), 1..6),
        cut in 0..6_usize,
    ) {
        let written: Vec<String> = parts.iter().flat_map(|part| lines("a", &of(part))).collect();
        let summed = |lines: &[String]| {
            let mut sum = Vec::new();
            for interval in hlog::sum(lines.iter().map(String::as_str)).unwrap() {
                hlog::write_interval(&interval, &mut sum).unwrap();
            }
            sum
        };
        let (left, right) = written.split_at(cut.min(written.len()));
        let halves = [summed(left), summed(right)].concat();
        let counts = |lines: &[String]| {
            let merged = hlog::merge(lines.iter().map(String::as_str)).unwrap();
            merged.get("a").map(|latency| (latency.counts(), latency.above_range()))
        };
        prop_assert_eq!(counts(&summed(&written)), counts(&written));
        prop_assert_eq!(counts(&summed(&halves)), counts(&written));
    }
}

#[test]
fn a_sum_covers_the_time_of_all_its_lines() {
    let mut log = Vec::new();
    hlog::write("a", 1.0, 1.0, &of(&[10]), &mut log).unwrap();
    hlog::write("a", 1.5, 1.5, &of(&[20]), &mut log).unwrap();
    let sums = hlog::sum(log.iter().map(String::as_str)).unwrap();
    let [sum] = &sums[..] else { panic!("{sums:?}") };
    assert_eq!((sum.from_s, sum.length_s, sum.latency.count()), (1.0, 2.0, 2));
}

#[test]
fn the_header_is_what_readers_look_for() {
    let header = hlog::header(1_700_000_000.25);
    let lines: Vec<_> = header.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[1], "#[StartTime: 1700000000.250 (seconds since epoch)]");
    assert!(lines[2].starts_with("\"StartTimestamp\""));
    assert!(hlog::read(&header).unwrap().is_empty());
}

#[test]
fn tags_that_would_break_a_line_are_refused() {
    for tag in ["", "a,b", "a b", "a\n", "a!above"] {
        let mut lines = Vec::new();
        let error = hlog::write(tag, 0.0, 1.0, &of(&[1]), &mut lines).unwrap_err();
        assert_eq!(error, HlogError::BadTag(tag.to_owned()));
        assert!(lines.is_empty());
    }
}

#[test]
fn damaged_lines_say_what_is_wrong() {
    let good = lines("a", &of(&[1])).remove(0);
    for (line, reason) in [
        ("Tag=a", "no field after the tag"),
        ("Tag=a,x,1,1,HISTF", "the start is not a number"),
        ("Tag=a,0,x,1,HISTF", "the length is not a number"),
        ("Tag=a,0,1,1", "no histogram"),
        ("Tag=a,0,1,1,HISTF?", "the histogram is not base64"),
        // The checksum at its end is not needed to read it; everything before is.
        (&good[..good.len() - 16], "the histogram is damaged"),
    ] {
        let error = hlog::read(line).unwrap_err().to_string();
        assert!(error.contains(reason), "{line}: {error}");
    }
}

/// A line of the Python package hdrhistogram 0.10.8 (it writes no tags), with 1 µs, 2.5 ms and 90 s
/// in it. That package reads ours as well; this was tried by hand, as the tests should not need it.
#[test]
fn lines_of_other_tools_are_read() {
    let read = hlog::read(OF_PYTHON).unwrap();
    let [interval] = &read[..] else { panic!("{read:?}") };
    assert_eq!((interval.tag.as_str(), interval.from_s, interval.length_s), ("", 1.0, 1.0));
    assert_eq!(interval.latency.count(), 3);
    let near = |found: Option<Nanos>, truth: u64| found.unwrap().0.abs_diff(truth) <= truth / 1_000;
    assert!(near(interval.latency.quantile(0.0), 1_000));
    assert!(near(interval.latency.quantile(0.5), 2_500_000));
    assert!(near(interval.latency.max(), 90_000_000_000));
}

const OF_PYTHON: &str = "1.000000,1.000000,90060.000000,HISTFAAAAC14nJNpmSzMwMDAzQABzFCaEch0M9ixgMH+A0TgPD/T1s2MTO8/MjIBAJoTCIQ=";

/// A line whose histogram has these numbers in its header, and this many bytes after it.
fn crafted(says: u32, digits: u32, highest: u64, bytes: usize) -> String {
    let mut inner = 0x1c84_9313_u32.to_be_bytes().to_vec();
    for word in [says, 0, digits] {
        inner.extend(word.to_be_bytes());
    }
    inner.extend(1_u64.to_be_bytes());
    inner.extend(highest.to_be_bytes());
    inner.extend(1.0_f64.to_be_bytes());
    // Each byte is a bucket without counts.
    inner.resize(inner.len() + bytes, 0);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&inner).expect("a write into memory");
    let packed = packed.finish().expect("a whole stream");
    let length = u32::try_from(packed.len()).expect("a length");
    let whole = [&0x1c84_9314_u32.to_be_bytes()[..], &length.to_be_bytes(), &packed].concat();
    format!("Tag=a,0,1,1,{}", STANDARD.encode(whole))
}

#[test]
fn a_histogram_that_says_more_than_it_has_is_refused() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    assert_eq!(hlog::read(&crafted(9, 3, HOUR_NS, 9)).unwrap().len(), 1);
    for (says, digits, highest, bytes) in [
        (u32::MAX, 3, HOUR_NS, 9),
        (10, 3, HOUR_NS, 9),
        (9, 5, HOUR_NS, 9),
        (9, u32::MAX, HOUR_NS, 9),
        (9, 3, u64::MAX, 9),
        (9, 3, 0, 9),
        // A hundred kilobytes that expand to a hundred megabytes.
        (100_000_000, 3, HOUR_NS, 100_000_000),
    ] {
        let error = hlog::read(&crafted(says, digits, highest, bytes)).unwrap_err().to_string();
        assert!(error.contains("the histogram is damaged"), "{says} {digits} {highest}: {error}");
    }
}
