//! Queries that show who holds the lock that a connection waits for, and how their answers are
//! read.

use crate::record::Holder;
use loadstone_protocol::Row;

/// The most characters shown of another session's statement.
const SHOWN: usize = 120;

/// Each query answers with: the holder's connection, user, host, seconds, statement, and the locked
/// object.
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

/// The holder, and the locked object.
pub(super) fn read(row: &Row) -> Option<(Holder, String)> {
    let user = text(row, 1).map(|user| match text(row, 2) {
        // A port does not help to find a session.
        Some(host) => format!("{user}@{}", host.split(':').next().unwrap_or_default()),
        None => user,
    });
    let holder = Holder {
        connection: text(row, 0)?.parse().ok()?,
        user,
        seconds: text(row, 3).and_then(|seconds| seconds.parse().ok()),
        statement: text(row, 4).map(|statement| blanked(&statement)),
    };
    Some((holder, text(row, 5).unwrap_or_else(|| "a lock".to_owned())))
}

/// A value of an answer; `None` for NULL and for an empty string.
pub(super) fn text(row: &Row, place: usize) -> Option<String> {
    let value = row.get(place)?.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// Another session's statement without its quoted parts, which may be a password.
fn blanked(statement: &str) -> String {
    let mut shown = String::new();
    let mut letters = statement.chars().peekable();
    while let Some(letter) = letters.next() {
        if !matches!(letter, '\'' | '"') {
            shown.push(if letter.is_control() { ' ' } else { letter });
            continue;
        }
        shown.push('?');
        while let Some(inner) = letters.next() {
            match inner {
                '\\' => drop(letters.next()),
                _ if inner == letter && letters.peek() == Some(&letter) => drop(letters.next()),
                _ if inner == letter => break,
                _ => {}
            }
        }
    }
    match shown.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_quotes_is_not_shown() {
        for (statement, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SET PASSWORD = PASSWORD('it''s \\' secret')", "SET PASSWORD = PASSWORD(?)"),
            ("IDENTIFIED BY \"secret\" REQUIRE SSL", "IDENTIFIED BY ? REQUIRE SSL"),
            ("IDENTIFIED BY 'cut off in the mid", "IDENTIFIED BY ?"),
            ("a\nb", "a b"),
        ] {
            assert_eq!(blanked(statement), expected);
        }
        assert_eq!(blanked(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn a_holder_is_read_as_far_as_it_is_told() {
        let value = |text: &str| Some(text.as_bytes().to_vec());
        let row = vec![
            value("7"),
            value("app"),
            value("10.0.0.1:4711"),
            value("40"),
            None,
            value("a lock on t"),
        ];
        let (holder, what) = read(&row).expect("a holder");
        assert_eq!(holder.text(), "connection 7 (app@10.0.0.1) for 40 s");
        assert_eq!(what, "a lock on t");
        assert!(read(&vec![None; 6]).is_none());
    }
}
