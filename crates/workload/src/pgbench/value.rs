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
    /// A variable whose text is no value.
    #[error("variable \"{0}\" has the value \"{1}\", which is no number, boolean or NULL")]
    Malformed(String, String),
    /// A value of another type was needed.
    #[error("cannot use {given} as {wanted}")]
    WrongType {
        /// What there is.
        given: &'static str,
        /// What is needed.
        wanted: &'static str,
    },
    /// A result that 64 bits do not hold.
    #[error("{0} is out of the range of bigint")]
    OutOfRange(&'static str),
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A parameter of a function that makes no sense.
    #[error("{0}")]
    Parameter(&'static str),
}

impl Value {
    fn kind(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an int",
            Self::Double(_) => "a double",
        }
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
                    return Err(EvalError::OutOfRange("a double"));
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

    /// What a text of a variable means.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let is = |known: &str| text.eq_ignore_ascii_case(known);
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        match text {
            _ if is("null") => Some(Self::Null),
            _ if is("true") || is("yes") || is("on") => Some(Self::Bool(true)),
            _ if is("false") || is("no") || is("off") => Some(Self::Bool(false)),
            _ if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().ok().map(Self::Int)
            }
            _ if digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
                text.parse().ok().map(Self::Double)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_becomes_the_nearest_integer_and_of_halves_the_even_one() {
        for (double, expected) in [(2.5, 2), (3.5, 4), (-2.5, -2), (1e15, 1_000_000_000_000_000)] {
            assert_eq!(Value::Double(double).int(), Ok(expected));
        }
        assert_eq!(Value::Double(1e19).int(), Err(EvalError::OutOfRange("a double")));
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
            ("Null", Some(Value::Null)),
            ("", None),
            ("inf", None),
            ("12a", None),
        ] {
            assert_eq!(Value::of_text(text), expected, "{text:?}");
        }
    }
}
