//! Counters of the null server.

use serde::Serialize;

/// Counters since the start, or since they were last flushed.
///
/// `executes + queries == answered + errors + dropped_answers + owed`, at every instant: received
/// load was answered, failed by the script, cut off, or is still being answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// COM_STMT_EXECUTE received.
    pub executes: u64,
    /// COM_QUERY received with load statements.
    pub queries: u64,
    /// Answers to load that were sent completely, apart from errors.
    pub answered: u64,
    /// Errors sent instead of answers to load.
    pub errors: u64,
    /// Load that was never answered completely: either side closed the connection.
    pub dropped_answers: u64,
    /// Load that is being answered.
    pub owed: u64,
    /// COM_STMT_PREPARE received.
    pub prepares: u64,
    /// COM_STMT_CLOSE received.
    pub closes: u64,
    /// Any other command, including questions about the server.
    pub others: u64,
    /// Accepted connections, including refused ones.
    pub connections: u64,
    /// Connections that were answered with an error.
    pub refused: u64,
    /// Connections open now.
    pub open: u64,
    /// The most connections open at the same time.
    pub open_max: u64,
    /// Completed TLS handshakes.
    pub encrypted: u64,
    /// Failed TLS handshakes, whichever side refused.
    pub tls_failed: u64,
    /// Completed logins.
    pub logins: u64,
    /// Connections that the script closed.
    pub dropped: u64,
    /// Connections closed because the client violated the protocol.
    pub garbled: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Answers that were due at a certain time.
    pub timed: u64,
    /// The sum of their delays.
    pub late_ns_sum: u64,
    /// The longest of their delays.
    pub late_ns_max: u64,
    /// Records in the log.
    pub log_records: u64,
    /// Records that found no room there.
    pub log_lost: u64,
    /// CPU time of the server's thread.
    pub cpu_us: u64,
    /// Time since the start, or since the counters were flushed.
    pub wall_us: u64,
}

impl Stats {
    /// Whether the invariant above holds.
    pub fn balances(&self) -> bool {
        let load = self.executes + self.queries;
        load == self.answered + self.errors + self.dropped_answers + self.owed
    }

    /// Names and values, as in SHOW NULL STATUS.
    pub fn pairs(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("executes", self.executes),
            ("queries", self.queries),
            ("answered", self.answered),
            ("errors", self.errors),
            ("dropped_answers", self.dropped_answers),
            ("owed", self.owed),
            ("prepares", self.prepares),
            ("closes", self.closes),
            ("others", self.others),
            ("connections", self.connections),
            ("refused", self.refused),
            ("open", self.open),
            ("open_max", self.open_max),
            ("encrypted", self.encrypted),
            ("tls_failed", self.tls_failed),
            ("logins", self.logins),
            ("dropped", self.dropped),
            ("garbled", self.garbled),
            ("bytes_in", self.bytes_in),
            ("bytes_out", self.bytes_out),
            ("timed", self.timed),
            ("late_ns_sum", self.late_ns_sum),
            ("late_ns_max", self.late_ns_max),
            ("log_records", self.log_records),
            ("log_lost", self.log_lost),
            ("cpu_us", self.cpu_us),
            ("wall_us", self.wall_us),
        ]
    }
}
