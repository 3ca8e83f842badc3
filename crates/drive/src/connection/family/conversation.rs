//! The traffic on a connection after its login, for every family.

use super::extended::Extended;
use super::protocol_error::ProtocolError;
use super::{mysql, postgres};
use loadstone_protocol::{Completion, Expect, Param, Reply, ResultSet, Row, ServerError};

/// A connection after its login: commands out, replies in.
pub(crate) enum Conversation {
    MySql(mysql::Conversation),
    Postgres(postgres::Conversation),
}

impl Conversation {
    /// One of a server's that is not there.
    #[cfg(test)]
    pub(crate) fn after_a_login() -> Self {
        Self::MySql(mysql::conversation_after_a_login())
    }

    /// The statement that rolls back an open transaction.
    pub(crate) fn rollback(&self) -> &'static [u8] {
        match self {
            Self::MySql(_) => mysql::Conversation::ROLLBACK,
            Self::Postgres(_) => postgres::Conversation::ROLLBACK,
        }
    }

    /// The error that a completed COMMIT stands for, if the server has rolled back instead: it was
    /// the transaction's end, and none of it is there.
    #[inline]
    pub(crate) fn silent_rollback(&self, completion: &Completion) -> Option<ServerError> {
        match self {
            Self::MySql(_) => None,
            Self::Postgres(_) => postgres::silent_rollback(completion),
        }
    }

    /// The same one, where its protocol has statements that are parsed for one execution.
    pub(crate) fn extended(&mut self) -> Option<Extended<'_>> {
        match self {
            Self::MySql(_) => None,
            Self::Postgres(own) => Some(Extended::Postgres(own)),
        }
    }

    /// Appends a query with this SQL; its reply is that of [`Expect::Query`].
    pub(crate) fn write_query(&self, out: &mut Vec<u8>, sql: &[u8]) {
        match self {
            Self::MySql(own) => own.write_query(out, sql),
            Self::Postgres(own) => own.write_query(out, sql),
        }
    }

    /// Appends a query with the SQL that `write` appends.
    pub(crate) fn write_query_with(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::MySql(own) => own.write_query_with(out, write),
            Self::Postgres(own) => own.write_query_with(out, write),
        }
    }

    /// Appends a request to prepare this SQL; its reply is that of [`Expect::Prepare`].
    pub(crate) fn write_prepare(&mut self, out: &mut Vec<u8>, sql: &[u8]) {
        match self {
            Self::MySql(own) => own.write_prepare(out, sql),
            Self::Postgres(own) => own.write_prepare(out, sql),
        }
    }

    /// The same for a statement with parameters of these kinds, whose values do not matter. A server
    /// that does not get the kinds with each execution gets them here.
    pub(crate) fn write_prepare_for<'a>(
        &mut self,
        out: &mut Vec<u8>,
        sql: &[u8],
        params: impl Iterator<Item = Param<'a>>,
    ) {
        match self {
            Self::MySql(own) => own.write_prepare(out, sql),
            Self::Postgres(own) => own.write_prepare_for(out, sql, params),
        }
    }

    /// Appends the execution of a prepared statement; its reply is that of [`Expect::Execute`]. `bind_types`: the
    /// server does not know the parameters' types yet, where executions bring them.
    pub(crate) fn write_execute<'a>(
        &self,
        out: &mut Vec<u8>,
        statement_id: u32,
        params: impl Iterator<Item = Param<'a>> + Clone,
        bind_types: bool,
    ) {
        match self {
            Self::MySql(own) => own.write_execute(out, statement_id, params, bind_types),
            Self::Postgres(own) => own.write_execute(out, statement_id, params),
        }
    }

    /// Appends a request to close a prepared statement, which has no reply.
    pub(crate) fn write_close_statement(&self, out: &mut Vec<u8>, statement_id: u32) {
        match self {
            Self::MySql(own) => own.write_close_statement(out, statement_id),
            Self::Postgres(own) => own.write_close_statement(out, statement_id),
        }
    }

    /// Appends the goodbye, which has no reply.
    pub(crate) fn write_quit(&self, out: &mut Vec<u8>) {
        match self {
            Self::MySql(own) => own.write_quit(out),
            Self::Postgres(own) => own.write_quit(out),
        }
    }

    /// Whether [`Reply::WantsFile`] is passed on; otherwise it is an error.
    pub(crate) fn allow_file(&mut self, allowed: bool) {
        match self {
            Self::MySql(own) => own.allow_file(allowed),
            Self::Postgres(own) => own.allow_file(allowed),
        }
    }

    /// Starts the file that the server asked for; its pieces come next.
    pub(crate) fn begin_file(&mut self) {
        match self {
            Self::MySql(own) => own.begin_file(),
            Self::Postgres(_) => {}
        }
    }

    /// Appends a piece, as `produce` does; `false` where it has appended nothing.
    pub(crate) fn write_file_piece(
        &mut self,
        out: &mut Vec<u8>,
        produce: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        match self {
            Self::MySql(own) => own.write_file_piece(out, produce),
            Self::Postgres(own) => own.write_file_piece(out, produce),
        }
    }

    /// Appends the file's end.
    pub(crate) fn write_file_end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::MySql(own) => own.write_file_end(out),
            Self::Postgres(own) => own.write_file_end(out),
        }
    }

    /// Expects the reply of the command that was just sent.
    #[inline]
    pub(crate) fn expect(&mut self, kind: Expect) {
        match self {
            Self::MySql(own) => own.expect(kind),
            Self::Postgres(own) => own.expect(kind),
        }
    }

    /// Reads bytes from the socket. Returns how many were used, and the reply if it is complete.
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Reply>), ProtocolError> {
        match self {
            Self::MySql(own) => own.feed(bytes).map_err(ProtocolError::MySql),
            Self::Postgres(own) => own.feed(bytes).map_err(ProtocolError::Postgres),
        }
    }

    /// Whether no reply is outstanding.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::MySql(own) => own.is_idle(),
            Self::Postgres(own) => own.is_idle(),
        }
    }

    /// Keeps the rows of text results until they are taken; more than `limit_bytes` of them are an error.
    pub(crate) fn keep_rows(&mut self, limit_bytes: usize) {
        match self {
            Self::MySql(own) => own.keep_rows(limit_bytes),
            Self::Postgres(own) => own.keep_rows(limit_bytes),
        }
    }

    /// The rows that were kept.
    pub(crate) fn take_rows(&mut self) -> Vec<Row> {
        match self {
            Self::MySql(own) => own.take_rows(),
            Self::Postgres(own) => own.take_rows(),
        }
    }

    /// Keeps the results of each reply from now on, until the next one is expected; typed rows are only counted.
    pub(crate) fn keep_results(&mut self, limit_bytes: usize) {
        match self {
            Self::MySql(own) => own.keep_results(limit_bytes),
            Self::Postgres(own) => own.keep_results(limit_bytes),
        }
    }

    /// Keeps the results of each reply from now on, typed rows included. PostgreSQL's rows are asked for as texts.
    pub(crate) fn keep_values(&mut self, limit_bytes: usize) {
        match self {
            Self::MySql(own) => own.keep_values(limit_bytes),
            Self::Postgres(own) => own.keep_results(limit_bytes),
        }
    }

    /// The results with rows of the last reply, where they are kept.
    #[inline]
    pub(crate) fn results(&self) -> &[ResultSet] {
        match self {
            Self::MySql(own) => own.results(),
            Self::Postgres(own) => own.results(),
        }
    }
}
