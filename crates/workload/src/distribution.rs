//! The distributions of keys over a table's rows.
//!
//! `uniform`, `special`, `gaussian` and `pareto` are those of sysbench 1.0.20, determined by
//! drawing some hundred million numbers from its script interface and fitting the results; each
//! sampler describes what was found. `zipfian` is the standard one (sysbench has it only in its
//! unreleased 1.1, with a default exponent of 0.8). Key 1 is the most frequent one in `pareto` and
//! `zipfian`; `special` and `gaussian` peak in the middle.

use serde::{Deserialize, Serialize};

use crate::SpecError;
use crate::random::Random;
use crate::zipf::Zipf;

/// A distribution with its parameters.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Distribution {
    /// All rows are equally likely. With braces, as serde refuses unknown keys only in a struct
    /// variant.
    Uniform {},
    /// The share `hits` (percent) of all draws falls on `percent` of the rows in the middle of the
    /// table; the rest is gaussian.
    Special {
        /// How many uniform numbers make one gaussian one.
        #[serde(default = "default_iterations")]
        iterations: u32,
        /// The size of the hot zone, in percent of the table.
        #[serde(default = "default_percent")]
        percent: f64,
        /// The share of draws that fall into it, in percent.
        #[serde(default = "default_hits")]
        hits: f64,
    },
    /// The mean of several uniform numbers: a bell in the middle of the table.
    Gaussian {
        /// The number of uniform numbers.
        #[serde(default = "default_iterations")]
        iterations: u32,
    },
    /// The share `1 - h` of all draws falls on the first share `h` of the rows, and so on
    /// recursively.
    Pareto {
        /// Between zero and one, exclusive.
        #[serde(default = "default_h")]
        h: f64,
    },
    /// Row `i` is drawn in proportion to `i` to the power of minus `exponent`.
    Zipfian {
        /// Zero or above.
        #[serde(default = "default_exponent")]
        exponent: f64,
    },
}

fn default_iterations() -> u32 {
    12
}
fn default_percent() -> f64 {
    1.0
}
fn default_hits() -> f64 {
    75.0
}
fn default_h() -> f64 {
    0.2
}
fn default_exponent() -> f64 {
    0.8
}

impl Default for Distribution {
    /// The default of sysbench 1.0.20.
    fn default() -> Self {
        Self::Special {
            iterations: default_iterations(),
            percent: default_percent(),
            hits: default_hits(),
        }
    }
}

impl Distribution {
    /// A sampler of `1..=size`.
    ///
    /// # Errors
    /// A parameter is out of its range, or `size` is zero.
    pub fn sampler(&self, size: u64) -> Result<Sampler, SpecError> {
        self.check()?;
        if size == 0 {
            return Err(SpecError::OutOfRange { what: "table_size", allowed: "1 and above" });
        }
        let span = size as f64;
        let kind = match *self {
            Self::Uniform {} => Kind::Uniform,
            Self::Gaussian { iterations } => Kind::Gaussian(Bell::new(iterations, span)),
            Self::Special { iterations, percent, hits } => {
                Kind::Special(Special::new(iterations, percent, hits, span))
            }
            Self::Pareto { h } => Kind::Pareto { power: h.ln() / (1.0 - h).ln(), span },
            Self::Zipfian { exponent } => Kind::Zipfian(Zipf::new(size, exponent)),
        };
        Ok(Sampler { size, kind })
    }

    fn check(&self) -> Result<(), SpecError> {
        let rules: &[(bool, &'static str, &'static str)] = &match *self {
            Self::Uniform {} => [OK, OK, OK],
            Self::Gaussian { iterations } => [iterations_rule(iterations), OK, OK],
            Self::Special { iterations, percent, hits } => [
                iterations_rule(iterations),
                ((0.0..=100.0).contains(&percent), "distribution.percent", "0 to 100"),
                ((0.0..=100.0).contains(&hits), "distribution.hits", "0 to 100"),
            ],
            Self::Pareto { h } => {
                [(h > 0.0 && h < 1.0, "distribution.h", "above 0 and below 1"), OK, OK]
            }
            Self::Zipfian { exponent } => {
                [((0.0..=100.0).contains(&exponent), "distribution.exponent", "0 to 100"), OK, OK]
            }
        };
        match rules.iter().find(|rule| !rule.0) {
            Some(&(_, what, allowed)) => Err(SpecError::OutOfRange { what, allowed }),
            None => Ok(()),
        }
    }
}

/// A condition that always holds, to pad kinds with fewer parameters.
const OK: (bool, &str, &str) = (true, "", "");

fn iterations_rule(iterations: u32) -> (bool, &'static str, &'static str) {
    ((1..=1000).contains(&iterations), "distribution.iterations", "1 to 1000")
}

/// Draws keys of `1..=size`.
#[derive(Copy, Clone, Debug)]
pub struct Sampler {
    size: u64,
    kind: Kind,
}

#[derive(Copy, Clone, Debug)]
enum Kind {
    Uniform,
    Special(Special),
    Gaussian(Bell),
    Pareto { power: f64, span: f64 },
    Zipfian(Zipf),
}

impl Sampler {
    /// The greatest key.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let above_one = match &self.kind {
            Kind::Uniform => return 1 + random.below(self.size),
            // Sizes beyond 2^53 are rounded there.
            Kind::Zipfian(zipf) => return zipf.draw(random).min(self.size),
            Kind::Special(special) => special.draw(random),
            Kind::Gaussian(bell) => bell.draw(random),
            Kind::Pareto { power, span } => span * random.unit().powf(*power),
        };
        // Rounding can reach the end of the half-open interval, which is not a key.
        1 + (above_one as u64).min(self.size - 1)
    }
}

/// `span` times the mean of `iterations` uniform numbers.
///
/// sysbench's `gaussian` fits with the number of rows as the span: mean 5000.5, deviation 2886.8
/// divided by the root of the iterations, for 10,000 rows.
#[derive(Copy, Clone, Debug)]
struct Bell {
    iterations: u32,
    scale: f64,
}

impl Bell {
    fn new(iterations: u32, span: f64) -> Self {
        Self { iterations, scale: span / f64::from(iterations) }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        (0..self.iterations).map(|_| random.unit()).sum::<f64>() * self.scale
    }
}

/// A hot zone in the middle, a bell everywhere else.
///
/// What sysbench's `special` does for `n` rows, determined with one iteration, where the edges show
/// as fractions of a key. With `m = n - 1`, the share `hits` of the draws is uniform over the upper
/// `hits` percent of a zone that starts at `m / 2 - m * percent / 200` above the first key and is
/// `1 + m * percent / 100` wide: by default that is 75 hot keys of 10,000, not 100. The bell's span
/// is `m` here, so it never draws the last key.
#[derive(Copy, Clone, Debug)]
struct Special {
    bell: Bell,
    hot_share: f64,
    hot_start: f64,
    hot_width: f64,
}

impl Special {
    fn new(iterations: u32, percent: f64, hits: f64, size: f64) -> Self {
        let span = size - 1.0;
        let (zone, hot_share) = (1.0 + span * percent / 100.0, hits / 100.0);
        let zone_start = span / 2.0 - span * percent / 200.0;
        Self {
            bell: Bell::new(iterations, span),
            hot_share,
            hot_start: zone_start + (1.0 - hot_share) * zone,
            hot_width: hot_share * zone,
        }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        if random.unit() < self.hot_share {
            self.hot_start + random.unit() * self.hot_width
        } else {
            self.bell.draw(random)
        }
    }
}
