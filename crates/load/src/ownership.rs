//! Which tables belong to this load, and which merely have a name that it needs.
//!
//! The caller has inspected the schema before: it says which tables may exist already because they
//! are its own. Any other table with one of the names is left alone. And since somebody may rename
//! tables while the load runs, rows are added and deleted only if the server says that the table is
//! still the created one, in a transaction that keeps others from replacing it.

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
    /// The tables that may exist; `None`: any.
    continues: Option<BTreeSet<String>>,
    /// The mark in the comment of each of our tables, by name; a table without a mark is recognised
    /// by its columns alone.
    marks: BTreeMap<String, String>,
    begun: Mutex<BTreeSet<u32>>,
    known: Mutex<BTreeMap<u32, KnownTable>>,
}

impl TableOwnership {
    /// `known`: what an earlier stage found out.
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

    /// The mark that the table's comment must have.
    pub(super) fn mark(&self, name: &str) -> Option<&str> {
        self.marks.get(name).map(String::as_str)
    }

    /// All tables that were created or found.
    pub(super) fn all(&self) -> Vec<KnownTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Whether this load created the table, then without rows.
    pub(super) fn is_new(&self, table: u32) -> bool {
        self.known(table).is_some_and(|known| known.is_new)
    }

    /// The ids that are missing according to an earlier stage; `None`: not determined yet.
    pub(super) fn missing(&self, table: u32) -> Option<Vec<(u64, u64)>> {
        self.known(table).and_then(|known| known.missing)
    }

    /// Records which ids have to be loaded.
    pub(super) fn note_missing(&self, table: u32, missing: Vec<(u64, u64)>) {
        if let Some(known) = self.known(table) {
            self.note(KnownTable { missing: Some(missing), ..known });
        }
    }

    /// Records that the table is about to be created; returns whether this is the first attempt.
    pub(super) fn begins(&self, table: u32) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(table)
    }

    /// Inspects a table that was just created, and marks it where its comment was not kept.
    pub(super) fn made(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        if let Some(mark) = self.mark(name) {
            let identity = self.server.identity(client, name)?;
            if !self.server.keeps_marks(&identity) {
                self.server.mark_column(client, name, &identity, mark)?;
            }
        }
        self.note(KnownTable {
            table,
            is_new: true,
            missing: None,
            identity: self.marked(client, name)?,
        });
        Ok(())
    }

    /// Inspects an existing table; refuses one that must not be used.
    ///
    /// One that another connection was about to create is ours if it has our mark, or if it needs
    /// none and is empty: that connection was lost before it learned that the table had been
    /// created.
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

    /// Does `work` in a transaction that keeps the table as it is, if the table is still ours.
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
                    // If this fails as well, the first failure says more.
                    drop(client.query("ROLLBACK"));
                }
                Err(halt)
            }
        }
    }

    /// Does `work`, which ends a transaction, while nobody else may use the table, if it is still
    /// ours.
    ///
    /// A user that may not lock tables, and clusters without such locks, go without: then somebody
    /// could replace the table between the check and the work.
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

    /// Refuses a table that is not ours any more; otherwise it stays as it is until the transaction
    /// ends.
    pub(super) fn pin(&self, client: &mut Client, table: u32, name: &str) -> Result<(), Halt> {
        self.server.pin_table(client, name)?;
        self.check_definition(client, table, name)
    }

    /// Refuses a table whose columns or comment differ from the created one. Indexes may have been
    /// added.
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

    /// The table's identity; refuses one without its required mark.
    fn marked(&self, client: &mut Client, name: &str) -> Result<Identity, Halt> {
        let identity = self.server.identity(client, name)?;
        match self.mark(name).is_none_or(|mark| self.server.has_mark(&identity, mark)) {
            true => Ok(identity),
            false if !self.server.keeps_marks(&identity) => Err(in_the_way(name, UNMARKED)),
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

/// Dolt was such a server until 2023.
const UNMARKED: &str = "has no comment, though it was made with one: this server keeps none, and \
                        without one nobody could tell the table from another of its name";

fn replaced(name: &str) -> Halt {
    in_the_way(name, "is not the table any more that this load made: it is left as it is")
}

fn in_the_way(name: &str, what: &str) -> Halt {
    let text = format!("table {name} {what}");
    Halt::Failed(Failure::new(FailureKind::TableInTheWay, None, text))
}
