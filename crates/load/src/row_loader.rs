//! Sends the rows of one range, in one transaction.

use crate::method::Method;
use crate::ownership::TableOwnership;
use crate::range::Range;
use crate::target::{LoadTarget, Refusal};
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_workload::LoadLayout;
use loadstone_workload::layout::RowSource;

/// What all rows of a load share, and what is known of their tables.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) server: &'static dyn LoadTarget,
    pub(super) layout: LoadLayout,
    pub(super) source: RowSource,
    pub(super) ownership: TableOwnership,
}

impl Rows {
    fn rows(&self) -> (&LoadLayout, &RowSource) {
        (&self.layout, &self.source)
    }

    /// Does `work` with a range's table, if it is still ours: see [`TableOwnership::hold`].
    pub(super) fn hold<T>(
        &self,
        client: &mut Client,
        range: Range,
        work: impl FnOnce(&mut Client) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        self.ownership.hold(client, range.table, &self.layout.table_name(range.table), work)
    }

    /// Loads one range, which is empty, in one transaction; returns whether it is complete.
    ///
    /// A statement whose connection was lost, or that was given up, may still be running at the
    /// server, and then its rows interfere: the range has to be loaded again.
    pub(super) fn load(
        &self,
        client: &mut Client,
        range: Range,
        method: Method,
    ) -> Result<bool, Halt> {
        match self
            .hold(client, range, |client| self.server.send(client, self.rows(), range, method))
        {
            Ok(loaded) => Ok(loaded == range.rows),
            Err(halt) if self.server.refusal(&halt) == Some(Refusal::RowExists) => Ok(false),
            Err(halt) => Err(halt),
        }
    }

    /// Empties a range and loads it, in one transaction. If another worker loads the same range
    /// completely in the meantime, it stays complete.
    pub(super) fn load_anew(
        &self,
        client: &mut Client,
        range: Range,
        method: Method,
    ) -> Result<(), Halt> {
        let loaded = self.hold(client, range, |client| {
            range.clear(client, &self.layout)?;
            self.server.send(client, self.rows(), range, method)
        })?;
        if loaded == range.rows {
            return Ok(());
        }
        let name = self.layout.table_name(range.table);
        let text = format!(
            "{name}: {loaded} of the {} rows {} to {} were taken by the server",
            range.rows, range.first, range.last
        );
        Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, None, text)))
    }
}
