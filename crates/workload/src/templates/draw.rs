//! Draws the random values of a template, for rows and for parameters.

use crate::SpecError;
use crate::calendar::{push_moment, push_parts};
use crate::distribution::Sampler;
use crate::random::Random;
use crate::text::{ALPHANUMERIC, CAPITALS, DIGITS, push_of};
use crate::text::{push_decimal, push_groups};

use super::spec::{Literal, ValueSpec};

const DAY_S: i64 = 86_400;

/// The longest drawn text: a column of most types holds no more.
const LONGEST_TEXT: u32 = 65_535;

/// How a value is drawn, unless it depends on who draws.
#[derive(Clone, Debug)]
pub(super) enum Draw {
    Integer {
        low: i64,
        sampler: Sampler,
    },
    Hot(Hot),
    Unique,
    Text {
        least: u64,
        most: u64,
    },
    /// Groups of eleven digits with hyphens between them, as in the columns of the `sbtest` tables.
    Groups(usize),
    Pattern(Vec<u8>),
    Choice(Vec<Literal>),
    Decimal {
        low: i64,
        span: u64,
        places: u32,
    },
    Moment {
        low: i64,
        span: u64,
        unit: i64,
    },
}

/// A drawn value.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Drawn {
    Null,
    Int(i64),
    Double(f64),
    /// The appended text.
    Text,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Hot {
    low: i64,
    size: u64,
    hot: u64,
    share: f64,
}

impl Draw {
    /// `None` for values that depend on who draws: the number of a row or user, other parameters,
    /// rows.
    pub(super) fn compile(value: &ValueSpec) -> Result<Option<Self>, SpecError> {
        Ok(Some(match value {
            ValueSpec::Integer { low, high, spread } => {
                Self::Integer { low: *low, sampler: spread.sampler(span(*low, *high)?)? }
            }
            ValueSpec::Hot { low, high, percent, hits } => {
                Self::Hot(Hot::new(*low, span(*low, *high)?, *percent, *hits)?)
            }
            ValueSpec::Unique {} => Self::Unique,
            ValueSpec::Text { least, most } => {
                if least > most || *most > LONGEST_TEXT {
                    return refuse("template: a length of text", "0 to 65535, the least first");
                }
                Self::Text { least: u64::from(*least), most: u64::from(*most) }
            }
            ValueSpec::Pattern { pattern } => pattern_of(pattern),
            ValueSpec::Choice { values } if values.is_empty() => {
                return refuse("template: a choice", "one of at least one value");
            }
            ValueSpec::Choice { values } => Self::Choice(values.clone()),
            ValueSpec::Constant { value } => Self::Choice(vec![value.clone()]),
            ValueSpec::Decimal { low, high, places } => {
                if *places > 18 {
                    return refuse("template: places of a decimal", "0 to 18");
                }
                Self::Decimal { low: *low, span: span(*low, *high)?, places: *places }
            }
            ValueSpec::Moment { low, high, with_time } => {
                let unit = if *with_time { 1 } else { DAY_S };
                let (low, high) = (low.div_euclid(unit), high.div_euclid(unit));
                Self::Moment { low, span: span(low, high)?, unit }
            }
            ValueSpec::Sequence { .. }
            | ValueSpec::Cycle { .. }
            | ValueSpec::Offset { .. }
            | ValueSpec::Read {} => {
                return Ok(None);
            }
        }))
    }

