//! The part `workload` of a step's plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::templates::TemplateSpec;

/// An option's value as a plan has it.
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

/// Which workload, on which tables: the part `workload` of a step's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// One of [`crate::builtin`], or any name where there is a template.
    pub name: String,
    /// How many tables.
    #[serde(default = "one_table")]
    pub tables: u32,
    /// How many rows each table has.
    #[serde(default = "default_table_size")]
    pub table_size: u64,
    /// Options of this workload; those that are missing have their defaults.
    #[serde(default)]
    pub options: BTreeMap<String, OptionValue>,
    /// How keys are spread.
    #[serde(default)]
    pub distribution: Distribution,
    /// How many warehouses there are; only `tpcc` has some.
    #[serde(default)]
    pub warehouses: u32,
    /// What users do in place of a built-in workload; it knows its own tables.
    #[serde(default)]
    pub template: Option<TemplateSpec>,
    /// What the entries of a `ledger` are told by from those of all other steps and runs.
    #[serde(default)]
    pub book: u64,
}

fn one_table() -> u32 {
    1
}

fn default_table_size() -> u64 {
    10_000
}
