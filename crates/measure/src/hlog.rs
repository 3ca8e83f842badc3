//! The HdrHistogram interval log with version 2 histograms, as the Java, Python and C tools read it.
//!
//! One line holds one histogram of one interval: `Tag=TAG,FROM,LENGTH,MAX,HISTOGRAM`. Times are in
//! seconds since [`header`]'s start time, the greatest value is in milliseconds (the format's
//! custom for values in nanoseconds), and the histogram is deflated and base64-encoded.
//!
//! A histogram cannot hold values above its range, and the format has no place for them. They get a
//! line of their own with the tag `TAG!above`: a histogram that holds the greatest of them as often
//! as there were such values. Other tools show it as one more tag, so nothing is hidden; [`read`]
//! puts it back.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::stored::{Bucket, Unpacker, Unreadable};
use crate::{Latency, Nanos};

/// Marks the line of the values above the range.
const ABOVE: &str = "!above";

/// The legend, which readers recognise and skip.
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"";

const NANOS_PER_MILLI: f64 = 1e6;

/// Why a line of an interval log cannot be written or read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HlogError {
    /// The format ends a tag at a comma, and some readers at a space.
    #[error("the tag {0:?} is empty or has a comma, a space, a line break or '!' in it")]
    BadTag(String),
    /// Not an interval line.
    #[error("interval log: {reason} in the line {line:?}")]
    BadLine {
        /// What is wrong with it.
        reason: &'static str,
        /// The start of the line.
        line: String,
    },
}

/// One histogram of one interval, read back. Extremes and mean have the histogram's three digits.
#[derive(Debug, Clone)]
pub struct Interval {
    /// The distribution's tag; empty for a line without one.
    pub tag: String,
    /// When the interval started, in seconds since the log's start time.
    pub from_s: f64,
    /// How long it was, in seconds.
    pub length_s: f64,
    /// Its values.
    pub latency: Latency,
}

/// The header of a log whose times count from `start_unix_s` (seconds since 1970, UTC).
#[must_use]
pub fn header(start_unix_s: f64) -> String {
    format!(
        "#[Histogram log format version 1.3]\n\
         #[StartTime: {start_unix_s:.3} (seconds since epoch)]\n\
         {LEGEND}\n"
    )
}

/// Appends the lines, without line breaks, of one interval: none if `latency` has no values.
///
/// # Errors
/// [`HlogError::BadTag`]; then nothing is appended.
pub fn write(
    tag: &str,
    from_s: f64,
    length_s: f64,
    latency: &Latency,
    lines: &mut Vec<String>,
) -> Result<(), HlogError> {
    check_tag(tag)?;
    let inside = latency.histogram();
    if !inside.is_empty() {
        lines.push(line(tag, from_s, length_s, inside));
    }
    if let (1.., Some(max)) = (latency.above_range(), latency.max()) {
        let above = repeated(max, latency.above_range());
        lines.push(line(&format!("{tag}{ABOVE}"), from_s, length_s, &above));
    }
    Ok(())
}

/// Whether a line can have this tag.
///
/// # Errors
/// [`HlogError::BadTag`].
pub fn check_tag(tag: &str) -> Result<(), HlogError> {
    if tag.is_empty() || tag.contains([',', ' ', '\n', '\r', '!']) {
        return Err(HlogError::BadTag(tag.to_owned()));
    }
    Ok(())
}

/// The intervals of a log, or of some of its lines, in their order. The line of the values above
/// the range is merged into its interval.
///
/// # Errors
/// [`HlogError::BadLine`] at the first line that is neither a comment nor an interval.
pub fn read(text: &str) -> Result<Vec<Interval>, HlogError> {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut unpacker = Unpacker::new();
    for line in text.lines().filter(|line| !is_remark(line)) {
        let interval = decode(line, &mut unpacker)?.interval();
        match interval.tag.strip_suffix(ABOVE) {
            None => intervals.push(interval),
            Some(tag) => join_above(&mut intervals, tag, &interval),
        }
    }
    Ok(intervals)
}

/// All values of each tag, over all intervals.
///
/// # Errors
/// The same as [`read`].
pub fn merge<'a>(
    lines: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<String, Latency>, HlogError> {
    Ok(sum(lines)?.into_iter().map(|interval| (interval.tag, interval.latency)).collect())
}

