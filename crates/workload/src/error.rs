//! Why a part of a plan that this crate reads is refused.

/// Why a plan's workload, layout, arrival or stop rule cannot be run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpecError {
    /// No such workload.
    #[error("unknown workload {name:?}; there are {known}")]
    UnknownWorkload {
        /// The name as given.
        name: String,
        /// All known names.
        known: String,
    },
    /// The workload has no such option.
    #[error("{workload} has no option {option:?}; it has {known}")]
    UnknownOption {
        /// The workload.
        workload: &'static str,
        /// The option as given.
        option: String,
        /// All its options.
        known: String,
    },
    /// The option has another type.
    #[error("{workload}: the option {option} is {expected}, not {given}")]
    WrongType {
        /// The workload.
        workload: &'static str,
        /// The option.
        option: &'static str,
        /// The expected type.
        expected: String,
        /// The value as given.
        given: String,
    },
    /// A script of pgbench that cannot be run.
    #[error("{workload}: {why}")]
    Script {
        /// The workload.
        workload: String,
        /// Its line, and what is wrong there.
        why: String,
    },
    /// A number outside its allowed range.
    #[error("{what} must be {allowed}")]
    OutOfRange {
        /// Its name.
        what: &'static str,
        /// The allowed range.
        allowed: &'static str,
    },
    /// All counts are zero.
    #[error("{workload}: with these options an event has no statement")]
    NothingToDo {
        /// The workload.
        workload: &'static str,
    },
}
