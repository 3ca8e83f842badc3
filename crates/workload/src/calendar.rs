//! Dates of the Gregorian calendar.

use crate::text::push_decimal;

const DAY_S: i64 = 86_400;

/// Appends a date in the server's format: `2026-11-22`, or `2026-11-22 18:45:00` with its time.
pub(crate) fn push_moment(unix_s: i64, with_time: bool, out: &mut Vec<u8>) {
    let (year, month, day) = civil(unix_s.div_euclid(DAY_S));
    push_parts(&[(year, 4), (month, 2), (day, 2)], b'-', out);
    if with_time {
        let second = unix_s.rem_euclid(DAY_S);
        out.push(b' ');
        push_time(second / 3_600, second / 60 % 60, second % 60, out);
    }
}

/// Appends `18:45:00`.
pub(crate) fn push_time(hours: i64, minutes: i64, seconds: i64, out: &mut Vec<u8>) {
    push_parts(&[(hours, 2), (minutes, 2), (seconds, 2)], b':', out);
}

/// Appends numbers with at least this many digits each.
pub(crate) fn push_parts(parts: &[(i64, u32)], between: u8, out: &mut Vec<u8>) {
    for (place, &(number, width)) in parts.iter().enumerate() {
        if place > 0 {
            out.push(between);
        }
        for digits in (1..width).rev() {
            if number < 10_i64.pow(digits) {
                out.push(b'0');
            }
        }
        push_decimal(number, out);
    }
}

/// Year, month and day of the day `days` after 1970-01-01: the algorithm `civil_from_days` that Howard Hinnant
/// describes in "chrono-Compatible Low-Level Date Algorithms".
fn civil(days: i64) -> (i64, i64, i64) {
    // If years start in March, they end with their leap day.
    let since = days + 719_468;
    let era = since.div_euclid(146_097);
    let of_era = since.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(unix_s: i64, with_time: bool) -> String {
        let mut out = Vec::new();
        push_moment(unix_s, with_time, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        assert_eq!(written(0, true), "1970-01-01 00:00:00");
        assert_eq!(written(951_782_399, true), "2000-02-28 23:59:59");
        assert_eq!(written(951_782_400, false), "2000-02-29");
        assert_eq!(written(-1, true), "1969-12-31 23:59:59");
        assert_eq!(written(4_107_542_399, false), "2100-02-28");
        assert_eq!(written(4_107_542_400, false), "2100-03-01", "no leap year");
        assert_eq!(written(-62_135_596_800, false), "0001-01-01");
    }

    #[test]
    fn each_day_follows_the_one_before_it() {
        let lengths = |year: i64| {
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let mut day = 0;
        for year in 1970..2110 {
            for (month, length) in (1..).zip(lengths(year)) {
                for of_month in 1..=length {
                    assert_eq!(civil(day), (year, month, of_month));
                    day += 1;
                }
            }
        }
    }
}
