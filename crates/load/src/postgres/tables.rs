//! What PostgreSQL says of tables, and how tables are protected from changes.

use super::literals::{literal, quoted};
use crate::holder::text;
use crate::identity::{Answer, Identity};
use loadstone_drive::client::{Client, Halt};
use loadstone_protocol::Row;

/// The first value of the row with a table's comment; those of columns begin with a number.
const COMMENT: &str = "comment";

/// Keeps others from renaming, dropping and altering a table until the transaction ends.
pub(super) fn pin(client: &mut Client, name: &str) -> Result<(), Halt> {
    client.query(&format!("LOCK TABLE {} IN ACCESS SHARE MODE", quoted(name))).map(drop)
}

/// Keeps everybody else from using a table, in a transaction.
pub(super) fn lock(client: &mut Client, name: &str) -> Result<bool, Halt> {
    client.query("BEGIN")?;
    match client.query(&format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", quoted(name))) {
        Ok(_) => Ok(true),
        Err(halt) => {
            if !halt.is_loss() {
                // If this fails as well, the first failure says more.
                drop(client.query("ROLLBACK"));
            }
            Err(halt)
        }
    }
}

/// How many other sessions add rows to the table of this quoted name.
pub(super) fn others_that_add(client: &mut Client, quoted_name: &str) -> Result<u64, Halt> {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND datname = current_database() AND state = 'active' \
         AND (query LIKE 'COPY %' OR query LIKE 'INSERT %') AND position({} in query) > 0",
        literal(quoted_name)
    );
    client.number(&sql).map(Option::unwrap_or_default)
}

/// What the server says of a table, to distinguish it from another one of the same name.
pub(super) fn identity(client: &mut Client, name: &str) -> Result<Identity, Halt> {
    let made = client.rows(&format!("SELECT {}::oid", table(name)))?;
    Ok(Identity { made: answer(&made), definition: definition(client, name)? })
}

/// The columns of a table in their order, and its comment if it has one.
pub(super) fn definition(client: &mut Client, name: &str) -> Result<Answer, Halt> {
    let table = table(name);
    let rows = client.rows(&format!(
        "SELECT attnum::text, attname, format_type(atttypid, atttypmod), attnotnull \
         FROM pg_attribute WHERE attrelid = {table} AND attnum > 0 AND NOT attisdropped \
         UNION ALL SELECT '{COMMENT}', said, NULL, NULL \
         FROM obj_description({table}, 'pg_class') AS said WHERE said IS NOT NULL ORDER BY 1"
    ))?;
    Ok(answer(&rows))
}

/// The table's comment.
pub(super) fn comment(identity: &Identity) -> Option<&str> {
    let is_comment = |row: &&Vec<Option<String>>| {
        row.first().is_some_and(|kind| kind.as_deref() == Some(COMMENT))
    };
    identity.definition.iter().find(is_comment)?.get(1)?.as_deref()
}

/// Whether the table has an index of the name that this statement gives one. Names of indexes are
/// the schema's, so that one of another table is in the way, and the statement will say so.
pub(super) fn has_index(client: &mut Client, name: &str, create: &str) -> Result<bool, Halt> {
    let Some(index) = index_name(create) else { return Ok(false) };
    let sql = format!(
        "SELECT count(*) FROM pg_index JOIN pg_class ON oid = indexrelid \
         WHERE indrelid = {} AND relname = {} AND indisvalid",
        table(name),
        literal(index)
    );
    Ok(client.number(&sql)? != Some(0))
}

/// Whether the table has a foreign key of this name, checked or not.
pub(super) fn has_key(client: &mut Client, name: &str, key: &str) -> Result<bool, Halt> {
    let sql = format!(
        "SELECT count(*) FROM pg_constraint \
         WHERE conrelid = {} AND contype = 'f' AND conname = {}",
        table(name),
        literal(key)
    );
    Ok(client.number(&sql)? != Some(0))
}

/// The word before ON.
fn index_name(create: &str) -> Option<&str> {
    let words: Vec<&str> = create.split_whitespace().collect();
    let on = words.iter().position(|word| word.eq_ignore_ascii_case("on"))?;
    words.get(on.checked_sub(1)?).map(|name| name.trim_matches('"'))
}

/// Generated ids go on behind those of the rows. And what autovacuum would otherwise do during the
/// first load is done now: bits that say which rows all can see, and statistics.
pub(super) fn finish(client: &mut Client, name: &str, id: &str) -> Result<(), Halt> {
    let (table, column) = (quoted(name), id.trim_matches('"'));
    client.query(&format!(
        "SELECT setval(sequence, greatest) FROM \
         (SELECT pg_get_serial_sequence({}, {}) AS sequence, max({id}) AS greatest FROM {table}) AS found \
         WHERE sequence IS NOT NULL AND greatest IS NOT NULL",
        literal(&table),
        literal(column)
    ))?;
    client.query(&format!("VACUUM (ANALYZE) {table}")).map(drop)
}

/// A table's number, as an expression.
fn table(name: &str) -> String {
    format!("{}::regclass", literal(&quoted(name)))
}

fn answer(rows: &[Row]) -> Answer {
    rows.iter().map(|row| (0..row.len()).map(|place| text(row, place)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_as_the_server_reads_names() {
        assert_eq!(table("sbtest1"), "'\"sbtest1\"'::regclass");
        assert_eq!(table("it's"), "'\"it''s\"'::regclass");
    }

    #[test]
    fn the_name_of_an_index_stands_before_its_table() {
        assert_eq!(index_name("CREATE INDEX k_1 ON sbtest1(k)"), Some("k_1"));
        assert_eq!(index_name("create unique index \"By K\" on t (k)"), Some("K"));
        assert_eq!(index_name("CREATE INDEX"), None);
    }

    #[test]
    fn a_comment_is_told_from_a_column_of_that_name() {
        let row = |values: [&str; 2]| values.map(|text| Some(text.to_owned())).to_vec();
        let identity = |definition| Identity { made: Vec::new(), definition };
        let columns = identity(vec![row(["1", "comment"])]);
        assert_eq!(comment(&columns), None);
        let marked = identity(vec![row(["1", "id"]), row([COMMENT, "loadstone a"])]);
        assert_eq!(comment(&marked), Some("loadstone a"));
    }
}
