//! What is asked of a script: its file, command, options, seed and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use loadstone_protocol::Code;
use loadstone_workload::Distribution;

use crate::{Setting, Watches};

/// Where what a script prints goes.
pub type Output = Rc<dyn Fn(&[u8])>;

/// What is asked of a script: the same for all its users.
#[derive(Clone, Debug)]
pub struct ScriptPlan {
    /// The file.
    pub script: String,
    /// `run`, `prepare` or any other command of the script; `None` where none was given.
    pub command: Option<String>,
    /// The whole command line, the program first.
    pub arguments: Vec<String>,
    /// Options that are not the script's own: `threads`, `mysql_db`, …
    pub general: BTreeMap<String, Setting>,
    /// Options that the script may declare, as they were given.
    pub given: BTreeMap<String, String>,
    /// Errors of the server that begin an event anew.
    pub ignored_errors: IgnoredErrors,
    /// What a script hears that asks a server where there is none.
    pub gone: Code,
    /// What `sysbench.rand.default` draws from.
    pub distribution: Distribution,
    /// The same seed gives each user the same numbers.
    pub seed: u64,
    /// How many users there are, over all shards.
    pub users: u64,
    /// What `sysbench.version` says.
    pub version: String,
    /// How much memory Lua may take in one state, in bytes.
    pub memory_bytes: usize,
    /// The states that this plan's users live in, for whoever looks after them.
    pub watches: Watches,
}

impl Default for ScriptPlan {
    /// One user of a script that is yet to be named, with at most 4 GiB.
    fn default() -> Self {
        Self {
            script: String::new(),
            command: None,
            arguments: Vec::new(),
            general: BTreeMap::new(),
            given: BTreeMap::new(),
            ignored_errors: IgnoredErrors::These(BTreeSet::new()),
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

/// Errors of the server that a script takes as a reason to begin its event anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredErrors {
    /// Whatever it is.
    All,
    /// These codes.
    These(BTreeSet<Code>),
}
