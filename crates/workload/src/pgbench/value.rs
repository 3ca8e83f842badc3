//! Values of expressions, and what becomes of one where another type is needed.

use super::number::push_general;

/// A value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
}

/// Why an expression has no value. As in pgbench, the client that meets one ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A variable without a value.
    #[error("undefined variable \"{0}\"")]
    Undefined(String),
    /// A variable whose text is an integer of more than 64 bits.
    #[error("value \"{0}\" is out of range for type bigint")]
    TooLarge(String),
    /// A variable whose text is no value.
    #[error("malformed variable \"{0}\" value: \"{1}\"")]
    Malformed(String, String),
    /// A value of another type was needed.
    #[error("cannot coerce {given} to {wanted}")]
    WrongType {
        /// What there is.
        given: &'static str,
        /// What is needed.
        wanted: &'static str,
    },
    /// A double that is no integer of 64 bits.
    #[error("double to int overflow for {0}")]
    NoInteger(String),
    /// A result that 64 bits do not hold.
    #[error("bigint {0} out of range")]
    OutOfRange(&'static str),
    /// More parameters than a function may have.
    #[error("too many function arguments, maximum is {0}")]
    TooManyParameters(usize),
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A function that was read with another number of parameters: a bug.
    #[error("unexpected number of arguments")]
    OtherNumber,
    /// A parameter of a function that makes no sense.
    #[error("{0}")]
    Parameter(String),
}

impl Value {
    fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Its type and the text that stands for it, as pgbench's `debug` shows them.
    pub(super) fn described(self) -> String {
        if self == Self::Null {
            return self.kind().to_owned();
        }
        let mut text = Vec::new();
        self.push_text(&mut text);
        format!("{} {}", self.kind(), String::from_utf8_lossy(&text))
    }

    fn is_not(self, wanted: &'static str) -> EvalError {
        EvalError::WrongType { given: self.kind(), wanted }
    }

    /// As an integer: a double is rounded to the nearest one, halves to the even one.
    pub(super) fn int(self) -> Result<i64, EvalError> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => {
                let rounded = value.round_ties_even();
                // 2^63 is the first double that does not fit.
                let limit = 2_f64.powi(63);
                if rounded.is_nan() || rounded < -limit || rounded >= limit {
                    return Err(EvalError::NoInteger(format!("{value:.6}")));
                }
                Ok(rounded as i64)
            }
            other => Err(other.is_not("int")),
        }
    }

    pub(super) fn double(self) -> Result<f64, EvalError> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            other => Err(other.is_not("double")),
        }
    }

    pub(super) fn bool(self) -> Result<bool, EvalError> {
        match self {
            Self::Bool(value) => Ok(value),
            other => Err(other.is_not("boolean")),
        }
    }

    /// As a condition: numbers other than zero are true, NULL is not.
    #[must_use]
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// Appends the text that stands for it in SQL.
    pub fn push_text(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Int(value) => crate::text::push_decimal(value, out),
            Self::Double(value) => push_general(value, out),
        }
    }

    /// Whether a text is an integer, of any size.
    pub(super) fn is_integer(text: &str) -> bool {
        let number = without_spaces(text);
        let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// What a text of a variable means.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let is = |known: &str| text.eq_ignore_ascii_case(known);
        // As in psql's settings, the first letters will do where they leave no doubt.
        let begins = |known: &str| {
            !text.is_empty()
                && known.get(..text.len()).is_some_and(|start| text.eq_ignore_ascii_case(start))
        };
        match text {
            _ if is("null") => Some(Self::Null),
            _ if begins("true") || begins("yes") || is("on") => Some(Self::Bool(true)),
            _ if begins("false") || begins("no") || is("off") || is("of") => {
                Some(Self::Bool(false))
            }
            _ if Self::is_integer(text) => without_spaces(text).parse().ok().map(Self::Int),
            _ => {
                let value: f64 = without_spaces(text).parse().ok()?;
                // Infinity has a name, and no digits that are too many.
                let fits = value.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit());
                fits.then_some(Self::Double(value))
            }
        }
    }
}

/// A text without the spaces that C skips before a number.
pub(super) fn without_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_becomes_the_nearest_integer_and_of_halves_the_even_one() {
        for (double, expected) in [(2.5, 2), (3.5, 4), (-2.5, -2), (1e15, 1_000_000_000_000_000)] {
            assert_eq!(Value::Double(double).int(), Ok(expected));
        }
        assert!(matches!(Value::Double(1e19).int(), Err(EvalError::NoInteger(_))));
        assert!(Value::Double(f64::NAN).int().is_err());
        assert!(Value::Bool(true).int().is_err());
    }

    #[test]
    fn a_text_is_what_it_looks_like() {
        for (text, expected) in [
            ("12", Some(Value::Int(12))),
            ("-9223372036854775808", Some(Value::Int(i64::MIN))),
            ("1.5e3", Some(Value::Double(1500.0))),
            (".5", Some(Value::Double(0.5))),
            ("TRUE", Some(Value::Bool(true))),
            ("off", Some(Value::Bool(false))),
            ("of", Some(Value::Bool(false))),
            ("T", Some(Value::Bool(true))),
            ("n", Some(Value::Bool(false))),
            ("o", None),
            ("truex", None),
            ("+7", Some(Value::Int(7))),
            ("Null", Some(Value::Null)),
            ("", None),
            ("1e999", None),
            ("-inf", Some(Value::Double(f64::NEG_INFINITY))),
            ("12a", None),
            (" \t7", Some(Value::Int(7))),
            ("\n -1.5", Some(Value::Double(-1.5))),
            ("7 ", None),
            (" true", None),
            (" ", None),
        ] {
            assert_eq!(Value::of_text(text), expected, "{text:?}");
        }
    }
}
