//! Latency histograms: recorders for one thread, and the distributions that they become.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::stored::{Bucket, SIGNIFICANT_DIGITS};

/// The greatest latency that fits into the histogram: one hour. Values above are counted
/// separately.
pub const HIGHEST_TRACKABLE: Nanos = Nanos(3_600_000_000_000);

/// A distribution of latencies: a histogram, plus exact figures of what a histogram loses.
///
/// `count == in the histogram + above_range`. Shards and intervals are merged by adding, so a
/// quantile of merged data is that of all values together; percentiles are never averaged.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    above_range: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty distribution. It allocates some 270 KB, so reuse it with [`Latency::clear`] in
    /// frequent operations.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_TRACKABLE.0, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the histogram accepts");
        Self { histogram, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, above_range: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        if latency > HIGHEST_TRACKABLE || self.histogram.record(latency.0).is_err() {
            self.above_range += 1;
        }
        self.sum_ns += u128::from(latency.0);
        self.min_ns = self.min_ns.min(latency.0);
        self.max_ns = self.max_ns.max(latency.0);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.histogram.add(&other.histogram).expect("both histograms have the same range");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.above_range += other.above_range;
    }

    /// Removes all values, keeps the memory.
    pub fn clear(&mut self) {
        // Resetting writes 270 KB; most recorders of most intervals (one per error code) are empty.
        if !self.histogram.is_empty() {
            self.histogram.reset();
        }
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.above_range = 0;
    }

    /// The number of values, including those above the range.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len().saturating_add(self.above_range)
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The number of values greater than [`HIGHEST_TRACKABLE`].
    #[must_use]
    pub fn above_range(&self) -> u64 {
        self.above_range
    }

    /// The least value; `None` if there are no values.
    #[must_use]
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(Nanos(self.min_ns))
    }

    /// The greatest value, also above the range; `None` if there are no values.
    #[must_use]
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(Nanos(self.max_ns))
    }

    /// The arithmetic mean in nanoseconds; `None` if there are no values.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The value that the share `quantile` (0 to 1) of all values does not exceed, to three digits
    /// (its upper edge, but never more than the greatest value); `None` if there are no values.
    ///
    /// A quantile that falls among the values above the range is the greatest value: the values in
    /// between are not known, and the true one is not greater.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        if self.is_empty() {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let inside = self.histogram.len();
        if rank > inside {
            return Some(Nanos(self.max_ns));
        }
        let edge = self.histogram.value_at_quantile(rank_as_quantile(rank, inside));
        // The edge of a bucket can be beyond the values in it.
        let edge = edge.min(HIGHEST_TRACKABLE.0);
        Some(Nanos(edge.clamp(self.min_ns, self.max_ns)))
    }

    /// How often each value occurred, in rising order and to three digits (upper edges, as in
    /// [`Latency::quantile`]). Values above the range count as the greatest.
    #[must_use]
    pub fn counts(&self) -> Vec<(Nanos, u64)> {
        let bounded = |edge: u64| Nanos(edge.clamp(self.min_ns, self.max_ns));
        let mut counts: Vec<_> = self
            .histogram
            .iter_recorded()
            .map(|bucket| (bounded(bucket.value_iterated_to()), bucket.count_at_value()))
            .collect();
        if self.above_range > 0 {
            counts.push((Nanos(self.max_ns), self.above_range));
        }
        counts
    }

    /// The usual summary figures.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let at = |quantile| self.quantile(quantile).map(|nanos| nanos.0);
        LatencySummary {
            count: self.count(),
            min: self.min().map(|nanos| nanos.0),
            mean: self.mean_ns(),
            p50: at(0.50),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max().map(|nanos| nanos.0),
            above_range: self.above_range,
        }
    }

    /// The histogram of the values within the range, for [`crate::hlog`].
    pub(crate) fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Adds the buckets of a stored histogram, in rising order: extremes and mean have its digits.
    pub(crate) fn add_stored(&mut self, buckets: &[Bucket]) {
        let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return };
        // Not the recorded value below: that is the middle of a bucket.
        let (min_ns, max_ns) = (self.min_ns.min(first.lowest), last.highest());
        for bucket in buckets {
            let mut value = bucket.middle();
            // The range's last bucket extends beyond it; the values counted there were within.
            if bucket.lowest <= HIGHEST_TRACKABLE.0 {
                value = value.min(HIGHEST_TRACKABLE.0);
            }
            self.record_many(value, bucket.count);
        }
        self.min_ns = min_ns;
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Adds `count` values above the range of which only the greatest is known.
    pub(crate) fn add_above_range(&mut self, count: u64, max: Nanos) {
        if count == 0 {
            return;
        }
        self.above_range = self.above_range.saturating_add(count);
        self.sum_ns = self.sum_ns.saturating_add(u128::from(max.0) * u128::from(count));
        self.min_ns = self.min_ns.min(max.0);
        self.max_ns = self.max_ns.max(max.0);
    }

    fn record_many(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        if value > HIGHEST_TRACKABLE.0 || self.histogram.record_n(value, count).is_err() {
            self.above_range = self.above_range.saturating_add(count);
        }
        self.sum_ns = self.sum_ns.saturating_add(u128::from(value) * u128::from(count));
        self.min_ns = self.min_ns.min(value);
        self.max_ns = self.max_ns.max(value);
    }
}

