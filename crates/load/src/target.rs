//! What a load asks of a family of servers. All else here is the same for every family.

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
    /// How its SQL is written.
    fn dialect(&self) -> &'static dyn Dialect;

    /// What an error means that a load goes on from.
    fn refusal(&self, halt: &Halt) -> Option<Refusal>;

    /// Tells the server how a connection of a load is to be treated: it waits no longer than so many seconds for a lock.
    fn prepare_connection(&self, client: &mut Client, longest_lock_wait_s: u64)
    -> Result<(), Halt>;

    /// By which statement rows travel, from what is wanted and what the server lets through.
    fn choose_method(&self, wish: MethodWish, client: &mut Client) -> Result<Method, Halt>;

    /// Sends the rows of a range inside a transaction; how many the server has taken. Refuses the load where it has
    /// taken other values than those that were sent.
    fn send(
        &self,
        client: &mut Client,
        rows: (&LoadLayout, &RowSource),
        range: Range,
        method: Method,
    ) -> Result<u64, Halt>;

    /// What the server says of a table, so that another one of the same name is told from it.
    fn identity(&self, client: &mut Client, name: &str) -> Result<Identity, Halt>;

    /// Of that what stays when the table gets indexes.
    fn definition(&self, client: &mut Client, name: &str) -> Result<Answer, Halt>;

    /// Whether the table's comment says this and nothing else.
    fn has_mark(&self, identity: &Identity, mark: &str) -> bool;

    /// Keeps others from renaming, dropping and altering a table until the transaction ends.
    fn pin_table(&self, client: &mut Client, name: &str) -> Result<(), Halt>;

    /// Keeps everybody else from using a table; `false` where the server does not let this user do so.
    fn lock_table(&self, client: &mut Client, name: &str) -> Result<bool, Halt>;

    /// Lets others use it again.
    fn unlock_table(&self, client: &mut Client) -> Result<(), Halt>;

    /// How many other sessions add rows to the table of this quoted name.
    fn others_that_add(&self, client: &mut Client, quoted_name: &str) -> Result<u64, Halt>;

    /// What there is to see, over another connection, of a statement of the connection `id`. `own`: the load's
    /// connections.
    fn look(&self, client: &mut Client, id: u32, beat: &Beat, own: &[u32])
    -> Result<Finding, Halt>;

    /// Ends a statement of the connection `id`; `statement` is its own number, where the server gives it one.
    fn end_statement(
        &self,
        client: &mut Client,
        id: u32,
        statement: Option<&str>,
    ) -> Result<(), Halt>;

    /// Ends the connection `id`.
    fn end_connection(&self, client: &mut Client, id: u32) -> Result<(), Halt>;
}

/// Answers of a server that a load goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is a table of this name.
    TableExists,
    /// There is an index of this name.
    IndexExists,
    /// There is a row with this key.
    RowExists,
    /// A deadlock, or a lock that was waited for too long: another attempt may do better.
    Conflict,
    /// Somebody has ended the statement.
    Ended,
}
