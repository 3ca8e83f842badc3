//! Error codes of MySQL and MariaDB that a load handles and continues after.

/// ER_TABLE_EXISTS_ERROR.
pub(super) const TABLE_EXISTS: u16 = 1050;

/// ER_DUP_KEYNAME.
pub(super) const INDEX_EXISTS: u16 = 1061;

/// ER_DUP_ENTRY. LOAD DATA LOCAL silently skips such a row.
pub(super) const ROW_EXISTS: u16 = 1062;

/// ER_UNKNOWN_ERROR.
pub(super) const ANY_ERROR: u16 = 1105;

/// ER_UNKNOWN_SYSTEM_VARIABLE.
pub(super) const NO_SUCH_VARIABLE: u16 = 1193;

/// ER_LOCK_WAIT_TIMEOUT.
pub(super) const LOCK_WAIT: u16 = 1205;

/// ER_LOCK_DEADLOCK.
pub(super) const DEADLOCK: u16 = 1213;

/// ER_QUERY_INTERRUPTED.
pub(super) const ENDED: u16 = 1317;

/// ER_CLIENT_LOCAL_FILES_DISABLED.
pub(super) const NO_LOCAL_FILES: u16 = 3948;

/// ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR; and the answers of Galera and of
/// Percona's cluster.
pub(super) const NO_LOCK: [u16; 4] = [1044, 1142, 1105, 1235];