    /// Draws a value; a text is appended to `out`.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random, out: &mut Vec<u8>) -> Drawn {
        match self {
            Self::Integer { low, sampler } => Drawn::Int(low + (sampler.draw(random) as i64 - 1)),
            Self::Hot(hot) => Drawn::Int(hot.draw(random)),
            Self::Unique => Drawn::Int((random.bits() >> 1) as i64),
            Self::Groups(groups) => {
                push_groups(*groups, random, out);
                Drawn::Text
            }
            Self::Text { least, most } => {
                push_of(ALPHANUMERIC, random.within(*least, *most), random, out);
                Drawn::Text
            }
            Self::Pattern(pattern) => {
                push_pattern(pattern, random, out);
                Drawn::Text
            }
            Self::Choice(values) => {
                let place = if values.len() == 1 { 0 } else { random.below(values.len() as u64) };
                drawn_of(&values[place as usize], out)
            }
            Self::Decimal { low, span, places } => {
                push_scaled(low + random.below(*span) as i64, *places, out);
                Drawn::Text
            }
            Self::Moment { low, span, unit } => {
                let moment = (low + random.below(*span) as i64) * unit;
                push_moment(moment, *unit == 1, out);
                Drawn::Text
            }
        }
    }
}

impl Hot {
    fn new(low: i64, size: u64, percent: f64, hits: f64) -> Result<Self, SpecError> {
        let is_share = |share: f64| share > 0.0 && share < 100.0;
        if !is_share(percent) || !is_share(hits) {
            return refuse("template: percent and hits of a hot set", "above 0 and below 100");
        }
        let hot = ((size as f64 * percent / 100.0) as u64).clamp(1, size);
        // If all numbers are hot there is nothing else to draw.
        let share = if hot == size { 1.0 } else { hits / 100.0 };
        Ok(Self { low, size, hot, share })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> i64 {
        let place = if random.unit() < self.share {
            random.below(self.hot)
        } else {
            self.hot + random.below(self.size - self.hot)
        };
        self.low + place as i64
    }
}

/// The number of integers from the one to the other.
fn span(low: i64, high: i64) -> Result<u64, SpecError> {
    match high.checked_sub(low).and_then(|span| span.checked_add(1)) {
        Some(span) if span > 0 => Ok(span as u64),
        _ => refuse("template: a range", "the least first, and less than 2^63 wide"),
    }
}

pub(super) fn refuse<T>(what: &'static str, allowed: &'static str) -> Result<T, SpecError> {
    Err(SpecError::OutOfRange { what, allowed })
}

fn pattern_of(pattern: &str) -> Draw {
    const GROUP: &str = "###########";
    let groups: Vec<_> = pattern.split('-').collect();
    if groups.iter().all(|group| *group == GROUP) {
        return Draw::Groups(groups.len());
    }
    Draw::Pattern(pattern.as_bytes().to_vec())
}

fn drawn_of(literal: &Literal, out: &mut Vec<u8>) -> Drawn {
    match literal {
        Literal::Null => Drawn::Null,
        Literal::Int(value) => Drawn::Int(*value),
        Literal::Double(value) => Drawn::Double(*value),
        Literal::Text(text) => {
            out.extend_from_slice(text.as_bytes());
            Drawn::Text
        }
    }
}

fn push_pattern(pattern: &[u8], random: &mut Random, out: &mut Vec<u8>) {
    for byte in pattern {
        match byte {
            b'#' => push_of(DIGITS, 1, random, out),
            b'@' => push_of(CAPITALS, 1, random, out),
            other => out.push(*other),
        }
    }
}

/// Appends a fixed-point number counted in its last place: 1234 with two places is `12.34`.
fn push_scaled(value: i64, places: u32, out: &mut Vec<u8>) {
    let unit = 10_u64.pow(places);
    if value < 0 {
        out.push(b'-');
    }
    let size = value.unsigned_abs();
    push_decimal((size / unit) as i64, out);
    if places > 0 {
        out.push(b'.');
        push_parts(&[((size % unit) as i64, places)], b'.', out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn drawn(value: &str, count: usize) -> Vec<String> {
        let spec: ValueSpec = serde_json::from_str(value).unwrap();
        let draw = Draw::compile(&spec).unwrap().unwrap();
        let mut random = Random::new(42, Purpose::Keys, &[0]);
        let one = |random: &mut Random| {
            let mut out = Vec::new();
            match draw.draw(random, &mut out) {
                Drawn::Text => String::from_utf8(out).unwrap(),
                Drawn::Int(value) => value.to_string(),
                Drawn::Double(value) => value.to_string(),
                Drawn::Null => "NULL".to_owned(),
            }
        };
        (0..count).map(|_| one(&mut random)).collect()
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        for (value, low, high) in [
            (r#"{"kind": "integer", "low": -3, "high": 3}"#, -3, 3),
            (r#"{"kind": "integer", "low": 5, "high": 9, "spread": {"kind": "zipfian"}}"#, 5, 9),
            (r#"{"kind": "hot", "low": 1, "high": 4, "percent": 25, "hits": 90}"#, 1, 4),
        ] {
            let all: Vec<i64> =
                drawn(value, 2_000).iter().map(|one| one.parse().unwrap()).collect();
            assert_eq!((all.iter().min(), all.iter().max()), (Some(&low), Some(&high)), "{value}");
        }
    }

    #[test]
    fn the_hot_set_gets_its_share() {
        let value = r#"{"kind": "hot", "low": 1, "high": 1000, "percent": 2, "hits": 80}"#;
        let hot = drawn(value, 20_000).into_iter().filter(|one| one.parse::<i64>().unwrap() <= 20);
        // 16,000 are expected; the deviation is 57.
        assert!(hot.count().abs_diff(16_000) < 300);
    }

    #[test]
    fn texts_have_their_shape() {
        for text in drawn(r#"{"kind": "text", "least": 3, "most": 5}"#, 200) {
            assert!(
                (3..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
            );
        }
        let like = |pattern: &str| {
            let value = serde_json::json!({"kind": "pattern", "pattern": pattern});
            drawn(&value.to_string(), 1).remove(0)
        };
        let plate = like("@@ ##-x");
        let of = |place: usize| plate.as_bytes()[place];
        assert!(of(0).is_ascii_uppercase() && of(3).is_ascii_digit() && plate.ends_with("-x"));
        let c = like("###########-###########");
        assert!(c.len() == 23 && c.split('-').all(|group| group.len() == 11), "{c}");
    }

    #[test]
    fn decimals_and_moments_are_written_as_servers_read_them() {
        let value = r#"{"kind": "decimal", "low": -150, "high": -150, "places": 2}"#;
        assert_eq!(drawn(value, 1), ["-1.50"]);
        let value = r#"{"kind": "decimal", "low": 7, "high": 7, "places": 3}"#;
        assert_eq!(drawn(value, 1), ["0.007"]);
        let value = r#"{"kind": "moment", "low": 86400, "high": 172800, "with_time": false}"#;
        let days: std::collections::BTreeSet<_> = drawn(value, 50).into_iter().collect();
        assert_eq!(days.into_iter().collect::<Vec<_>>(), ["1970-01-02", "1970-01-03"]);
    }

    #[test]
    fn choices_are_all_drawn_and_constants_stay() {
        let all: std::collections::BTreeSet<_> =
            drawn(r#"{"kind": "choice", "values": ["a", 1, 2.5, null]}"#, 200)
                .into_iter()
                .collect();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["1", "2.5", "NULL", "a"]);
        assert_eq!(drawn(r#"{"kind": "constant", "value": "x"}"#, 2), ["x", "x"]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for value in [
            r#"{"kind": "integer", "low": 2, "high": 1}"#,
            r#"{"kind": "integer", "low": -9223372036854775808, "high": 9223372036854775807}"#,
            r#"{"kind": "hot", "low": 1, "high": 9, "percent": 0, "hits": 50}"#,
            r#"{"kind": "text", "least": 4, "most": 3}"#,
            r#"{"kind": "choice", "values": []}"#,
            r#"{"kind": "decimal", "low": 0, "high": 1, "places": 19}"#,
        ] {
            let spec: ValueSpec = serde_json::from_str(value).unwrap();
            assert!(Draw::compile(&spec).is_err(), "{value}");
        }
    }
}
