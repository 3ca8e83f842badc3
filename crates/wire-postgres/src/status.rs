//! Flags of a session's state, in [`Completion::status`](crate::Completion::status).

/// A transaction is open.
pub const IN_TRANSACTION: u16 = 1 << 0;
/// The open transaction has failed: the server refuses everything until it is rolled back.
pub const FAILED: u16 = 1 << 1;
/// A statement ended in ROLLBACK. The answer to COMMIT in a failed transaction is such a one, and
/// no error.
pub const ROLLED_BACK: u16 = 1 << 2;
/// More rows can be fetched from the portal.
pub const SUSPENDED: u16 = 1 << 3;
