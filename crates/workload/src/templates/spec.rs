//! The part `template` of a workload in a step's plan.

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// What users do: the part `template` of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSpec {
    /// One of them is an event, drawn by their weights.
    pub transactions: Vec<TransactionSpec>,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionSpec {
    /// What its latencies are told under.
    pub name: String,
    /// How often it is drawn, beside the other weights.
    pub weight: u32,
    /// How long a user waits behind it in a closed loop, in seconds.
    pub think_s: f64,
    /// Whether there is neither BEGIN nor COMMIT.
    pub autocommit: bool,
    /// Whether the server is to refuse whatever writes between BEGIN and COMMIT: all statements claim to read.
    #[serde(default)]
    pub read_only: bool,
    /// Values that its statements name by their place in this list.
    pub parameters: Vec<ParameterSpec>,
    /// In their order.
    pub statements: Vec<StatementSpec>,
}

/// A value with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// As the statements write it, without the colon.
    pub name: String,
    /// Where it comes from.
    pub value: ValueSpec,
    /// How long it stays.
    #[serde(default)]
    pub per: Per,
}

/// When a parameter is drawn anew.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Once in an event: all that name it have the same value.
    #[default]
    Event,
    /// For each statement that names it.
    Statement,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ValueSpec {
    /// A whole number of `low..=high`.
    Integer {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// How they are spread.
        #[serde(default = "uniform")]
        spread: Distribution,
    },
    /// A whole number of `low..=high`: the share `hits` of all draws falls on the first `percent` of them, the rest on
    /// the others, each of a part as likely as any other.
    Hot {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// How many of the numbers are hot, in percent.
        percent: f64,
        /// How many draws they get, in percent.
        hits: f64,
    },
    /// Of a column, the number of the row. Of a parameter, a number that no other user of the step draws.
    Sequence {
        /// The first.
        start: i64,
    },
    /// A positive number of 63 bits that is not drawn twice, as far as can be seen.
    Unique {},
    /// Letters and digits, `least` to `most` of them.
    Text {
        /// The shortest length.
        least: u32,
        /// The longest.
        most: u32,
    },
    /// A text in which `#` is a digit, `@` a capital letter, and anything else itself.
    Pattern {
        /// The text.
        pattern: String,
    },
    /// One of some values, each as likely.
    Choice {
        /// At least one.
        values: Vec<Literal>,
    },
    /// Always the same.
    Constant {
        /// Which.
        value: Literal,
    },
    /// A number with `places` digits behind the point: `low..=high` are counted in its last place.
    Decimal {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// Digits behind the point.
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
    /// Another parameter and a number; only of parameters.
    Offset {
        /// The place of the other one, which stands before this one.
        of: u16,
        /// What is added to it.
        add: i64,
    },
    /// What a statement reads; only of parameters.
    Read {},
}

impl ValueSpec {
    /// Whether one value may be of another type than the one before it.
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

/// A value that stands in the file.
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
    /// What it is made of.
    pub pieces: Vec<PieceSpec>,
    /// How often it is sent, one behind the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// How many copies of its tables there are; 0 where it names none that has copies.
    #[serde(default)]
    pub copies: u32,
    /// Whether it goes to the copy that the statement before it went to.
    #[serde(default)]
    pub same_copy: bool,
    /// The fewest and the most rows that it may return, or change; any number where this is missing.
    #[serde(default)]
    pub rows: Option<(u64, u64)>,
    /// Parameters that get the columns of its first row, in their order.
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
    /// As it stands.
    Text(String),
    /// A parameter, by its place.
    Parameter(u16),
    /// The number of the copy.
    Copy,
}
