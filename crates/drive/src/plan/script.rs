//! The part `script` of a plan: a Lua script written for sysbench, and its options.

use crate::error::PlanError;
use loadstone_protocol::{Code, Usual};
use loadstone_script::{IgnoredErrors, ScriptPlan, Setting};
use loadstone_workload::Distribution;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};

/// The command that drives events.
pub(crate) const RUN: &str = "run";

/// A script written for sysbench, and its options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptSpec {
    /// The file.
    pub path: String,
    /// Which of its commands to run: `run` drives events, any other is run once, or once by each
    /// user where the script says so.
    #[serde(default = "run")]
    pub command: Option<String>,
    /// The script's own options, as they were given: text.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Further entries of `sysbench.opt`.
    #[serde(default)]
    pub general: BTreeMap<String, GeneralOption>,
    /// The command line, for `sysbench.cmdline.argv`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Codes of errors after which an event is restarted; null: all. Absent: those usual for the servers' family.
    #[serde(default, deserialize_with = "given")]
    pub ignore_errors: Option<IgnoreErrors>,
    /// Whether one text may hold several statements. Without, the server refuses such a text.
    #[serde(default = "yes")]
    pub several_statements: bool,
    /// Whether each error that is not ignored is reported, and not only the first of each code.
    #[serde(default)]
    pub each_error: bool,
    /// Whether the first user calls `init()` and `done()`.
    #[serde(default = "yes")]
    pub calls_init: bool,
    /// The distribution that `sysbench.rand.default` draws from.
    #[serde(default)]
    pub distribution: Distribution,
    /// The value of `sysbench.version`.
    #[serde(default = "default_version")]
    pub version: String,
}

/// The value of an option that is not the script's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum GeneralOption {
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

fn run() -> Option<String> {
    Some(RUN.to_owned())
}

/// Codes of errors, or null for all of them.
pub type IgnoreErrors = Option<BTreeSet<Code>>;

/// Reads a key that is present, even where its value is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IgnoreErrors>, D::Error> {
    IgnoreErrors::deserialize(deserializer).map(Some)
}

fn yes() -> bool {
    true
}

fn default_version() -> String {
    "1.0.20".to_owned()
}

impl ScriptSpec {
    /// Reads a spec.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        serde_json::from_str(text).map_err(PlanError::from_json)
    }

    /// The script in the form that `crates/script` takes, with the seed, the number of all users and the defaults
    /// of the servers' family.
    #[must_use]
    pub fn script_plan(&self, seed: u64, users: u64, usual: &Usual) -> ScriptPlan {
        let general = self.general.iter().map(|(name, value)| (name.clone(), value.setting()));
        ScriptPlan {
            script: self.path.clone(),
            command: self.command.clone(),
            arguments: self.arguments.clone(),
            general: general.collect(),
            given: self.options.clone(),
            ignored_errors: match &self.ignore_errors {
                None => IgnoredErrors::These(usual.restarts.iter().copied().collect()),
                Some(None) => IgnoredErrors::All,
                Some(Some(codes)) => IgnoredErrors::These(codes.clone()),
            },
            each_error: self.each_error,
            calls_init: self.calls_init,
            gone: usual.connection_gone,
            distribution: self.distribution,
            seed,
            users,
            version: self.version.clone(),
            ..ScriptPlan::default()
        }
    }
}

impl GeneralOption {
    fn setting(&self) -> Setting {
        match self {
            Self::Bool(value) => Setting::Bool(*value),
            Self::Number(value) => Setting::Number(*value),
            Self::Text(value) => Setting::Text(value.clone()),
            Self::List(values) => Setting::List(values.clone()),
        }
    }
}
