//! Doubles as C's `%.15g` writes them, which is how variables stand in SQL.

/// Digits that a double always keeps: `DBL_DIG` of float.h.
const DIGITS: usize = 15;

/// Appends a double with at most 15 digits, in the shorter notation, without zeros at its end.
pub(super) fn push_general(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        let text = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        return out.extend_from_slice(text.as_bytes());
    }
    let written = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < -4 || exponent >= DIGITS as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let short = format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
        return out.extend_from_slice(short.as_bytes());
    }
    let decimals = (DIGITS as i32 - 1 - exponent).max(0) as usize;
    out.extend_from_slice(without_zeros(&format!("{value:.decimals$}")).as_bytes());
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_as_short_as_fifteen_digits_allow() {
        for (value, expected) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (0.1 + 0.2, "0.3"),
            (-2.0, "-2"),
            (1e15, "1e+15"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.0 / 3.0, "0.333333333333333"),
            (2e300, "2e+300"),
            (f64::INFINITY, "Infinity"),
        ] {
            let mut out = Vec::new();
            push_general(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
