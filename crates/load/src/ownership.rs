//! Which tables are this load's own, and which only have a name that it wants.
//!
//! Who asked for the load has looked at the schema before: it says which tables may be there already, because they
//! are its own. Whatever else stands under a wanted name is left as it is. And as somebody may rename tables while
//! the load is at work, rows are added and deleted only where the server says that the table is still the one that
//! was made, in a transaction in which nobody can put another in its place.

use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_protocol::Row;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR; and what Galera and Percona's cluster say.
const NO_LOCK: [u16; 4] = [1044, 1142, 1105, 1235];

/// What stands before a table's comment in `SHOW CREATE TABLE`.
const COMMENT: &str = " COMMENT='";

/// Rows that the server has answered, as text.
type Answer = Vec<Vec<Option<String>>>;

/// What the server says of a table, so that another one of the same name is told from it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// When it was made. Making an index counts, rows do not.
    made: Answer,
    /// Its columns in order and its comment, as SHOW CREATE TABLE has them.
    definition: Answer,
}

impl Identity {
    /// Whether the table's comment says this and nothing else.
    fn has(&self, mark: &str) -> bool {
        let comment = format!("COMMENT='{mark}'");
        self.definition.last().and_then(|line| line.first()?.as_deref()) == Some(&*comment)
    }
}

/// A table as the stage [`Make`](crate::Stage::Make) left it, for the stages that follow elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// Its number in the layout, from 1.
    pub table: u32,
    /// It was just made, and has no row.
    pub is_new: bool,
    /// The ids of one that was there that have to be loaded, as the first and the last of each run; `None`: of one
    /// that is new all, of any other nobody has looked.
    #[serde(default)]
    pub missing: Option<Vec<(u64, u64)>>,
    /// What tells it from another one of its name.
    pub identity: Identity,
}

/// What is known of the tables of a load, by their numbers.
#[derive(Debug)]
pub(super) struct TableOwnership {
    /// `None`: any table may be there.
    continues: Option<BTreeSet<String>>,
    /// By name, what a table's comment says that is ours; those without are known by their columns alone.
    marks: BTreeMap<String, String>,
    begun: Mutex<BTreeSet<u32>>,
    known: Mutex<BTreeMap<u32, KnownTable>>,
}

impl TableOwnership {
    /// `known`: what an earlier stage has seen.
    pub(super) fn new(
        continues: Option<&[String]>,
        marks: &BTreeMap<String, String>,
        known: &[KnownTable],
    ) -> Self {
        let known = known.iter().map(|known| (known.table, known.clone())).collect();
        Self {
            continues: continues.map(|names| names.iter().cloned().collect()),
            marks: marks.clone(),
            begun: Mutex::default(),
            known: Mutex::new(known),
        }
    }

    /// What the comment of a table says that is ours.
    pub(super) fn mark(&self, name: &str) -> Option<&str> {
        self.marks.get(name).map(String::as_str)
    }

    /// All tables that were made or found.
    pub(super) fn all(&self) -> Vec<KnownTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Whether the table was made by this load, and had no row then.
    pub(super) fn is_new(&self, table: u32) -> bool {
        self.known(table).is_some_and(|known| known.is_new)
    }

    /// Which ids an earlier stage has found to be loaded; `None`: nobody has looked.
    pub(super) fn missing(&self, table: u32) -> Option<Vec<(u64, u64)>> {
        self.known(table).and_then(|known| known.missing)
    }

    /// Take note of the ids that have to be loaded.
    pub(super) fn note_missing(&self, table: u32, missing: Vec<(u64, u64)>) {
        if let Some(known) = self.known(table) {
            self.note(KnownTable { missing: Some(missing), ..known });
        }
    }

