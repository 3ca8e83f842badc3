//! Counters of one interval: of a step, a target, a workload of a mix, or idle connections.

use serde::Serialize;

/// What the users of a step did in an interval, and the bytes transferred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Events and statements.
    #[serde(flatten)]
    pub work: WorkCounts,
    /// Connections opened again.
    pub reconnects: u64,
    /// Connections opened because the plan renews them after a number of events.
    pub connects: u64,
    /// Bytes received from the servers.
    pub bytes_in: u64,
    /// Bytes sent to the servers.
    pub bytes_out: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.work.add(&other.work);
        self.reconnects += other.reconnects;
        self.connects += other.connects;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }
}

/// Events and statements of an interval: of the whole step, or of one workload of a mix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkCounts {
    /// Events that succeeded.
    pub events: u64,
    /// Events that failed.
    pub failed: u64,
    /// Events restarted after a deadlock or similar error.
    pub restarts: u64,
    /// Events that succeeded or failed after at least one restart.
    pub retried: u64,
    /// Statements with a result set.
    pub reads: u64,
    /// Statements that change rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Events that became due.
    pub due: u64,
    /// Events started more than 1 ms after they were due.
    pub late: u64,
    /// Events abandoned before they started.
    pub skipped: u64,
}

impl WorkCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.failed += other.failed;
        self.restarts += other.restarts;
        self.retried += other.retried;
        self.reads += other.reads;
        self.writes += other.writes;
        self.other += other.other;
        self.due += other.due;
        self.late += other.late;
        self.skipped += other.skipped;
    }
}

/// What one of several targets did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TargetCounts {
    /// Events that succeeded there.
    pub events: u64,
    /// Statements that succeeded there.
    pub queries: u64,
    /// Statements that failed there.
    pub errors: u64,
    /// Attempts to connect that failed.
    pub connect_failures: u64,
    /// Users connected at the interval's end.
    pub users: u64,
}

impl TargetCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.queries += other.queries;
        self.errors += other.errors;
        self.connect_failures += other.connect_failures;
        self.users += other.users;
    }
}

/// What happened to the idle connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IdleCounts {
    /// Open at the interval's end.
    pub open: u64,
    /// Closed by the server or the network.
    pub lost: u64,
    /// Opened under load.
    pub opened: u64,
}

impl IdleCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.open += other.open;
        self.lost += other.lost;
        self.opened += other.opened;
    }
}
