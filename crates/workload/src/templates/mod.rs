//! SQL templates: workloads and tables that a user wrote in a file. Python reads and checks the
//! file; the document of `docs/engine.md` arrives here and is compiled once for all users.

mod compiled;
mod draw;
mod machine;
mod names;
mod sample;
mod spec;
mod table;

pub(crate) use compiled::Compiled;
pub(crate) use machine::TemplateMachine;
pub(crate) use names::kept;
pub use sample::Sample;
pub(crate) use sample::samples;
pub use spec::{
    Literal, ParameterSpec, Per, PieceSpec, StatementSpec, TemplateSpec, TransactionSpec, ValueSpec,
};
pub(crate) use table::TableRows;
pub use table::{ColumnSpec, TableSpec};
