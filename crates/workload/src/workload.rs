//! A workload that was checked and creates the machines of its users.

use std::sync::Arc;

use crate::builtin::{BUILTIN, Builtin, Recipe};
use crate::bulk::{Bulk, BulkMachine};
use crate::dialect::{Dialect, usual_dialect};
use crate::ledger::{Ledger, LedgerMachine};
use crate::options::Options;
use crate::pgbench::{PgbenchMachine, PgbenchSpec, Prepared};
use crate::sequence::{Group, Sequence, SequenceMachine, Table};
use crate::templates::{Compiled, Sample, TemplateMachine, TemplateSpec, kept, samples};
use crate::tpcc::{Tpcc, TpccMachine};
use crate::{Catalogue, Distribution, LayoutKind, Machine, SpecError, WorkloadSpec};

/// A checked workload: creates the machines of its users.
#[derive(Clone, Debug)]
pub struct Workload {
    name: &'static str,
    layout: LayoutKind,
    catalogue: Arc<Catalogue>,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Sequence(Arc<Sequence>),
    Bulk(Bulk),
    Tpcc(Tpcc),
    Template(Arc<Compiled>),
    Pgbench(Arc<Prepared>),
    Ledger(Ledger),
}

impl Workload {
    /// From a plan that names no family of servers.
    ///
    /// # Errors
    /// The same as for [`Workload::in_dialect`].
    pub fn from_spec(spec: &WorkloadSpec) -> Result<Self, SpecError> {
        Self::in_dialect(spec, usual_dialect())
    }

