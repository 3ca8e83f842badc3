//! Service times: how long the null server takes to answer.

use crate::random::Random;
use serde::Deserialize;

/// The longest time that a script may request.
pub(crate) const LONGEST_S: f64 = 86_400.0;

/// A service time, drawn for each load statement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Service {
    /// Answers at once.
    #[default]
    None,
    /// Always the same.
    Constant {
        /// Microseconds.
        us: f64,
    },
    /// Exponentially distributed, as the gaps between independent arrivals.
    Exponential {
        /// Its mean.
        mean_us: f64,
    },
    /// Log-normal: skewed, as real servers' times are.
    Lognormal {
        /// Its median.
        median_us: f64,
        /// The standard deviation of its logarithm.
        sigma: f64,
    },
    /// Uniformly distributed between two times.
    Uniform {
        /// The shortest.
        from_us: f64,
        /// The longest.
        to_us: f64,
    },
    /// Straight lines between given quantiles.
    Quantiles {
        /// Pairs of quantile (0 first, 1 last) and microseconds, both ascending.
        points: Vec<(f64, f64)>,
    },
}

impl Service {
    /// The next service time in nanoseconds.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let us = match self {
            Self::None => 0.0,
            Self::Constant { us } => *us,
            Self::Exponential { mean_us } => -mean_us * (1.0 - random.unit()).ln(),
            Self::Lognormal { median_us, sigma } => median_us * (sigma * random.normal()).exp(),
            Self::Uniform { from_us, to_us } => from_us + (to_us - from_us) * random.unit(),
            Self::Quantiles { points } => at_quantile(points, random.unit()),
        };
        (us * 1000.0).round() as u64
    }

    pub(crate) fn wrong(&self) -> Option<String> {
        let times = match self {
            Self::None => vec![],
            Self::Constant { us } => vec![("service.us", *us)],
            Self::Exponential { mean_us } => vec![("service.mean_us", *mean_us)],
            Self::Lognormal { median_us, sigma } => {
                vec![("service.median_us", *median_us), ("service.sigma", *sigma)]
            }
            Self::Uniform { from_us, to_us } => {
                vec![("service.from_us", *from_us), ("service.to_us", *to_us)]
            }
            Self::Quantiles { points } => {
                points.iter().map(|&(_, us)| ("service.points: time", us)).collect()
            }
        };
        times.into_iter().find_map(|(name, us)| wrong_us(name, us)).or_else(|| match self {
            Self::Uniform { from_us, to_us } if from_us > to_us => {
                Some(format!("service.to_us {to_us} is less than from_us {from_us}"))
            }
            Self::Quantiles { points } => wrong_points(points),
            _ => None,
        })
    }
}

fn wrong_points(points: &[(f64, f64)]) -> Option<String> {
    let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    let whole = points.len() >= 2 && points[0].0 == 0.0 && points[points.len() - 1].0 == 1.0;
    (!(ascending && whole)).then(|| {
        "service.points must ascend, from quantile 0 to quantile 1, as [[0, 100], [1, 900]]".into()
    })
}

fn at_quantile(points: &[(f64, f64)], quantile: f64) -> f64 {
    let above = points.partition_point(|point| point.0 <= quantile).clamp(1, points.len() - 1);
    let ((q0, us0), (q1, us1)) = (points[above - 1], points[above]);
    us0 + (us1 - us0) * (quantile - q0) / (q1 - q0)
}

/// Describes an invalid time in microseconds.
pub(crate) fn wrong_us(name: &str, value: f64) -> Option<String> {
    (!(0.0..=LONGEST_S * 1e6).contains(&value))
        .then(|| format!("{name} {value} must be from 0 to {}", LONGEST_S * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiles(service: &Service, wanted: &[f64]) -> Vec<f64> {
        let mut random = Random::new(1, 0);
        let mut drawn: Vec<u64> = (0..200_000).map(|_| service.draw(&mut random)).collect();
        drawn.sort_unstable();
        wanted.iter().map(|q| drawn[(q * 200_000.0) as usize] as f64 / 1000.0).collect()
    }

    #[test]
    fn distributions_have_their_quantiles() {
        let points = vec![(0.0, 100.0), (0.9, 200.0), (1.0, 1000.0)];
        // By theory: -ln(1 - q), exp(sigma z), the line.
        let cases = [
            (Service::Constant { us: 5.0 }, [5.0, 5.0, 5.0]),
            (Service::Exponential { mean_us: 1000.0 }, [693.1, 2302.6, 4605.2]),
            (Service::Lognormal { median_us: 100.0, sigma: 0.5 }, [100.0, 189.8, 320.0]),
            (Service::Uniform { from_us: 10.0, to_us: 20.0 }, [15.0, 19.0, 19.9]),
            (Service::Quantiles { points }, [155.6, 200.0, 920.0]),
        ];
        for (service, expected) in cases {
            for (is, should) in quantiles(&service, &[0.5, 0.9, 0.99]).iter().zip(expected) {
                assert!((is / should - 1.0).abs() < 0.03, "{service:?}: {is} for {should}");
            }
        }
    }
}
