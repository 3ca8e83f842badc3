//! Whose a table is that has a wanted name.
//!
//! Who asked for the load has looked at the schema before: it says which tables may be there already, because they
//! are its own. Whatever else stands under a wanted name is left as it is. And as somebody may rename tables while
//! the load is at work, rows are added and deleted only where the server says that the table is still the one that
//! was made, in a transaction in which nobody can put another in its place.

use crate::client::{Client, Halt};
use crate::error::{Failure, FailureKind};
use loadstone_wire::Row;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Rows that the server has answered, as text.
type Answer = Vec<Vec<Option<String>>>;

/// What the server says of a table, so that another one of the same name is told from it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// When it was made. Making an index counts, rows do not.
    made: Answer,
    /// The names and types of its columns, in order.
    columns: Answer,
}

/// A table as the stage [`Make`](super::Stage::Make) left it, for the stages that follow elsewhere.
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
pub(super) struct Whose {
    /// `None`: any table may be there.
    continues: Option<BTreeSet<String>>,
    begun: Mutex<BTreeSet<u32>>,
    known: Mutex<BTreeMap<u32, KnownTable>>,
}

impl Whose {
    /// `known`: what an earlier stage has seen.
    pub(super) fn new(continues: Option<&[String]>, known: &[KnownTable]) -> Self {
        let known = known.iter().map(|known| (known.table, known.clone())).collect();
        Self {
            continues: continues.map(|names| names.iter().cloned().collect()),
            begun: Mutex::default(),
            known: Mutex::new(known),
        }
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
            identity: identity(client, name)?,
        });
        Ok(())
    }

    /// Looks at a table that was there; refuses one that is not to be taken up.
    ///
    /// An empty one that another connection was about to make is ours: that connection was lost before it heard
    /// that the table had been made.
    pub(super) fn found(
        &self,
        client: &mut Client,
        table: u32,
        name: &str,
        first_try: bool,
    ) -> Result<(), Halt> {
        let is_known = self.continues.as_ref().is_none_or(|names| names.contains(name));
        if !is_known && (first_try || !is_empty(client, name)?) {
            return Err(in_the_way(name, "is there, and Loadstone did not make it"));
        }
        self.note(KnownTable {
            table,
            is_new: false,
            missing: None,
            identity: identity(client, name)?,
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
                if matches!(halt, Halt::Failed(_)) && !halt.is_loss() {
                    // Where this fails as well, the first failure says more.
                    drop(client.query("ROLLBACK"));
                }
                Err(halt)
            }
        }
    }

    /// Refuses a table with other columns than those of the one that was made. It may have got indexes since.
    pub(super) fn check_columns(
        &self,
        client: &mut Client,
        table: u32,
        name: &str,
    ) -> Result<(), Halt> {
        let known = self.known(table).map(|known| known.identity.columns);
        match known == Some(columns(client, name)?) {
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
    Ok(Identity { made: answer(&made), columns: columns(client, name)? })
}

fn columns(client: &mut Client, name: &str) -> Result<Answer, Halt> {
    let columns = client.rows(&format!(
        "SELECT column_name, column_type FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = '{name}' ORDER BY ordinal_position"
    ))?;
    Ok(answer(&columns))
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
