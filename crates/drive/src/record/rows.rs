//! Rows of a sample that only some plans ask for, each a short list in JSON.

use serde::Serialize;

/// What a command of a script did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CommandRow(
    /// The place of the script among the plan's members; 0 if the step is not a mix.
    pub u16,
    /// Its number in the script, from 0.
    pub u16,
    /// How often it was executed successfully.
    pub u64,
    /// How long that took together, in nanoseconds.
    pub u64,
    /// Errors at it that failed the event.
    pub u64,
    /// Errors at it that restarted the event.
    pub u64,
);

/// An event that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventRow(
    /// The user's number among all users.
    pub u64,
    /// The number of the event among the user's, from 1.
    pub u64,
    /// The place of its workload among the plan's members; 0 if the step is not a mix.
    pub u16,
    /// When it ended, in microseconds since 1970.
    pub u64,
    /// How long it took since it was due, in microseconds.
    pub u64,
    /// How late it started, in microseconds; `null` in a closed loop, and if it did not start.
    pub Option<u64>,
    /// How often it was started.
    pub u32,
    /// How it ended.
    pub Outcome,
);

/// How an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// It was due and did not start.
    Skipped,
    /// It failed: no order of its transaction and others has the same result.
    Serialization,
    /// It failed: its transaction and others waited for each other.
    Deadlock,
    /// It failed in another way.
    Failed,
}