    /// Take note that the table is about to be made; whether that is tried for the first time.
    pub(super) fn begins(&self, table: u32) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(table)
    }

    /// Looks at a table that was just made.
    pub(super) fn made(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        self.note(KnownTable {
            table,
            is_new: true,
            missing: None,
            identity: self.marked(client, name)?,
        });
        Ok(())
    }

    /// Looks at a table that was there; refuses one that is not to be taken up.
    ///
    /// One that another connection was about to make is ours where it has our mark, or has none to have and is empty:
    /// that connection was lost before it heard that the table had been made.
    pub(super) fn found(
        &self,
        client: &mut Client,
        table: u32,
        name: &str,
        first_try: bool,
    ) -> Result<(), Halt> {
        let is_known = self.continues.as_ref().is_none_or(|names| names.contains(name));
        let may_be_new = !first_try && (self.mark(name).is_some() || is_empty(client, name)?);
        if !is_known && !may_be_new {
            return Err(in_the_way(name, "is there, and Loadstone did not make it"));
        }
        self.note(KnownTable {
            table,
            is_new: false,
            missing: None,
            identity: self.marked(client, name)?,
        });
        Ok(())
    }

    /// Does `work` in a transaction of its own, in which the table stays what it is, if it is still ours.
    pub(super) fn hold<T>(
        &self,
        client: &mut Client,
        table: u32,
        name: &str,
        work: impl FnOnce(&mut Client) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        client.query("BEGIN")?;
        let result = self.check(client, table, name).and_then(|()| work(client));
        match result {
            Ok(value) => client.query("COMMIT").map(|_| value),
            Err(halt) => {
                if matches!(&halt, Halt::Failed(failure) if failure.kind != FailureKind::Stalled)
                    && !halt.is_loss()
                {
                    // Where this fails as well, the first failure says more.
                    drop(client.query("ROLLBACK"));
                }
                Err(halt)
            }
        }
    }

    /// Does `work`, which ends a transaction, while nobody else may use the table, if it is still ours.
    ///
    /// Who may not lock tables, and clusters without such locks, do without: then somebody could put another table in
    /// its place between the look and the work.
    pub(super) fn alone_with<T>(
        &self,
        client: &mut Client,
        table: u32,
        name: &str,
        work: impl FnOnce(&mut Client) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let is_locked = match client.query(&format!("LOCK TABLES `{name}` WRITE")) {
            Ok(_) => true,
            Err(halt) if halt.errno().is_some_and(|errno| NO_LOCK.contains(&errno)) => false,
            Err(halt) => return Err(halt),
        };
        let result = self.check_definition(client, table, name).and_then(|()| work(client));
        if is_locked && !matches!(&result, Err(halt) if halt.is_loss()) {
            client.query("UNLOCK TABLES")?;
        }
        result
    }

    /// Refuses a table with other columns or another comment than the one that was made. It may have got indexes
    /// since.
    fn check_definition(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        let known = self.known(table).map(|known| known.identity.definition);
        match known == Some(definition(client, name)?) {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    fn check(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        // A transaction that has opened a table keeps others from renaming, dropping and altering it.
        client.query(&format!("SELECT 1 FROM `{name}` LIMIT 0"))?;
        match self.known(table).map(|known| known.identity) == Some(identity(client, name)?) {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    /// What tells the table from others; refuses one without the mark that it is to have.
    fn marked(&self, client: &mut Client, name: &str) -> Result<Identity, Halt> {
        let identity = identity(client, name)?;
        match self.mark(name).is_none_or(|mark| identity.has(mark)) {
            true => Ok(identity),
            false => Err(replaced(name)),
        }
    }

    fn note(&self, known: KnownTable) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(known.table, known);
    }

    fn known(&self, table: u32) -> Option<KnownTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }
}

fn identity(client: &mut Client, name: &str) -> Result<Identity, Halt> {
    let made = client.rows(&format!(
        "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = '{name}'"
    ))?;
    Ok(Identity { made: answer(&made), definition: definition(client, name)? })
}

/// Not asked of information_schema.columns: for each such question MariaDB makes a temporary table on disk. One whose
/// files somebody else removes meanwhile, as another server does that starts with the same `tmpdir`, crashes 10.11.19
/// when it is dropped (`ha_maria::drop_table`).
fn definition(client: &mut Client, name: &str) -> Result<Answer, Halt> {
    let made = client.rows(&format!("SHOW CREATE TABLE `{name}`"))?;
    let text = answer(&made).into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(definition_in(&text.unwrap_or_default()))
}

/// Of `SHOW CREATE TABLE` what stays while a table is loaded: a line for each column, which begins with the name in
/// quotes, and the table's comment. Indexes come, and the counter of AUTO_INCREMENT beside the comment moves.
fn definition_in(created: &str) -> Answer {
    let lines = created.lines().map(|line| line.trim().trim_end_matches(','));
    let stays = |line: &str| match line.starts_with(['`', '"']) {
        true => Some(line.to_owned()),
        false => {
            let options = line.strip_prefix(')')?;
            options.find(COMMENT).map(|at| options[at + 1..].to_owned())
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

fn is_empty(client: &mut Client, name: &str) -> Result<bool, Halt> {
    client.rows(&format!("SELECT 1 FROM `{name}` LIMIT 1")).map(|rows| rows.is_empty())
}

fn replaced(name: &str) -> Halt {
    in_the_way(name, "is not the table any more that this load made: it is left as it is")
}

fn in_the_way(name: &str, what: &str) -> Halt {
    let text = format!("table {name} {what}");
    Halt::Failed(Failure::new(FailureKind::TableInTheWay, None, text))
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
        assert!(identity.has("loadstone a"));
        assert!(!identity.has("loadstone b"));
        assert!(!identity.has("loadstone"));
        let later = definition_in(&made.replace("AUTO_INCREMENT=7 ", ""));
        assert_eq!(later, identity.definition);
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
