//! What MySQL and MariaDB say of tables, and how tables are protected from changes.

use super::codes;
use crate::identity::{Answer, Identity};
use loadstone_drive::client::{Client, Halt};
use loadstone_protocol::Row;
use loadstone_workload::dialect::{self, Dialect};

/// What precedes a table's comment in `SHOW CREATE TABLE`; the second is OceanBase's.
const COMMENT: [&str; 2] = [" COMMENT='", " COMMENT = '"];

/// A transaction that has opened a table keeps others from renaming, dropping and altering it.
pub(super) fn pin(client: &mut Client, name: &str) -> Result<(), Halt> {
    client.query(&format!("SELECT 1 FROM {} LIMIT 0", quoted(name))).map(drop)
}

/// Keeps everybody else from using a table; returns whether that succeeded.
pub(super) fn lock(client: &mut Client, name: &str) -> Result<bool, Halt> {
    match client.query(&format!("LOCK TABLES {} WRITE", quoted(name))) {
        Ok(_) => Ok(true),
        Err(halt) if halt.errno().is_some_and(|errno| codes::NO_LOCK.contains(&errno)) => Ok(false),
        Err(halt) => Err(halt),
    }
}

/// How many other sessions add rows to the table of this quoted name.
pub(super) fn others_that_add(client: &mut Client, quoted_name: &str) -> Result<u64, Halt> {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND DB = DATABASE() \
         AND (INFO LIKE 'LOAD DATA%' OR INFO LIKE 'INSERT%') AND LOCATE('{quoted_name}', INFO) > 0"
    );
    client.number(&sql).map(Option::unwrap_or_default)
}

/// Whether the table's comment is exactly this mark; without one, that of its first column.
pub(super) fn has_mark(identity: &Identity, mark: &str) -> bool {
    match comment(identity) {
        Some(comment) => comment == format!("COMMENT='{mark}'"),
        None => {
            let end = column_comment(mark);
            first_column(identity).is_some_and(|column| column.ends_with(&end))
        }
    }
}

/// Writes the mark into the comment of the first column, whose definition stays the same.
pub(super) fn mark_column(
    client: &mut Client,
    name: &str,
    identity: &Identity,
    mark: &str,
) -> Result<(), Halt> {
    let Some(column) = first_column(identity) else { return Ok(()) };
    let end = column_comment(mark);
    let sql = format!("ALTER TABLE {} MODIFY COLUMN {column}{end}", quoted(name));
    client.query(&sql).map(drop)
}

fn column_comment(mark: &str) -> String {
    format!(" COMMENT '{mark}'")
}

fn first_column(identity: &Identity) -> Option<&str> {
    let first = identity.definition.first()?.first()?.as_deref()?;
    first.starts_with(['`', '"']).then_some(first)
}

/// The table's comment, as MySQL's `SHOW CREATE TABLE` has it.
pub(super) fn comment(identity: &Identity) -> Option<&str> {
    let last = identity.definition.last()?.first()?.as_deref()?;
    last.starts_with("COMMENT=").then_some(last)
}

/// What the server says of a table, to distinguish it from another one of the same name.
pub(super) fn identity(client: &mut Client, name: &str) -> Result<Identity, Halt> {
    let made = client.rows(&format!(
        "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = '{name}'"
    ))?;
    Ok(Identity { made: answer(&made), definition: definition(client, name)? })
}

/// Does not query information_schema.columns: for each such query MariaDB creates a temporary table
/// on disk. If somebody else removes its files in the meantime, as another server that starts with
/// the same `tmpdir` does, 10.11.19 crashes when it drops the table (`ha_maria::drop_table`).
pub(super) fn definition(client: &mut Client, name: &str) -> Result<Answer, Halt> {
    let made = client.rows(&format!("SHOW CREATE TABLE {}", quoted(name)))?;
    let text = answer(&made).into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(definition_in(&text.unwrap_or_default()))
}

/// The parts of `SHOW CREATE TABLE` that stay the same while a table is loaded: a line for each
/// column, which starts with the quoted name, and the table's comment. Indexes are added, and the
/// AUTO_INCREMENT counter next to the comment changes.
fn definition_in(created: &str) -> Answer {
    let lines = created.lines().map(|line| line.trim().trim_end_matches(','));
    let stays = |line: &str| match line.starts_with(['`', '"']) {
        true => Some(line.to_owned()),
        false => {
            let options = line.strip_prefix(')')?;
            let (_, text) = COMMENT.iter().find_map(|start| options.split_once(start))?;
            Some(format!("COMMENT='{text}"))
        }
    };
    lines.filter_map(stays).map(|line| vec![Some(line)]).collect()
}

fn answer(rows: &[Row]) -> Answer {
    let text = |value: &Option<Vec<u8>>| {
        value.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn quoted(name: &str) -> String {
    dialect::MySql.quoted(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_the_comment_of_the_table_alone() {
        let made = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL COMMENT 'loadstone b',\n  PRIMARY KEY (`id`)\n) \
                    ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1 COMMENT='loadstone a'\n/*!50100 PARTITION BY \
                    HASH (`id`)\nPARTITIONS 2 */";
        let identity = Identity { made: Vec::new(), definition: definition_in(made) };
        assert!(has_mark(&identity, "loadstone a"));
        assert!(!has_mark(&identity, "loadstone b"));
        assert!(!has_mark(&identity, "loadstone"));
        let later = definition_in(&made.replace("AUTO_INCREMENT=7 ", ""));
        assert_eq!(later, identity.definition);
    }

    #[test]
    fn a_mark_is_in_the_first_column_where_tables_keep_no_comments() {
        // As Dolt 0.40.4 answers.
        let made = "CREATE TABLE `sbtest1` (\n  `id` int NOT NULL AUTO_INCREMENT COMMENT 'loadstone a',\n  `k` int \
                    COMMENT 'loadstone b',\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        let identity = Identity { made: Vec::new(), definition: definition_in(made) };
        assert!(has_mark(&identity, "loadstone a"));
        assert!(!has_mark(&identity, "loadstone b"));
        assert!(!has_mark(&identity, "a"));
    }

    #[test]
    fn a_mark_is_found_as_ocean_base_writes_it() {
        // As OceanBase seekdb 1.4.0 answered.
        let made = "CREATE TABLE `sbtest2` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  PRIMARY KEY (`id`)\n) \
                    ORGANIZATION INDEX AUTO_INCREMENT = 1 DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC COMPRESSION = \
                    'zstd_1.3.8' BLOCK_SIZE = 16384 TABLET_SIZE = 134217728 PCTFREE = 0 COMMENT = 'loadstone e709'";
        let identity = Identity { made: Vec::new(), definition: definition_in(made) };
        assert!(has_mark(&identity, "loadstone e709"));
        assert!(!has_mark(&identity, "loadstone e70"));
    }

    #[test]
    fn neither_indexes_nor_rows_change_what_a_table_is_known_by() {
        let made = "CREATE TABLE `sbtest1` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `k` int(11) NOT NULL,\n  \
                    PRIMARY KEY (`id`)\n) ENGINE=InnoDB";
        let loaded = "CREATE TABLE `sbtest1` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `k` int(11) NOT NULL,\n  \
                      PRIMARY KEY (`id`),\n  KEY `k_1` (`k`)\n) ENGINE=InnoDB AUTO_INCREMENT=1001";
        assert_eq!(definition_in(made), definition_in(loaded));
        assert_eq!(definition_in(made).len(), 2);
        assert_ne!(definition_in(made), definition_in(&made.replace("`k`", "`l`")));
        assert!(definition_in("").is_empty());
    }
}
