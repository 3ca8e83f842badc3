//! Which tables are this load's own, and which only have a name that it wants.
//!
//! Who asked for the load has looked at the schema before: it says which tables may be there already, because they
//! are its own. Whatever else stands under a wanted name is left as it is. And as somebody may rename tables while
//! the load is at work, rows are added and deleted only where the server says that the table is still the one that
//! was made, in a transaction in which nobody can put another in its place.

use crate::identity::{Identity, KnownTable};
use crate::target::LoadTarget;
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// What is known of the tables of a load, by their numbers.
#[derive(Debug)]
pub(super) struct TableOwnership {
    server: &'static dyn LoadTarget,
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
        server: &'static dyn LoadTarget,
        continues: Option<&[String]>,
        marks: &BTreeMap<String, String>,
        known: &[KnownTable],
    ) -> Self {
        let known = known.iter().map(|known| (known.table, known.clone())).collect();
        Self {
            server,
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
        let may_be_new =
            !first_try && (self.mark(name).is_some() || self.is_empty(client, name)?);
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
        let is_locked = self.server.lock_table(client, name)?;
        let result = self.check_definition(client, table, name).and_then(|()| work(client));
        if is_locked && !matches!(&result, Err(halt) if halt.is_loss()) {
            self.server.unlock_table(client)?;
        }
        result
    }

    /// Refuses a table with other columns or another comment than the one that was made. It may have got indexes
    /// since.
    fn check_definition(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        let known = self.known(table).map(|known| known.identity.definition);
        match known == Some(self.server.definition(client, name)?) {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    fn check(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        self.server.pin_table(client, name)?;
        match self.known(table).map(|known| known.identity)
            == Some(self.server.identity(client, name)?)
        {
            true => Ok(()),
            false => Err(replaced(name)),
        }
    }

    /// What tells the table from others; refuses one without the mark that it is to have.
    fn marked(&self, client: &mut Client, name: &str) -> Result<Identity, Halt> {
        let identity = self.server.identity(client, name)?;
        match self.mark(name).is_none_or(|mark| self.server.has_mark(&identity, mark)) {
            true => Ok(identity),
            false => Err(replaced(name)),
        }
    }

    fn is_empty(&self, client: &mut Client, name: &str) -> Result<bool, Halt> {
        let name = self.server.dialect().quoted(name);
        client.rows(&format!("SELECT 1 FROM {name} LIMIT 1")).map(|rows| rows.is_empty())
    }

    fn note(&self, known: KnownTable) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(known.table, known);
    }

    fn known(&self, table: u32) -> Option<KnownTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }
}

fn replaced(name: &str) -> Halt {
    in_the_way(name, "is not the table any more that this load made: it is left as it is")
}

fn in_the_way(name: &str, what: &str) -> Halt {
    let text = format!("table {name} {what}");
    Halt::Failed(Failure::new(FailureKind::TableInTheWay, None, text))
}
