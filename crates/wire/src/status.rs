//! Status flags of OK and EOF packets.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html> (`SERVER_STATUS_flags_enum`)

/// A transaction is open.
pub const IN_TRANSACTION: u16 = 0x0001;
/// Each statement is its own transaction.
pub const AUTOCOMMIT: u16 = 0x0002;
/// Another result of the same command follows.
pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
/// The query used a bad index.
pub const NO_GOOD_INDEX_USED: u16 = 0x0010;
/// The query used no index.
pub const NO_INDEX_USED: u16 = 0x0020;
/// A backslash in a literal is an ordinary character: see [`escape_text`](crate::escape_text).
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
/// The open transaction only reads.
pub const IN_READ_ONLY_TRANSACTION: u16 = 0x2000;
