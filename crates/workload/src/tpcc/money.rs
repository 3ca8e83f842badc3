//! Amounts of money: hundredths, so that sums are exact. Rows have them as `DECIMAL`, parameters as
//! whole hundredths that the statement divides.

use loadstone_protocol::Value;

/// A value as an integer, if it is one.
pub(super) fn int(value: &Value<'_>) -> Option<i64> {
    match *value {
        Value::Int(value) => Some(value),
        Value::Unsigned(value) => i64::try_from(value).ok(),
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Value::Null | Value::Double(_) | Value::Temporal(_) => None,
    }
}

/// An amount with at most two decimal places, in hundredths.
pub(super) fn hundredths(value: &Value<'_>) -> Option<i64> {
    let Value::Bytes(text) = *value else { return int(value)?.checked_mul(100) };
    let text = std::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !part.bytes().all(|sign| sign.is_ascii_digit()) {
        return None;
    }
    let is_negative = whole.starts_with('-');
    let part = match part.len() {
        0 => 0,
        1 => part.parse::<u8>().ok()? * 10,
        2 => part.parse::<u8>().ok()?,
        _ => return None,
    };
    let whole = whole.parse::<i64>().ok()?.checked_mul(100)?;
    whole.checked_add(if is_negative { -i64::from(part) } else { i64::from(part) })
}

/// A text.
pub(super) fn text<'a>(value: &Value<'a>) -> Option<&'a [u8]> {
    match *value {
        Value::Bytes(text) => Some(text),
        _ => None,
    }
}

/// Appends an amount as a `DECIMAL` literal.
pub(super) fn push_amount(hundredths: i64, out: &mut Vec<u8>) {
    if hundredths < 0 {
        out.push(b'-');
    }
    let amount = hundredths.unsigned_abs();
    crate::text::push_decimal((amount / 100) as i64, out);
    out.push(b'.');
    out.extend([b'0' + (amount % 100 / 10) as u8, b'0' + (amount % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_to_the_hundredth() {
        for (text, expected) in [
            ("0.00", 0),
            ("12.34", 1_234),
            ("-10.00", -1_000),
            ("-0.05", -5),
            ("300000.00", 30_000_000),
        ] {
            assert_eq!(hundredths(&Value::Bytes(text.as_bytes())), Some(expected), "{text}");
            let mut out = Vec::new();
            push_amount(expected, &mut out);
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(hundredths(&Value::Bytes(b"7")), Some(700));
        assert_eq!(hundredths(&Value::Bytes(b"7.5")), Some(750));
        assert_eq!(hundredths(&Value::Int(-3)), Some(-300));
        for bad in ["", "x", "1.234", "1.x", "1.+5", "--1.00"] {
            assert_eq!(hundredths(&Value::Bytes(bad.as_bytes())), None, "{bad}");
        }
        assert_eq!(hundredths(&Value::Null), None);
    }

    #[test]
    fn whole_numbers_are_read_in_both_notations() {
        assert_eq!(int(&Value::Int(-4)), Some(-4));
        assert_eq!(int(&Value::Bytes(b"3001")), Some(3_001));
        assert_eq!(int(&Value::Unsigned(u64::MAX)), None);
        assert_eq!(int(&Value::Null), None);
    }
}
