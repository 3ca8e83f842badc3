//! Queries that show who holds the lock that a connection waits for.

/// Each query answers as [`read`](crate::holder::read) has it.
type Question = fn(u32) -> String;

/// A row lock, or a table lock in InnoDB; before MySQL 8, and in MariaDB.
fn of_innodb(id: u32) -> String {
    format!(
        "SELECT b.trx_mysql_thread_id, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, b.trx_started, NOW()), \
         LEFT(p.INFO, 400), CONCAT('a lock on ', l.lock_table, IFNULL(CONCAT(', index ', l.lock_index), '')) \
         FROM information_schema.INNODB_LOCK_WAITS w \
         JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
         JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
         LEFT JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id \
         LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id \
         WHERE r.trx_mysql_thread_id = {id} LIMIT 1"
    )
}

/// A row lock, or a table lock in InnoDB; since MySQL 8.
fn of_data_locks(id: u32) -> String {
    format!(
        "SELECT b.trx_mysql_thread_id, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, b.trx_started, NOW()), \
         LEFT(p.INFO, 400), CONCAT('a lock on `', l.OBJECT_SCHEMA, '`.`', l.OBJECT_NAME, '`', \
         IFNULL(CONCAT(', index ', l.INDEX_NAME), '')) \
         FROM performance_schema.data_lock_waits w \
         JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
         JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
         LEFT JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
         LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id \
         WHERE r.trx_mysql_thread_id = {id} LIMIT 1"
    )
}

/// A metadata lock, if the performance schema is on.
fn of_metadata(id: u32) -> String {
    format!(
        "SELECT h.PROCESSLIST_ID, h.PROCESSLIST_USER, h.PROCESSLIST_HOST, h.PROCESSLIST_TIME, \
         LEFT(h.PROCESSLIST_INFO, 400), CONCAT('a metadata lock on ', LOWER(g.OBJECT_TYPE), ' ', \
         IFNULL(CONCAT_WS('.', g.OBJECT_SCHEMA, g.OBJECT_NAME), '')) \
         FROM performance_schema.metadata_locks w \
         JOIN performance_schema.threads t ON t.THREAD_ID = w.OWNER_THREAD_ID \
         JOIN performance_schema.metadata_locks g ON g.OBJECT_TYPE = w.OBJECT_TYPE \
         AND g.OBJECT_SCHEMA <=> w.OBJECT_SCHEMA AND g.OBJECT_NAME <=> w.OBJECT_NAME \
         AND g.LOCK_STATUS = 'GRANTED' AND g.OWNER_THREAD_ID <> w.OWNER_THREAD_ID \
         JOIN performance_schema.threads h ON h.THREAD_ID = g.OWNER_THREAD_ID \
         WHERE t.PROCESSLIST_ID = {id} AND w.LOCK_STATUS = 'PENDING' LIMIT 1"
    )
}

/// A metadata lock by a plugin of MariaDB. It does not show who waits, so this returns every other
/// session with a lock on the table.
fn of_metadata_info(id: u32) -> String {
    format!(
        "SELECT m.THREAD_ID, p.USER, p.HOST, p.TIME, LEFT(p.INFO, 400), \
         CONCAT('a metadata lock on table ', m.TABLE_SCHEMA, '.', m.TABLE_NAME) \
         FROM information_schema.METADATA_LOCK_INFO m \
         JOIN information_schema.PROCESSLIST p ON p.ID = m.THREAD_ID \
         JOIN information_schema.PROCESSLIST r ON r.ID = {id} AND r.DB = m.TABLE_SCHEMA \
         AND LOCATE(m.TABLE_NAME, r.INFO) > 0 \
         WHERE m.THREAD_ID <> {id} LIMIT 1"
    )
}

/// The likely holder of a metadata lock if the server does not show it: the oldest transaction of
/// another session.
pub(super) fn suspect(own: &[u32]) -> String {
    let own: Vec<String> = own.iter().map(u32::to_string).collect();
    format!(
        "SELECT b.trx_mysql_thread_id, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, b.trx_started, NOW()), \
         LEFT(p.INFO, 400), '' FROM information_schema.INNODB_TRX b \
         JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id \
         WHERE p.ID NOT IN ({}) ORDER BY b.trx_started LIMIT 1",
        own.join(", ")
    )
}

/// The queries for row locks, in order; one that the server does not know is skipped.
pub(super) fn of_rows(is_mariadb: bool) -> &'static [Question] {
    match is_mariadb {
        true => &[of_innodb],
        false => &[of_data_locks, of_innodb],
    }
}

/// The queries for metadata locks, in order.
pub(super) fn of_tables(is_mariadb: bool) -> &'static [Question] {
    match is_mariadb {
        true => &[of_metadata, of_metadata_info],
        false => &[of_metadata],
    }
}
