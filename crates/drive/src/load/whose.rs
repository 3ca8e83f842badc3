//! Whose a table is that has a wanted name.
//!
//! Who asked for the load has looked at the schema before: it says which tables may be there already, because they
//! are its own. Whatever else stands under a wanted name is left as it is. And as somebody may rename tables while
//! the load is at work, rows are added and deleted only where the server says that the table is still the one that
//! was made, in a transaction in which nobody can put another in its place.

use crate::client::{Client, Halt};
use crate::error::{Failure, FailureKind};
use loadstone_wire::Row;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// What the server says of a table, so that another one of the same name is told from it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    /// When it was made. Making an index counts, rows do not.
    made: Vec<Row>,
    /// The names and types of its columns, in order.
    columns: Vec<Row>,
}

/// What is known of the tables of a load, by their numbers.
#[derive(Debug)]
pub(super) struct Whose {
    /// `None`: any table may be there.
    continues: Option<BTreeSet<String>>,
    begun: Mutex<BTreeSet<u32>>,
    identities: Mutex<BTreeMap<u32, Identity>>,
}

impl Whose {
    pub(super) fn new(continues: Option<&[String]>) -> Self {
        Self {
            continues: continues.map(|names| names.iter().cloned().collect()),
            begun: Mutex::default(),
            identities: Mutex::default(),
        }
    }

    /// Take note that the table is about to be made; whether that is tried for the first time.
    pub(super) fn begins(&self, table: u32) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(table)
    }

    /// Looks at a table that was just made.
    pub(super) fn made(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        let identity = identity(client, name)?;
        self.identities.lock().unwrap_or_else(PoisonError::into_inner).insert(table, identity);
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
        self.made(client, table, name)
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
        let known = self.known(table).map(|known| known.columns);
        match known == Some(columns(client, name)?) {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    fn check(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        // A transaction that has opened a table keeps others from renaming, dropping and altering it.
        client.query(&format!("SELECT 1 FROM `{name}` LIMIT 0"))?;
        match self.known(table) == Some(identity(client, name)?) {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    fn known(&self, table: u32) -> Option<Identity> {
        self.identities.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }
}

fn identity(client: &mut Client, name: &str) -> Result<Identity, Halt> {
    let made = client.rows(&format!(
        "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = '{name}'"
    ))?;
    Ok(Identity { made, columns: columns(client, name)? })
}

fn columns(client: &mut Client, name: &str) -> Result<Vec<Row>, Halt> {
    client.rows(&format!(
        "SELECT column_name, column_type FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = '{name}' ORDER BY ordinal_position"
    ))
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
