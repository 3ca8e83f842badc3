//! Workloads: what one virtual user does repeatedly, as step machines.
//!
//! Three values compose and none knows the others: *what* ([`Workload`] and its [`Machine`]s),
//! *when* ([`arrival`]) and *how long* ([`stop`]). Nothing here has a socket, a clock or a thread,
//! so everything is tested by feeding it answers. [`layout`] holds the tables that the workloads
//! run on.
//!
//! What differs between families of servers is behind [`dialect::Dialect`]; MySQL's is in
//! `dialect/mysql`. To add a family: write a folder next to that, and add it to the list of
//! `dialect`; plans select it by its name with [`Workload::in_dialect`] and
//! [`LoadLayout::in_dialect`].
//!
//! The built-in workloads except `tpcc`, `hot_row` and `ledger` send what sysbench 1.0.20 sends:
//! their statements, counts, orders and key ranges were recorded from a server's general log while
//! that program ran.

pub mod arrival;
mod builtin;
mod bulk;
mod calendar;
mod catalogue;
pub mod dialect;
pub mod distribution;
mod error;
pub mod layout;
mod ledger;
mod machine;
mod mix;
mod options;
mod params;
mod permutation;
pub mod pgbench;
pub mod phases;
mod pipelined;
pub mod random;
mod row_writer;
mod sequence;
mod spec;
pub mod stop;
pub mod templates;
mod text;
mod tpcc;
mod unique;
mod workload;
mod zipf;

pub use arrival::Arrival;
pub use builtin::{Description, builtin};
pub use catalogue::{Catalogue, Piece, StatementRef, Template};
pub use distribution::Distribution;
pub use error::SpecError;
pub use layout::{LayoutKind, LoadLayout};
pub use machine::{Answer, Entries, Machine, Printer, Rows, Step, Undone};
pub use mix::{Mix, WeightedPicker};
pub use params::Params;
pub use pipelined::Pipelined;
pub use spec::{OptionValue, WorkloadSpec};
pub use stop::StopRule;
pub use unique::{UniqueIds, UniqueWithin};
pub use workload::Workload;
