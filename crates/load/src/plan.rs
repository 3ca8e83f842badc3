//! The plan of a load: one JSON document, checked once, then frozen.

use crate::identity::KnownTable;
use crate::method::MethodWish;
use crate::mysql::MySql;
use crate::postgres::PostgreSql;
use crate::stall::StallPlan;
use crate::target::LoadTarget;
use loadstone_drive::PlanError;
use loadstone_drive::plan::{ConnectPlan, Part, SessionPlan, TargetPlan};
use loadstone_workload::LoadLayout;
use loadstone_workload::dialect::Dialect;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A comment of a table may be far longer.
const LONGEST_MARK: usize = 64;

/// More machines than any load uses.
const MOST_PARTS: u32 = 10_000;

/// What to load and how; the format is documented in `docs/engine.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// The database.
    pub target: TargetPlan,
    /// The tables and their rows.
    pub layout: LoadLayout,
    /// The number of connections that load in parallel.
    pub parallel: u32,
    /// The statement that loads rows.
    pub method: MethodWish,
    /// The same seed gives the same rows.
    pub seed: u64,
    /// How connections are opened.
    pub connect: ConnectPlan,
    /// The session settings of each connection.
    pub session: SessionPlan,
    /// The existing tables that may be continued; any, if absent.
    #[serde(default)]
    pub continues: Option<Vec<String>>,
    /// By table name, the comment that each table gets, or must have to be continued.
    #[serde(default)]
    pub marks: BTreeMap<String, String>,
    /// The stage of the load to run; the whole load, if absent.
    #[serde(default)]
    pub stage: Option<Stage>,
    /// The part of the ranges to fill or inspect.
    #[serde(default)]
    pub part: Part,
    /// For the stages after `make`: its description of all tables.
    #[serde(default)]
    pub known: Vec<KnownTable>,
    /// The load ends when [`Load::renew`](crate::Load::renew) has not been called for this many
    /// seconds; never, if absent.
    #[serde(default)]
    pub lease_s: Option<f64>,
    /// How long a statement may make no progress.
    #[serde(default)]
    pub stall: StallPlan,
    /// How the target's family is loaded.
    #[serde(skip, default = "usual_load_target")]
    pub(crate) server: &'static dyn LoadTarget,
}

/// A stage of a load that several machines share: one creates the tables, all fill them, one does
/// the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Create the tables, or inspect existing ones; the end record describes them.
    Make,
    /// Load the part's missing ranges.
    Fill,
    /// Create secondary indexes and count rows.
    Finish,
    /// Find the part's missing ranges, for the end record; nothing is changed.
    Look,
}

/// All known targets. The first one is for plans that name no family.
static LOAD_TARGETS: [&dyn LoadTarget; 2] = [&MySql, &PostgreSql];

/// How servers of this dialect are loaded; `None` if that is not implemented.
fn load_target_of(dialect: &'static dyn Dialect) -> Option<&'static dyn LoadTarget> {
    LOAD_TARGETS.into_iter().find(|target| target.dialect() == dialect)
}

fn usual_load_target() -> &'static dyn LoadTarget {
    LOAD_TARGETS[0]
}

impl LoadPlan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let mut plan: Self = serde_json::from_str(text).map_err(PlanError::from_json)?;
        plan.server = load_target_of(plan.target.dialect()?)
            .ok_or_else(|| PlanError::new("target.family: nothing is loaded there"))?;
        plan.layout = plan.layout.in_dialect(plan.server.dialect());
        plan.layout.check().map_err(|error| PlanError::new(error.to_string()))?;
        plan.connect.check()?;
        plan.session.check()?;
        if plan.parallel == 0 || plan.parallel > 1024 {
            return Err(PlanError::new("parallel: 1 to 1024"));
        }
        plan.check_marks()?;
        plan.check_stage()?;
        plan.stall.check()?;
        Ok(plan)
    }

    fn check_marks(&self) -> Result<(), PlanError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
        match self
            .marks
            .values()
            .all(|mark| mark.len() <= LONGEST_MARK && mark.bytes().all(is_plain))
        {
            true => Ok(()),
            false => Err(PlanError::new("marks: letters, digits and spaces, at most 64")),
        }
    }

    fn check_stage(&self) -> Result<(), PlanError> {
        if self.part.of > MOST_PARTS {
            return Err(PlanError::new(format!("part.of: at most {MOST_PARTS}")));
        }
        self.part.check(MOST_PARTS)?;
        let shares = matches!(self.stage, Some(Stage::Fill | Stage::Look));
        if self.part.of > 1 && !shares {
            return Err(PlanError::new("part: of the stages fill and look alone"));
        }
        let follows = matches!(self.stage, Some(Stage::Fill | Stage::Finish));
        if follows && self.known.len() != self.layout.tables as usize {
            return Err(PlanError::new("known: what the stage make said, of all tables"));
        }
        if self.lease_s.is_some_and(|lease_s| !(lease_s > 0.0 && lease_s <= 3600.0)) {
            return Err(PlanError::new("lease_s: more than 0, at most 3600"));
        }
        Ok(())
    }
}
