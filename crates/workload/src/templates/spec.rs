//! The part `template` of a workload in a step's plan.

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// What users do: the part `template` of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSpec {
    /// Each event is one of them, drawn by weight.
    pub transactions: Vec<TransactionSpec>,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionSpec {
    /// The name of its latencies.
    pub name: String,
    /// How often it is drawn, relative to the other weights.
    pub weight: u32,
    /// How long a user waits after it in a closed loop, in seconds.
    pub think_s: f64,
    /// Whether to omit BEGIN and COMMIT.
    pub autocommit: bool,
    /// Whether the server refuses writes between BEGIN and COMMIT: all statements claim to be
    /// reads.
    #[serde(default)]
    pub read_only: bool,
    /// Values that its statements refer to by their index in this list.
    pub parameters: Vec<ParameterSpec>,
    /// Its statements, in order.
    pub statements: Vec<StatementSpec>,
}

/// A value with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// The name in the statements, without the colon.
    pub name: String,
    /// How the value is generated.
    pub value: ValueSpec,
    /// How long it stays the same.
    #[serde(default)]
    pub per: Per,
}

/// When a parameter is drawn again.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Once in an event: all statements see the same value.
    #[default]
    Event,
    /// For each statement that uses it.
    Statement,
}

/// How a value is generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ValueSpec {
    /// An integer of `low..=high`.
    Integer {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// The distribution.
        #[serde(default = "uniform")]
        spread: Distribution,
    },
    /// An integer of `low..=high`: the share `hits` of all draws falls on the first `percent` of
    /// them, the rest on the others; both parts are uniform.
    Hot {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// How many of the numbers are hot, in percent.
        percent: f64,
        /// How many draws fall on them, in percent.
        hits: f64,
    },
    /// For a column, the number of the row. For a parameter, a number that no other user of the
    /// step draws.
    Sequence {
        /// The first number.
        start: i64,
    },
    /// A positive 63-bit number that is practically never drawn twice.
    Unique {},
    /// Letters and digits.
    Text {
        /// The shortest length.
        least: u32,
        /// The longest length.
        most: u32,
    },
    /// A text in which `#` is a digit, `@` a capital letter, and any other character itself.
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// One of several values, equally likely.
    Choice {
        /// At least one.
        values: Vec<Literal>,
    },
    /// A list that rows go through in order, again and again; only for columns.
    Cycle {
        /// The values of the first rows: at least one.
        values: Vec<Literal>,
        /// What is added to them after each round; 0 unless all are whole numbers.
        #[serde(default)]
        step: i64,
    },
    /// A constant.
    Constant {
        /// Its value.
        value: Literal,
    },
    /// A number with `places` decimal places; `low..=high` count in units of the last place.
    Decimal {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// The number of decimal places.
        places: u32,
    },
    /// A day, or a second, between two, both included; in seconds since 1970 in UTC.
    Moment {
        /// The first.
        low: i64,
        /// The last.
        high: i64,
        /// Whether the time of day is written as well.
        with_time: bool,
    },
    /// Another parameter plus a number; only for parameters.
    Offset {
        /// The index of the other parameter, which comes before this one.
        of: u16,
        /// The number that is added.
        add: i64,
    },
    /// A value that a statement reads; only for parameters.
    Read {},
}

impl ValueSpec {
    /// Whether a value may have another type than the one before it.
    pub(super) fn type_varies(&self) -> bool {
        match self {
            Self::Read {} => true,
            Self::Choice { values } => {
                values.iter().any(|one| discriminant(one) != discriminant(&values[0]))
            }
            _ => false,
        }
    }
}

fn uniform() -> Distribution {
    Distribution::Uniform {}
}

/// A value written in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Literal {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// Any other number.
    Double(f64),
    /// A text.
    Text(String),
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementSpec {
    /// Its parts.
    pub pieces: Vec<PieceSpec>,
    /// How often it is sent in a row.
    #[serde(default = "once")]
    pub repeat: u32,
    /// How many copies of its tables there are; 0 if none of its tables has copies.
    #[serde(default)]
    pub copies: u32,
    /// Whether it uses the copy that the statement before it used.
    #[serde(default)]
    pub same_copy: bool,
    /// The fewest and the most rows that it may return, or change; any number if absent.
    #[serde(default)]
    pub rows: Option<(u64, u64)>,
    /// Parameters that get the columns of its first row, in order.
    #[serde(default)]
    pub reads: Vec<u16>,
}

fn once() -> u32 {
    1
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PieceSpec {
    /// Written as it is.
    Text(String),
    /// A parameter, by its index.
    Parameter(u16),
    /// The number of the copy.
    Copy,
}
