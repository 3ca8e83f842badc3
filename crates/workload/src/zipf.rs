//! Numbers by Zipf's law.

use crate::random::Random;

/// Zipf's law over `1..=size` in constant time and memory.
///
/// Rejection-inversion after W. Hörmann and G. Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions" (ACM TOMACS 6.3, 1996): draw from the integral of
/// the density, which can be inverted, and reject what is above the steps. Fewer than 1.1 tries per
/// draw.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Zipf {
    size: f64,
    exponent: f64,
    /// The integral at the left end of the first step, minus that step itself.
    integral_first: f64,
    integral_last: f64,
    /// Points this close to the right end of a step are accepted without computing its height.
    shortcut: f64,
}

impl Zipf {
    pub(crate) fn new(size: u64, exponent: f64) -> Self {
        let size = size as f64;
        let second = integral_inverse(integral(2.5, exponent) - height(2.0, exponent), exponent);
        Self {
            size,
            exponent,
            integral_first: integral(1.5, exponent) - 1.0,
            integral_last: integral(size + 0.5, exponent),
            shortcut: 2.0 - second,
        }
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area =
                self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let point = integral_inverse(area, self.exponent);
            let key = (point + 0.5).floor().clamp(1.0, self.size);
            let accepted = key - point <= self.shortcut
                || area >= integral(key + 0.5, self.exponent) - height(key, self.exponent);
            if accepted {
                return key as u64;
            }
        }
    }
}

fn height(x: f64, exponent: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// The integral of `height` from 1 to `x`: `(x^(1-e) - 1) / (1-e)`, and the logarithm where `e` is 1.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    expm1_over((1.0 - exponent) * log) * log
}

fn integral_inverse(area: f64, exponent: f64) -> f64 {
    // Rounding may step over the pole, beyond which the logarithm has no value.
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    (ln1p_over(scaled) * area).exp()
}

/// `(e^x - 1) / x`, also near zero.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// `ln(1 + x) / x`, also near zero.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}
