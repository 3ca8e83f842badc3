//! Counters of the null server.

use serde::Serialize;

/// Counters since the start, or since they were flushed.
///
/// `executes + queries == answered + errors + dropped_answers + owed`, at every instant: load that
/// came in was answered, failed by the script, cut off, or is still being answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// COM_STMT_EXECUTE that came in.
    pub executes: u64,
    /// COM_QUERY of load that came in.
    pub queries: u64,
    /// Answers to load that are on their way whole, errors apart.
    pub answered: u64,
    /// Errors that went out in place of answers to load.
    pub errors: u64,
    /// Load that was never answered in full: the connection was closed, by either side.
    pub dropped_answers: u64,
    /// Load that is being answered.
    pub owed: u64,
    /// COM_STMT_PREPARE that came in.
    pub prepares: u64,
    /// COM_STMT_CLOSE that came in.
    pub closes: u64,
    /// Any other command, questions about the server included.
    pub others: u64,
    /// Connections that were taken, refused ones included.
    pub connections: u64,
    /// Connections that were answered with an error.
    pub refused: u64,
    /// Connections that are open now.
    pub open: u64,
    /// The most that were open at once.
    pub open_max: u64,
    /// TLS handshakes that were completed.
    pub encrypted: u64,
    /// TLS handshakes that failed, whichever side did not like the other.
    pub tls_failed: u64,
    /// Logins that were completed.
    pub logins: u64,
    /// Connections that the script closed.
    pub dropped: u64,
    /// Connections that were closed because of bytes that are no protocol.
    pub garbled: u64,
    /// Bytes that came in.
    pub bytes_in: u64,
    /// Bytes that went out.
    pub bytes_out: u64,
    /// Answers that were to leave at a certain time.
    pub timed: u64,
    /// How late they left, altogether.
    pub late_ns_sum: u64,
    /// How late the latest of them left.
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
    /// The law above.
    pub fn balances(&self) -> bool {
        let load = self.executes + self.queries;
        load == self.answered + self.errors + self.dropped_answers + self.owed
    }

    /// Names and values, as SHOW NULL STATUS has them.
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
