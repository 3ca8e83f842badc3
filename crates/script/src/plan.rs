//! The plan of a script: its file, command, options, seed and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use loadstone_protocol::Code;
use loadstone_workload::Distribution;

use crate::{Setting, Watches};

/// Receives a script's output.
pub type Output = Rc<dyn Fn(&[u8])>;

/// The plan of a script, the same for all its users.
#[derive(Clone, Debug)]
pub struct ScriptPlan {
    /// The file.
    pub script: String,
    /// `run`, `prepare` or any other command of the script; `None` if none was given.
    pub command: Option<String>,
    /// The whole command line, the program first.
    pub arguments: Vec<String>,
    /// Options that are not the script's own: `threads`, `mysql_db`, …
    pub general: BTreeMap<String, Setting>,
    /// Options that the script may declare, as given.
    pub given: BTreeMap<String, String>,
    /// Errors of the server after which an event restarts.
    pub ignored_errors: IgnoredErrors,
    /// Whether each error that is not ignored is reported, and not only the first of each code.
    pub each_error: bool,
    /// Whether the first user calls `init()` and `done()`.
    pub calls_init: bool,
    /// The error code that a script gets if there is no server.
    pub gone: Code,
    /// The default distribution of `sysbench.rand.default`.
    pub distribution: Distribution,
    /// The same seed gives each user the same numbers.
    pub seed: u64,
    /// The number of users over all shards.
    pub users: u64,
    /// The value of `sysbench.version`.
    pub version: String,
    /// The most memory that Lua may use in one state, in bytes.
    pub memory_bytes: usize,
    /// The states that this plan's users live in, for the watchdog.
    pub watches: Watches,
}

impl Default for ScriptPlan {
    /// One user of a script that is still to be named, with at most 4 GiB.
    fn default() -> Self {
        Self {
            script: String::new(),
            command: None,
            arguments: Vec::new(),
            general: BTreeMap::new(),
            given: BTreeMap::new(),
            ignored_errors: IgnoredErrors::These(BTreeSet::new()),
            each_error: false,
            calls_init: true,
            gone: Code::OTHER,
            distribution: Distribution::default(),
            seed: 0,
            users: 1,
            version: String::new(),
            memory_bytes: 4 << 30,
            watches: Watches::default(),
        }
    }
}

/// Errors of the server after which a script restarts its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredErrors {
    /// All errors.
    All,
    /// These codes.
    These(BTreeSet<Code>),
}