    /// From a plan, for a family of servers.
    ///
    /// # Errors
    /// Names the first invalid part of the plan, and what would be valid.
    pub fn in_dialect(
        spec: &WorkloadSpec,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, SpecError> {
        if let Some(template) = &spec.template {
            return Self::from_template(&spec.name, template, dialect);
        }
        if let Some(script) = &spec.pgbench {
            return Self::from_script(&spec.name, script, dialect);
        }
        let builtin = find(&spec.name)?;
        let options = Options::check(builtin.name, builtin.options, &spec.options)?;
        check_tables(spec)?;
        let mut recipe = Recipe::new(dialect);
        (builtin.recipe)(&options, &mut recipe);
        let shape = match builtin.layout {
            LayoutKind::Bulk => {
                let first_id = i64::from(options.count("first_id"));
                Shape::Bulk(Bulk { tables: spec.tables, first_id })
            }
            LayoutKind::Sbtest => sequence(builtin, spec, recipe.groups, spec.distribution)?,
            // Those of a sale complement the hot rows; no workload runs on them alone.
            LayoutKind::Hot | LayoutKind::Products | LayoutKind::Orders => {
                let hot = hot_rows(builtin, spec, options.count("hot_rows"))?;
                sequence(builtin, &hot, recipe.groups, Distribution::Uniform {})?
            }
            LayoutKind::Tpcc => tpcc(spec, &options)?,
            LayoutKind::Template => return Err(unknown(&spec.name)),
            LayoutKind::Ledger => ledger(spec)?,
        };
        let catalogue = Arc::new(Catalogue::in_dialect(recipe.templates, dialect));
        Ok(Self { name: builtin.name, layout: builtin.layout, catalogue, shape })
    }

    fn from_template(
        name: &str,
        template: &TemplateSpec,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, SpecError> {
        let (compiled, texts) = Compiled::new(template, dialect)?;
        Ok(Self {
            name: kept(name)[0],
            layout: LayoutKind::Template,
            catalogue: Arc::new(Catalogue::in_dialect(texts, dialect)),
            shape: Shape::Template(Arc::new(compiled)),
        })
    }

    fn from_script(
        name: &str,
        spec: &PgbenchSpec,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, SpecError> {
        let (prepared, texts) = Prepared::new(spec)?;
        Ok(Self {
            name: kept(name)[0],
            layout: LayoutKind::Template,
            catalogue: Arc::new(Catalogue::in_dialect(texts, dialect)),
            shape: Shape::Pgbench(Arc::new(prepared)),
        })
    }

    /// This many events of a template's first user, as text; none of a built-in workload.
    #[must_use]
    pub fn samples(&self, seed: u64, count: usize) -> Vec<Sample> {
        match &self.shape {
            Shape::Template(shared) => {
                let mut machine = TemplateMachine::new(Arc::clone(shared), seed, 0, 1);
                samples(&mut machine, &self.catalogue, count)
            }
            _ => Vec::new(),
        }
    }

    /// Its name in plans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The tables that it runs on.
    #[must_use]
    pub fn layout(&self) -> LayoutKind {
        self.layout
    }

    /// Whether it has statements in pipelines.
    #[must_use]
    pub fn has_pipelines(&self) -> bool {
        matches!(&self.shape, Shape::Pgbench(shared) if shared.has_pipelines)
    }

    /// Whether it is a script of pgbench.
    #[must_use]
    pub fn is_script(&self) -> bool {
        matches!(&self.shape, Shape::Pgbench(_))
    }

    /// Whether its machines read rows.
    #[must_use]
    pub fn reads_rows(&self) -> bool {
        self.machine(0, 0, 1).reads_rows()
    }

    /// Its statements, shared by all users.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// The machine of the user `user` of `users`, counted over all shards and hosts. The same seed and
    /// user give the same keys.
    #[must_use]
    pub fn machine(&self, seed: u64, user: u64, users: u64) -> Box<dyn Machine> {
        match &self.shape {
            Shape::Sequence(shared) => {
                Box::new(SequenceMachine::new(Arc::clone(shared), seed, user, users))
            }
            Shape::Bulk(shared) => Box::new(BulkMachine::new(*shared, user, users)),
            Shape::Tpcc(shared) => Box::new(TpccMachine::new(*shared, seed, user, users)),
            Shape::Template(shared) => {
                Box::new(TemplateMachine::new(Arc::clone(shared), seed, user, users))
            }
            Shape::Pgbench(shared) => Box::new(PgbenchMachine::new(Arc::clone(shared), seed, user)),
            Shape::Ledger(shared) => Box::new(LedgerMachine::new(*shared, user)),
        }
    }
}

fn find(name: &str) -> Result<&'static Builtin, SpecError> {
    BUILTIN.iter().find(|one| one.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> SpecError {
    SpecError::UnknownWorkload {
        name: name.to_owned(),
        known: BUILTIN.iter().map(|one| one.name).collect::<Vec<_>>().join(", "),
    }
}

fn check_tables(spec: &WorkloadSpec) -> Result<(), SpecError> {
    if spec.tables == 0 {
        return Err(SpecError::OutOfRange { what: "tables", allowed: "1 and above" });
    }
    // The column `id` is a signed 32-bit integer.
    if !(1..=i32::MAX as u64).contains(&spec.table_size) {
        return Err(SpecError::OutOfRange { what: "table_size", allowed: "1 to 2147483647" });
    }
    Ok(())
}

fn sequence(
    builtin: &Builtin,
    spec: &WorkloadSpec,
    groups: Vec<Group>,
    distribution: Distribution,
) -> Result<Shape, SpecError> {
    let is_work = |group: &Group| group.table != Table::None;
    if !groups.iter().any(is_work) {
        return Err(SpecError::NothingToDo { workload: builtin.name });
    }
    let keys = distribution.sampler(spec.table_size)?;
    Ok(Shape::Sequence(Arc::new(Sequence { groups, tables: spec.tables, keys })))
}

fn tpcc(spec: &WorkloadSpec, options: &Options) -> Result<Shape, SpecError> {
    if spec.warehouses == 0 {
        return Err(SpecError::OutOfRange { what: "warehouses", allowed: "1 and above for tpcc" });
    }
    let paced = options.bool("keying_and_think_time");
    Ok(Shape::Tpcc(Tpcc { warehouses: spec.warehouses, paced }))
}

fn ledger(spec: &WorkloadSpec) -> Result<Shape, SpecError> {
    // The column `book` is a signed 64-bit integer.
    let refused = SpecError::OutOfRange { what: "book", allowed: "0 to 2^63 - 1" };
    let book = i64::try_from(spec.book).map_err(|_| refused)?;
    Ok(Shape::Ledger(Ledger { tables: spec.tables, book }))
}

/// The hot rows are the first ones of their table.
fn hot_rows(
    builtin: &Builtin,
    spec: &WorkloadSpec,
    hot_rows: u32,
) -> Result<WorkloadSpec, SpecError> {
    if u64::from(hot_rows) > spec.table_size {
        return Err(SpecError::WrongType {
            workload: builtin.name,
            option: "hot_rows",
            expected: format!("at most table_size, {}", spec.table_size),
            given: hot_rows.to_string(),
        });
    }
    Ok(WorkloadSpec { table_size: u64::from(hot_rows), ..spec.clone() })
}