/// The quantile for which a histogram of `count` values returns the value of this `rank`: the
/// middle between two ranks, as `rank / count * count` may round up to the next rank.
fn rank_as_quantile(rank: u64, count: u64) -> f64 {
    (rank as f64 - 0.5) / count as f64
}

/// The latencies of one interval, filled by one thread.
#[derive(Clone, Debug, Default)]
pub struct LatencyRecorder {
    current: Latency,
}

impl LatencyRecorder {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.current.record(latency);
    }

    /// Counts one value `count` times.
    pub fn record_many(&mut self, latency: Nanos, count: u64) {
        self.current.record_many(latency.0, count);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Latency) {
        self.current.merge(other);
    }

    /// The values recorded since the interval started.
    #[must_use]
    pub fn current(&self) -> &Latency {
        &self.current
    }

    /// Ends the interval: takes out the recorded values. Allocates; see [`LatencyRecorder::swap`].
    #[must_use]
    pub fn take(&mut self) -> Latency {
        std::mem::take(&mut self.current)
    }

    /// Ends the interval without allocating: takes out the recorded values and continues in
    /// `spare`, which is cleared. Two distributions per recorder alternate between the threads.
    #[must_use]
    pub fn swap(&mut self, mut spare: Latency) -> Latency {
        spare.clear();
        std::mem::replace(&mut self.current, spare)
    }

    /// Ends recording: the recorded values.
    #[must_use]
    pub fn finish(self) -> Latency {
        self.current
    }

    /// Ends the interval by adding it to `total`, keeping the memory here.
    pub fn drain_into(&mut self, total: &mut Latency) {
        if !self.current.is_empty() {
            total.merge(&self.current);
            self.current.clear();
        }
    }
}

impl From<Latency> for LatencyRecorder {
    /// Goes on with these values, in their memory.
    fn from(current: Latency) -> Self {
        Self { current }
    }
}

/// The usual summary figures of a latency, in nanoseconds; `None` if there are no values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// The number of values, including those above the range.
    pub count: u64,
    /// The least value.
    pub min: Option<u64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<u64>,
    /// The 90th percentile.
    pub p90: Option<u64>,
    /// The 95th percentile.
    pub p95: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The 99.9th percentile.
    pub p999: Option<u64>,
    /// The greatest value.
    pub max: Option<u64>,
    /// The number of values above the histogram's range, one hour.
    pub above_range: u64,
}
