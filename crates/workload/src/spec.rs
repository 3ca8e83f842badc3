//! The part `workload` of a step's plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::pgbench::PgbenchSpec;
use crate::templates::TemplateSpec;

/// An option's value in a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; no option is one yet.
    Double(f64),
    /// A text; no option is one yet.
    Text(String),
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Int(value) => write!(formatter, "{value}"),
            Self::Double(value) => write!(formatter, "{value}"),
            Self::Text(value) => write!(formatter, "{value:?}"),
        }
    }
}

/// The workload and its tables: the part `workload` of a step's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// One of [`crate::builtin`], or any name if there is a template.
    pub name: String,
    /// The number of tables.
    #[serde(default = "one_table")]
    pub tables: u32,
    /// The number of rows in each table.
    #[serde(default = "default_table_size")]
    pub table_size: u64,
    /// Options of this workload; missing ones have their defaults.
    #[serde(default)]
    pub options: BTreeMap<String, OptionValue>,
    /// The distribution of keys.
    #[serde(default)]
    pub distribution: Distribution,
    /// The number of warehouses; only used by `tpcc`.
    #[serde(default)]
    pub warehouses: u32,
    /// What users run instead of a built-in workload; it knows its own tables.
    #[serde(default)]
    pub template: Option<TemplateSpec>,
    /// The script of pgbench that users run instead.
    #[serde(default)]
    pub pgbench: Option<PgbenchSpec>,
    /// Distinguishes the entries of a `ledger` from those of all other steps and runs.
    #[serde(default)]
    pub book: u64,
}

fn one_table() -> u32 {
    1
}

fn default_table_size() -> u64 {
    10_000
}