/// All values of each tag as one interval, over the time that the lines cover together. Merging
/// merged parts gives the same as merging all lines.
///
/// # Errors
/// The same as [`read`].
pub fn sum<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Vec<Interval>, HlogError> {
    let mut summed: BTreeMap<String, Interval> = BTreeMap::new();
    let mut unpacker = Unpacker::new();
    for line in lines.into_iter().flat_map(str::lines).filter(|line| !is_remark(line)) {
        let stored = decode(line, &mut unpacker)?;
        let tag = stored.tag.strip_suffix(ABOVE).unwrap_or(&stored.tag);
        let empty = || stored.empty(tag);
        summed.entry(tag.to_owned()).or_insert_with(empty).take_in(&stored);
    }
    Ok(summed.into_values().collect())
}

/// Appends the lines of an interval, as [`write`] does.
///
/// # Errors
/// [`HlogError::BadTag`]; then nothing is appended.
pub fn write_interval(interval: &Interval, lines: &mut Vec<String>) -> Result<(), HlogError> {
    let Interval { tag, from_s, length_s, latency } = interval;
    write(tag, *from_s, *length_s, latency, lines)
}

impl Interval {
    /// Adds values of the same tag.
    fn take_in(&mut self, stored: &Stored) {
        let ends_s = (self.from_s + self.length_s).max(stored.from_s + stored.length_s);
        self.from_s = self.from_s.min(stored.from_s);
        self.length_s = ends_s - self.from_s;
        stored.add_to(&mut self.latency);
    }
}

fn line(tag: &str, from_s: f64, length_s: f64, histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory fails only where there is none");
    let max_ms = histogram.max() as f64 / NANOS_PER_MILLI;
    format!("Tag={tag},{from_s:.6},{length_s:.6},{max_ms:.3},{}", BASE64.encode(bytes))
}

/// A histogram of its own range that holds `value` this many times.
fn repeated(value: Nanos, count: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("three digits are allowed");
    histogram
        .record_n(value.0.min(i64::MAX as u64), count)
        .expect("a histogram without an upper bound grows to fit");
    histogram
}

fn is_remark(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#') || line.starts_with('"')
}

/// A line's fields and counts, without 270 KB for each line.
struct Stored {
    tag: String,
    from_s: f64,
    length_s: f64,
    buckets: Vec<Bucket>,
}

impl Stored {
    fn interval(&self) -> Interval {
        let mut interval = self.empty(&self.tag);
        self.add_to(&mut interval.latency);
        interval
    }

    /// Its interval, still without values.
    fn empty(&self, tag: &str) -> Interval {
        let (from_s, length_s) = (self.from_s, self.length_s);
        Interval { tag: tag.to_owned(), from_s, length_s, latency: Latency::new() }
    }

    fn add_to(&self, latency: &mut Latency) {
        if self.tag.ends_with(ABOVE) {
            let count = self.buckets.iter().fold(0, |sum: u64, one| sum.saturating_add(one.count));
            let max = self.buckets.last().map_or(0, Bucket::highest);
            latency.add_above_range(count, Nanos(max));
        } else {
            latency.add_stored(&self.buckets);
        }
    }
}

fn decode(line: &str, unpacker: &mut Unpacker) -> Result<Stored, HlogError> {
    let bad = |reason| HlogError::BadLine { reason, line: line.chars().take(60).collect() };
    let (tag, rest) = match line.strip_prefix("Tag=") {
        None => ("", line),
        Some(tagged) => tagged.split_once(',').ok_or_else(|| bad("no field after the tag"))?,
    };
    let mut fields = rest.split(',');
    let mut next = |what| fields.next().ok_or_else(|| bad(what));
    let from_s = next("no start")?.parse().map_err(|_| bad("the start is not a number"))?;
    let length_s = next("no length")?.parse().map_err(|_| bad("the length is not a number"))?;
    next("no greatest value")?;
    let text = next("no histogram")?.trim_end();
    let buckets = unpacker.buckets(text).map_err(|reason| match reason {
        Unreadable::NotBase64 => bad("the histogram is not base64"),
        Unreadable::Damaged => bad("the histogram is damaged"),
    })?;
    Ok(Stored { tag: tag.to_owned(), from_s, length_s, buckets })
}

/// Finds the interval that the values above the range belong to; if all of its values were above,
/// it has no line.
fn join_above(intervals: &mut Vec<Interval>, tag: &str, above: &Interval) {
    let same = |interval: &&mut Interval| interval.tag == tag && interval.from_s == above.from_s;
    if let Some(interval) = intervals.iter_mut().rev().find(same) {
        interval.latency.merge(&above.latency);
    } else {
        intervals.push(Interval { tag: tag.to_owned(), ..above.clone() });
    }
}
