//! Loading MySQL and MariaDB.

mod codes;
mod holders;
mod look;
mod rows;
mod tables;

use crate::finding::Finding;
use crate::identity::{Answer, Identity};
use crate::method::{Method, MethodWish};
use crate::range::Range;
use crate::target::{LoadTarget, Refusal};
use loadstone_drive::client::{Beat, Client, Halt};
use loadstone_workload::LoadLayout;
use loadstone_workload::dialect::{self, Dialect};
use loadstone_workload::layout::RowSource;

/// How long a statement of a load may take on servers that limit it, in seconds.
const STATEMENT_S: u64 = 3600;

/// A worker's connection is never idle for this long.
const IDLE_S: u64 = 60;

/// MySQL and MariaDB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MySql;

impl LoadTarget for MySql {
    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::MySql
    }

    fn refusal(&self, halt: &Halt) -> Option<Refusal> {
        Some(match halt.errno()? {
            codes::TABLE_EXISTS => Refusal::TableExists,
            codes::INDEX_EXISTS => Refusal::IndexExists,
            codes::ROW_EXISTS => Refusal::RowExists,
            codes::LOCK_WAIT | codes::DEADLOCK => Refusal::Conflict,
            codes::ENDED => Refusal::Ended,
            _ => return None,
        })
    }

    fn prepare_connection(&self, client: &mut Client, longest_s: u64) -> Result<(), Halt> {
        // The rows have no foreign keys. A connection that is lost without the server's notice
        // keeps its transaction for no longer than that. Unique checks stay on: without either
        // check MariaDB fills an empty table in a special way (MDEV-515), and if such a statement
        // is interrupted in 10.11.19, another one into the same table may wait for a page's latch
        // for ever.
        let common = format!("SET SESSION foreign_key_checks = 0, wait_timeout = {IDLE_S}");
        // The server's defaults would let sessions of ours linger for a day.
        let all = format!(
            "{common}, lock_wait_timeout = {longest_s}, innodb_lock_wait_timeout = {longest_s}"
        );
        let told = match client.query(&all) {
            Err(halt) if is_unknown_variable(&halt) => client.query(&common),
            other => other,
        };
        told?;
        allow_long_statements(client)
    }

    fn choose_method(&self, wish: MethodWish, client: &mut Client) -> Result<Method, Halt> {
        rows::choose(wish, client)
    }

    fn send(
        &self,
        client: &mut Client,
        rows: (&LoadLayout, &RowSource),
        range: Range,
        method: Method,
    ) -> Result<u64, Halt> {
        rows::send(client, rows, range, method)
    }

    fn identity(&self, client: &mut Client, name: &str) -> Result<Identity, Halt> {
        tables::identity(client, name)
    }

    fn definition(&self, client: &mut Client, name: &str) -> Result<Answer, Halt> {
        tables::definition(client, name)
    }

    fn has_mark(&self, identity: &Identity, mark: &str) -> bool {
        tables::has_mark(identity, mark)
    }

    fn keeps_marks(&self, identity: &Identity) -> bool {
        tables::comment(identity).is_some()
    }

    fn mark_column(
        &self,
        client: &mut Client,
        name: &str,
        identity: &Identity,
        mark: &str,
    ) -> Result<(), Halt> {
        tables::mark_column(client, name, identity, mark)
    }

    /// An index that exists has an error of its own.
    fn has_index(&self, _client: &mut Client, _name: &str, _create: &str) -> Result<bool, Halt> {
        Ok(false)
    }

    /// Its keys are created with their tables: none comes late.
    fn has_key(&self, _client: &mut Client, _name: &str, _key: &str) -> Result<bool, Halt> {
        Ok(false)
    }

    /// It counts on from the greatest id by itself, and keeps statistics while rows come.
    fn finish_table(&self, _client: &mut Client, _name: &str, _id: &str) -> Result<(), Halt> {
        Ok(())
    }

    fn pin_table(&self, client: &mut Client, name: &str) -> Result<(), Halt> {
        tables::pin(client, name)
    }

    fn lock_table(&self, client: &mut Client, name: &str) -> Result<bool, Halt> {
        tables::lock(client, name)
    }

    fn unlock_table(&self, client: &mut Client) -> Result<(), Halt> {
        client.query("UNLOCK TABLES").map(drop)
    }

    fn others_that_add(&self, client: &mut Client, quoted_name: &str) -> Result<u64, Halt> {
        tables::others_that_add(client, quoted_name)
    }

    fn look(
        &self,
        client: &mut Client,
        id: u32,
        beat: &Beat,
        own: &[u32],
    ) -> Result<Finding, Halt> {
        look::look(client, id, beat, own)
    }

    fn end_statement(
        &self,
        client: &mut Client,
        id: u32,
        statement: Option<&str>,
    ) -> Result<(), Halt> {
        let sql = match statement {
            Some(query) => format!("KILL QUERY ID {query}"),
            None => format!("KILL QUERY {id}"),
        };
        client.query(&sql).map(drop)
    }

    fn end_connection(&self, client: &mut Client, id: u32) -> Result<(), Halt> {
        client.query(&format!("KILL {id}")).map(drop)
    }
}

/// OceanBase ends a statement after ten seconds by default (error 4012), rows of a load included.
/// Its variable is in microseconds; no other server has it.
fn allow_long_statements(client: &mut Client) -> Result<(), Halt> {
    if client.rows("SHOW SESSION VARIABLES LIKE 'ob_query_timeout'")?.is_empty() {
        return Ok(());
    }
    let longest_us = STATEMENT_S * 1_000_000;
    client.query(&format!("SET SESSION ob_query_timeout = {longest_us}")).map(drop)
}

/// Dolt says so under the code of any error.
fn is_unknown_variable(halt: &Halt) -> bool {
    matches!(halt.errno(), Some(codes::NO_SUCH_VARIABLE | codes::ANY_ERROR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_drive::{Failure, FailureKind, ServerFamily};

    fn refusal(errno: Option<u16>) -> Option<Refusal> {
        let code = errno.map(|number| ServerFamily::MySql.error_code(number));
        let failure = Failure::new(FailureKind::StatementFailed, code, "refused");
        MySql.refusal(&Halt::Failed(failure))
    }

    #[test]
    fn errors_that_a_load_goes_on_from_are_known_by_their_numbers() {
        for (errno, expected) in [
            (1050, Some(Refusal::TableExists)),
            (1061, Some(Refusal::IndexExists)),
            (1062, Some(Refusal::RowExists)),
            (1205, Some(Refusal::Conflict)),
            (1213, Some(Refusal::Conflict)),
            (1317, Some(Refusal::Ended)),
            (1146, None),
        ] {
            assert_eq!(refusal(Some(errno)), expected, "{errno}");
        }
        assert_eq!(refusal(None), None);
        assert_eq!(MySql.refusal(&Halt::Stopped), None);
    }
}
