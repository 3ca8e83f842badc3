//! Options that a script declares, and the values given for them.

use std::collections::BTreeMap;

use crate::ScriptError;

/// The value of an option, as a script sees it in `sysbench.opt`.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `true` or `false`.
    Bool(bool),
    /// A number; Lua has only one kind.
    Number(f64),
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// The kind of an option's value: the script's `sysbench.cmdline.ARG_…`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A flag without a value.
    Null,
    /// on, off, true, false, 1 or 0.
    Bool,
    /// A number.
    Int,
    /// A number with K, M, G or T for powers of 1024.
    Size,
    /// A number.
    Double,
    /// A text.
    String,
    /// Comma-separated texts.
    List,
    /// The name of a file.
    File,
}

impl Kind {
    /// The kind of this number in scripts.
    #[must_use]
    pub fn of_number(number: i64) -> Option<Self> {
        const KINDS: [Kind; 8] = [
            Kind::Null,
            Kind::Bool,
            Kind::Int,
            Kind::Size,
            Kind::Double,
            Kind::String,
            Kind::List,
            Kind::File,
        ];
        usize::try_from(number).ok().and_then(|index| KINDS.get(index).copied())
    }
}

/// An option as a script declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The name, with underscores.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// The kind of its value.
    pub kind: Kind,
    /// The default, written as on a command line.
    pub default: Option<String>,
}

/// The values of all options: the declared ones, with the given values.
///
/// # Errors
/// An undeclared option, unless the script declares none: scripts of 0.5 take any. A value that its
/// option cannot have.
pub(crate) fn resolve(
    declared: Option<&[Declared]>,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Setting>, ScriptError> {
    let Some(declared) = declared else {
        let text = |(name, value): (&String, &String)| (name.clone(), Setting::Text(value.clone()));
        return Ok(given.iter().map(text).collect());
    };
    if let Some(option) = given.keys().find(|name| declared.iter().all(|one| one.name != **name)) {
        return Err(ScriptError::UnknownOption { option: option.clone() });
    }
    declared
        .iter()
        .map(|option| {
            let text = given.get(&option.name).or(option.default.as_ref());
            Ok((option.name.clone(), value_of(option, text.map(String::as_str))?))
        })
        .collect()
}

fn value_of(option: &Declared, text: Option<&str>) -> Result<Setting, ScriptError> {
    let given = text.unwrap_or_default();
    let wrong = |expected| ScriptError::WrongValue {
        option: option.name.clone(),
        value: given.to_owned(),
        expected,
    };
    Ok(match option.kind {
        // A switch without a value is on, as in sysbench also if it has no default.
        Kind::Bool if given.is_empty() => Setting::Bool(true),
        Kind::Null if text.is_some() && given.is_empty() => Setting::Bool(true),
        Kind::Bool | Kind::Null => {
            Setting::Bool(boolean(given).ok_or_else(|| wrong("on, off, true, false, 1 or 0"))?)
        }
        Kind::Int | Kind::Double => Setting::Number(leading_number(given)),
        Kind::Size => {
            // An invalid size is zero, as in sysbench.
            Setting::Number(size(given).unwrap_or(0.0))
        }
        Kind::String | Kind::File => Setting::Text(given.to_owned()),
        Kind::List => Setting::List(list(given)),
    })
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" | "" => Some(false),
        _ => None,
    }
}

/// The number at the start of a text, as C reads it; the rest is ignored, and nothing is 0: as in
/// sysbench.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    if let Some(number) = leading_hexadecimal(text) {
        return number;
    }
    (1..=text.len())
        .rev()
        .filter_map(|end| text.get(..end))
        .find_map(|part| part.parse().ok())
        .unwrap_or(0.0)
}

/// A whole number that begins with `0x`, after a sign if there is one.
fn leading_hexadecimal(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let end = digits.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(digits.len());
    let number = u64::from_str_radix(digits.get(..end)?, 16).ok()?;
    Some(sign * number as f64)
}

/// Digits and at most one unit; what follows the unit is ignored: `10KB`.
fn size(text: &str) -> Option<f64> {
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let power = match unit.chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some(_) => return None,
    };
    let number: u64 = digits.parse().ok()?;
    Some(number as f64 * 1024_f64.powi(power))
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(kind: Kind, text: &str) -> Result<Setting, ScriptError> {
        let option = Declared { name: "x".to_owned(), help: String::new(), kind, default: None };
        value_of(&option, Some(text))
    }

    #[test]
    fn values_are_read_as_the_field_reads_them() {
        let cases = [
            (Kind::Int, "10K", Setting::Number(10.0)),
            (Kind::Int, "1.5", Setting::Number(1.5)),
            (Kind::Int, "x", Setting::Number(0.0)),
            (Kind::Double, "1e3", Setting::Number(1000.0)),
            (Kind::Double, "0x1F", Setting::Number(31.0)),
            (Kind::Double, "-0x10z", Setting::Number(-16.0)),
            (Kind::Double, "0x", Setting::Number(0.0)),
            (Kind::Size, "2G", Setting::Number(2_147_483_648.0)),
            (Kind::Size, "10k", Setting::Number(10_240.0)),
            (Kind::Size, "1.5K", Setting::Number(0.0)),
            (Kind::Size, "ä", Setting::Number(0.0)),
            (Kind::Size, "10kb", Setting::Number(10_240.0)),
            (Kind::Size, "5b", Setting::Number(0.0)),
            (Kind::Size, "", Setting::Number(0.0)),
            (Kind::Bool, "", Setting::Bool(true)),
            (Kind::Bool, "off", Setting::Bool(false)),
            (Kind::List, "q,,r", Setting::List(vec!["q".to_owned(), "r".to_owned()])),
            (Kind::String, "a b", Setting::Text("a b".to_owned())),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(given(kind, text), Ok(expected), "{kind:?} {text:?}");
        }
    }

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_refused() {
        for (kind, text) in [(Kind::Bool, "yes"), (Kind::Bool, "ä")] {
            let told = given(kind, text).expect_err("refused").to_string();
            assert!(told.contains("--x") && told.contains(text), "{told}");
        }
    }
}
