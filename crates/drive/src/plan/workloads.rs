//! The workloads of a step, built from its plan.

use super::member::MemberPlan;
use crate::error::PlanError;
use loadstone_workload::dialect::Dialect;
use loadstone_workload::{Catalogue, Mix, Workload, WorkloadSpec};
use std::sync::Arc;

/// What the users of a step do, where no script says so.
#[derive(Clone, Debug)]
pub(crate) enum Workloads {
    /// All of them the same.
    One(Workload),
    /// Each user what a member of the plan says, or several of them in turn.
    Several(Mix),
}

impl Workloads {
    /// # Errors
    /// An unknown workload or option.
    pub(super) fn several(
        members: &[MemberPlan],
        dialect: &'static dyn Dialect,
    ) -> Result<Self, PlanError> {
        let member = |one: &MemberPlan| -> Result<(Workload, Option<f64>), PlanError> {
            let named =
                |error: PlanError| PlanError::new(format!("members: {}: {error}", one.name));
            Ok((build(&one.workload, dialect).map_err(named)?, one.weight))
        };
        let members = members.iter().map(member).collect::<Result<Vec<_>, PlanError>>()?;
        let mix = Mix::new(members).map_err(|error| PlanError::new(error.to_string()))?;
        Ok(Self::Several(mix))
    }

    /// Whether a user reads the rows that its statements return.
    pub(crate) fn reads_rows(&self) -> bool {
        match self {
            Self::One(workload) => workload.reads_rows(),
            Self::Several(mix) => mix.reads_rows(),
        }
    }

    /// Whether there are statements in pipelines.
    pub(super) fn has_pipelines(&self) -> bool {
        match self {
            Self::One(workload) => workload.has_pipelines(),
            Self::Several(mix) => mix.has_pipelines(),
        }
    }

    /// Whether there are scripts of pgbench.
    pub(super) fn has_scripts(&self) -> bool {
        match self {
            Self::One(workload) => workload.is_script(),
            Self::Several(mix) => mix.has_scripts(),
        }
    }

    /// All statements.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        match self {
            Self::One(workload) => workload.catalogue(),
            Self::Several(mix) => mix.catalogue(),
        }
    }
}

/// # Errors
/// An unknown workload or option.
pub(super) fn build(
    spec: &WorkloadSpec,
    dialect: &'static dyn Dialect,
) -> Result<Workload, PlanError> {
    Workload::in_dialect(spec, dialect).map_err(|error| PlanError::new(error.to_string()))
}
