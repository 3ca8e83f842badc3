//! Why a part of a plan that this crate reads is refused.

/// Why a plan's workload, layout, arrival or stop rule cannot be carried out.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpecError {
    /// No such workload.
    #[error("unknown workload {name:?}; there are {known}")]
    UnknownWorkload {
        /// As it was given.
        name: String,
        /// All names.
        known: String,
    },
    /// The workload has no such option.
    #[error("{workload} has no option {option:?}; it has {known}")]
    UnknownOption {
        /// The workload.
        workload: &'static str,
        /// As it was given.
        option: String,
        /// All its options.
        known: String,
    },
    /// The option has another type.
    #[error("{workload}: the option {option} is {expected}, not {given}")]
    WrongType {
        /// The workload.
        workload: &'static str,
        /// Which option.
        option: &'static str,
        /// What it should be.
        expected: String,
        /// As it was given.
        given: String,
    },
    /// A number that means nothing here.
    #[error("{what} must be {allowed}")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// What would do.
        allowed: &'static str,
    },
    /// All counts are zero.
    #[error("{workload}: with these options an event has no statement")]
    NothingToDo {
        /// The workload.
        workload: &'static str,
    },
}
