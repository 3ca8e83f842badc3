//! Loading PostgreSQL.

mod literals;
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

/// A worker's transaction is never idle for this long.
const IDLE_S: u64 = 60;

/// PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostgreSql;

impl LoadTarget for PostgreSql {
    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::PostgreSql
    }

    /// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
    fn refusal(&self, halt: &Halt) -> Option<Refusal> {
        Some(match halt.code()?.to_string().as_str() {
            "42P07" => Refusal::TableExists,
            "23505" => Refusal::RowExists,
            "40001" | "40P01" | "55P03" => Refusal::Conflict,
            "57014" => Refusal::Ended,
            _ => return None,
        })
    }

    /// Long statements are allowed, whatever the account's limit. A connection that is lost without
    /// the server's notice keeps its transaction for no longer than [`IDLE_S`].
    fn prepare_connection(&self, client: &mut Client, longest_s: u64) -> Result<(), Halt> {
        let sql = format!(
            "SET lock_timeout = '{longest_s}s'; SET statement_timeout = 0; \
             SET idle_in_transaction_session_timeout = '{IDLE_S}s'"
        );
        client.query(&sql).map(drop)
    }

    fn choose_method(&self, wish: MethodWish, _client: &mut Client) -> Result<Method, Halt> {
        rows::choose(wish)
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
        tables::comment(identity) == Some(mark)
    }

    fn keeps_marks(&self, identity: &Identity) -> bool {
        tables::comment(identity).is_some()
    }

    /// A server that keeps no comments of tables keeps none of columns either.
    fn mark_column(
        &self,
        _client: &mut Client,
        _name: &str,
        _identity: &Identity,
        _mark: &str,
    ) -> Result<(), Halt> {
        Ok(())
    }

    fn has_index(&self, client: &mut Client, name: &str, create: &str) -> Result<bool, Halt> {
        tables::has_index(client, name, create)
    }

    fn has_key(&self, client: &mut Client, name: &str, key: &str) -> Result<bool, Halt> {
        tables::has_key(client, name, key)
    }

    fn finish_table(&self, client: &mut Client, name: &str, id: &str) -> Result<(), Halt> {
        tables::finish(client, name, id)
    }

    fn pin_table(&self, client: &mut Client, name: &str) -> Result<(), Halt> {
        tables::pin(client, name)
    }

    fn lock_table(&self, client: &mut Client, name: &str) -> Result<bool, Halt> {
        tables::lock(client, name)
    }

    /// Of a transaction that has failed, the end is a rollback.
    fn unlock_table(&self, client: &mut Client) -> Result<(), Halt> {
        client.query("COMMIT").map(drop)
    }

    fn others_that_add(&self, client: &mut Client, quoted_name: &str) -> Result<u64, Halt> {
        tables::others_that_add(client, quoted_name)
    }

    fn look(
        &self,
        client: &mut Client,
        id: u32,
        beat: &Beat,
        _own: &[u32],
    ) -> Result<Finding, Halt> {
        look::look(client, id, beat)
    }

    fn end_statement(
        &self,
        client: &mut Client,
        id: u32,
        _statement: Option<&str>,
    ) -> Result<(), Halt> {
        client.query(&format!("SELECT pg_cancel_backend({id})")).map(drop)
    }

    fn end_connection(&self, client: &mut Client, id: u32) -> Result<(), Halt> {
        client.query(&format!("SELECT pg_terminate_backend({id})")).map(drop)
    }
}
