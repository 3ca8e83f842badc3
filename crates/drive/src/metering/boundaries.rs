//! The boundaries of intervals: whole seconds of the warm-up, then whole seconds of the window, and
//! both ends of the window exactly.

use crate::record::PhaseName;
use loadstone_measure::Nanos;
use loadstone_workload::stop::StopRule;

const SECOND: u64 = 1_000_000_000;

/// The index of the drain's interval: it comes after all others, on every shard.
pub(crate) const DRAIN_INDEX: u64 = u64::MAX;

/// An interval; times are since the load started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) index: u64,
    pub(crate) phase: PhaseName,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

#[derive(Clone, Debug)]
pub(crate) struct Boundaries {
    warmup: Nanos,
    end: Nanos,
    from: Nanos,
    index: u64,
    draining: bool,
}

impl Boundaries {
    pub(crate) fn new(stop: &StopRule) -> Self {
        let (warmup, end) = (stop.window_begins(), stop.window_ends());
        Self { warmup, end, from: Nanos(0), index: 0, draining: false }
    }

    /// Whether the window ends with the current interval.
    pub(crate) fn is_last(&self) -> bool {
        !self.draining && self.next() == self.end
    }

    /// When the current interval started; in a drain, when the window ended.
    pub(crate) fn from(&self) -> Nanos {
        self.from
    }

    /// When the current interval ends.
    pub(crate) fn next(&self) -> Nanos {
        if self.draining {
            return Nanos(u64::MAX);
        }
        let (begin, end) =
            if self.from < self.warmup { (0, self.warmup) } else { (self.warmup.0, self.end) };
        let seconds = (self.from.0 - begin) / SECOND + 1;
        Nanos(begin + seconds * SECOND).min(end)
    }

    /// Ends the current interval at `at`, or at its planned end if that is earlier.
    pub(crate) fn cut(&mut self, at: Nanos) -> Span {
        let to = at.min(self.next()).max(self.from);
        let index = if self.draining { DRAIN_INDEX } else { self.index };
        let span = Span { index, phase: self.phase(), from: self.from, to };
        self.from = to;
        self.index += 1;
        span
    }

    /// From now on nothing is measured.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    fn phase(&self) -> PhaseName {
        if self.draining {
            PhaseName::Drain
        } else if self.from < self.warmup {
            PhaseName::Warmup
        } else {
            PhaseName::Window
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundaries(warmup_s: f64, duration_s: f64) -> Boundaries {
        Boundaries::new(&StopRule::Time { warmup_s, duration_s })
    }

    fn all(mut boundaries: Boundaries) -> Vec<(PhaseName, u64, u64)> {
        let mut spans = Vec::new();
        while boundaries.from < boundaries.end {
            let next = boundaries.next();
            let span = boundaries.cut(next);
            spans.push((span.phase, span.from.0 / 1_000_000, span.to.0 / 1_000_000));
        }
        spans
    }

    #[test]
    fn the_window_has_whole_seconds_even_after_a_broken_warmup() {
        use PhaseName::{Warmup, Window};
        let expected = vec![
            (Warmup, 0, 1000),
            (Warmup, 1000, 1500),
            (Window, 1500, 2500),
            (Window, 2500, 3500),
            (Window, 3500, 3750),
        ];
        assert_eq!(all(boundaries(1.5, 2.25)), expected);
    }

    #[test]
    fn a_step_without_warmup_begins_with_the_window() {
        assert_eq!(all(boundaries(0.0, 0.5)), vec![(PhaseName::Window, 0, 500)]);
    }

    #[test]
    fn a_stop_cuts_the_interval_where_it_comes() {
        let mut boundaries = boundaries(0.0, 10.0);
        let span = boundaries.cut(Nanos(400_000_000));
        assert_eq!((span.phase, span.to), (PhaseName::Window, Nanos(400_000_000)));
        boundaries.drain();
        let span = boundaries.cut(Nanos(900_000_000));
        assert_eq!((span.index, span.phase), (DRAIN_INDEX, PhaseName::Drain));
        assert_eq!((span.from, span.to), (Nanos(400_000_000), Nanos(900_000_000)));
    }
}
