//! What a load needs of a family of servers. All other code here is the same for every family.

use crate::finding::Finding;
use crate::identity::{Answer, Identity};
use crate::method::{Method, MethodWish};
use crate::range::Range;
use loadstone_drive::client::{Beat, Client, Halt};
use loadstone_workload::LoadLayout;
use loadstone_workload::dialect::Dialect;
use loadstone_workload::layout::RowSource;
use std::fmt;

/// A family of servers, as a load sees it.
pub(crate) trait LoadTarget: fmt::Debug + Send + Sync {
    /// The family's SQL dialect.
    fn dialect(&self) -> &'static dyn Dialect;

    /// What an error means, if a load can continue after it.
    fn refusal(&self, halt: &Halt) -> Option<Refusal>;

    /// Sets up a connection of a load: it waits for a lock no longer than this many seconds.
    fn prepare_connection(&self, client: &mut Client, longest_lock_wait_s: u64)
    -> Result<(), Halt>;

    /// Chooses the statement that loads rows, from what is requested and what the server allows.
    fn choose_method(&self, wish: MethodWish, client: &mut Client) -> Result<Method, Halt>;

    /// Sends the rows of a range inside a transaction; returns how many the server has stored.
    /// Refuses the load if the server stored other values than those sent.
    fn send(
        &self,
        client: &mut Client,
        rows: (&LoadLayout, &RowSource),
        range: Range,
        method: Method,
    ) -> Result<u64, Halt>;

    /// What the server says of a table, to distinguish it from another one of the same name.
    fn identity(&self, client: &mut Client, name: &str) -> Result<Identity, Halt>;

    /// The part of that which stays the same when the table gets indexes.
    fn definition(&self, client: &mut Client, name: &str) -> Result<Answer, Halt>;

    /// Whether the table's comment is exactly this mark, or that of its column
    /// ([`mark_column`](Self::mark_column)).
    fn has_mark(&self, identity: &Identity, mark: &str) -> bool;

    /// Whether the table has a comment at all.
    fn keeps_marks(&self, identity: &Identity) -> bool;

    /// Writes the mark into the comment of a column, as the server keeps none of tables.
    fn mark_column(
        &self,
        client: &mut Client,
        name: &str,
        identity: &Identity,
        mark: &str,
    ) -> Result<(), Halt>;

    /// Whether this statement, which creates an index, has been executed on the table. A server that
    /// has an error of its own for that ([`Refusal::IndexExists`]) need not be asked.
    fn has_index(&self, client: &mut Client, name: &str, create: &str) -> Result<bool, Halt>;

    /// Whether the table has a foreign key of this name.
    fn has_key(&self, client: &mut Client, name: &str, key: &str) -> Result<bool, Halt>;

    /// The table has all its rows and indexes. `id`: its column of ids.
    fn finish_table(&self, client: &mut Client, name: &str, id: &str) -> Result<(), Halt>;

    /// Keeps others from renaming, dropping and altering a table until the transaction ends.
    fn pin_table(&self, client: &mut Client, name: &str) -> Result<(), Halt>;

    /// Keeps everybody else from using a table; `false` if the server does not allow this user to
    /// do so.
    fn lock_table(&self, client: &mut Client, name: &str) -> Result<bool, Halt>;

    /// Lets others use it again.
    fn unlock_table(&self, client: &mut Client) -> Result<(), Halt>;

    /// How many other sessions add rows to the table of this quoted name.
    fn others_that_add(&self, client: &mut Client, quoted_name: &str) -> Result<u64, Halt>;

    /// What can be seen, over another connection, of a statement on the connection `id`. `own`: the
    /// load's connections.
    fn look(&self, client: &mut Client, id: u32, beat: &Beat, own: &[u32])
    -> Result<Finding, Halt>;

    /// Kills a statement on the connection `id`; `statement` is its own id, if the server has one.
    fn end_statement(
        &self,
        client: &mut Client,
        id: u32,
        statement: Option<&str>,
    ) -> Result<(), Halt>;

    /// Kills the connection `id`.
    fn end_connection(&self, client: &mut Client, id: u32) -> Result<(), Halt>;
}

/// Errors after which a load can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A table of this name exists.
    TableExists,
    /// An index of this name exists.
    IndexExists,
    /// A row with this key exists.
    RowExists,
    /// A deadlock or a lock wait timeout: another attempt may succeed.
    Conflict,
    /// The statement was killed.
    Ended,
}
