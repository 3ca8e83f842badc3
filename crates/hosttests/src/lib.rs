//! Benchmarks of a host without a database: prime numbers, memory, threads, mutexes and files.
//!
//! The five tests are those of sysbench 1.0, with its options and defaults, so that figures can be
//! compared with existing ones. They also show ceilings: no server commits more often than its disk
//! can be synchronised.
//!
//! [`HostPlan`] says what to do and [`HostTest`] does it on threads of its own, reporting
//! [`Record`]s. The crate knows no Python and no report.

mod claims;
mod coordinator;
mod cpu;
mod error;
mod fileio;
mod host_test;
mod memory;
mod meter;
mod mutex;
mod pages;
mod plan;
mod record;
mod threads;
mod work;
mod worker;

pub use cpu::CpuPlan;
pub use error::{Broken, Damage, HostError, PlanError};
pub use fileio::{FilePlan, FileTestMode, IoMode, OpenFlag, SyncMode};
pub use host_test::{HostTest, Next};
pub use memory::{Access, MemoryPlan, Operation, Scope};
pub use mutex::MutexPlan;
pub use plan::{Command, HostPlan, StopPlan, TestPlan};
pub use record::{Begun, Done, End, EndReason, Phase, Record, Sample};
pub use threads::ThreadsPlan;
