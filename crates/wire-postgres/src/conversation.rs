//! A connection after its login: commands out, replies in.

use loadstone_protocol::{Expect, Param, Reply, ResultSet, Row};

use crate::command::{
    ALL_ROWS, Bind, StatementName, begin_query, end, write_bind, write_close_statement,
    write_copy_data, write_copy_done, write_copy_fail, write_describe_portal,
    write_describe_statement, write_execute_portal, write_parse, write_parse_with, write_query,
    write_sync, write_terminate,
};
use crate::reply::Unit;
use crate::{Exchange, Format, ReplyReader, Session, WireError, oid};

/// What is behind the Bind of most executions, in one piece: Describe and Execute of the unnamed portal, without a limit
/// of the rows, and Sync.
const DESCRIBE_EXECUTE_SYNC: &[u8] = b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// The conversation on one connection after its login.
///
/// The `write_…` functions append complete messages to `out`; [`Conversation::expect`] says which
/// reply is due for them, in the same order, and [`Conversation::feed`] reads it.
///
/// Between [`begin_pipeline`](Self::begin_pipeline) and [`end_pipeline`](Self::end_pipeline) no
/// command waits for another. They are one transaction, unless they begin one themselves. If one of
/// them fails, the server skips the others up to the end, and their replies do not come: the next
/// reply is that of the pipeline's end.
#[derive(Debug)]
pub struct Conversation {
    reader: ReplyReader,
    /// The number of the statement that was parsed last, and of the one whose reply is due last.
    parsed: u32,
    expected: u32,
    pipelined: bool,
    describes: bool,
    params: Format,
    results: Format,
}

impl Conversation {
    /// The statement that rolls back an open transaction.
    pub const ROLLBACK: &'static [u8] = b"ROLLBACK";

    /// For a connection that is logged in.
    pub fn new(session: &Session) -> Self {
        Self {
            reader: ReplyReader::new(session.status),
            parsed: 0,
            expected: 0,
            pipelined: false,
            describes: true,
            params: Format::Text,
            results: Format::Text,
        }
    }

    /// In which format parameters and results of executions go from now on; at first both are
    /// texts, as with libpq. See [`Bind`] for what binary parameters need.
    pub fn set_formats(&mut self, params: Format, results: Format) {
        (self.params, self.results) = (params, results);
    }

    /// Whether executions ask for the columns of their results, as libpq does and so most clients.
    /// Without, a result of no rows is not known from a statement that has no result, and kept
    /// values are all taken for texts.
    pub fn describe_executions(&mut self, describes: bool) {
        self.describes = describes;
    }

    /// Appends SQL to be executed. The reply is that of [`Expect::Query`]. In a pipeline it must be
    /// one statement.
    pub fn write_query(&self, out: &mut Vec<u8>, sql: &[u8]) {
        if !self.pipelined {
            return write_query(out, sql);
        }
        write_parse(out, StatementName::Unnamed, sql, &[]);
        self.write_bound(out, StatementName::Unnamed, std::iter::empty());
    }

    /// Appends SQL to be executed, which `write` appends.
    pub fn write_query_with(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if self.pipelined {
            return self.write_parse_and_execute(out, write, std::iter::empty());
        }
        let mark = begin_query(out);
        write(out);
        end(out, mark);
    }

    /// Appends SQL to be prepared. The reply is that of [`Expect::Prepare`], with the number to
    /// execute it by.
    pub fn write_prepare(&mut self, out: &mut Vec<u8>, sql: &[u8]) {
        self.write_prepare_typed(out, sql, &[]);
    }

    /// Appends SQL to be prepared, with the types of its first parameters: see
    /// [`oid`](crate::oid).
    pub fn write_prepare_typed(&mut self, out: &mut Vec<u8>, sql: &[u8], param_types: &[u32]) {
        self.parsed = self.parsed.wrapping_add(1);
        let name = StatementName::Numbered(self.parsed);
        write_parse(out, name, sql, param_types);
        write_describe_statement(out, name);
        self.finish(out);
    }

    /// Appends SQL to be prepared for parameters of these kinds, whose values do not matter.
    pub fn write_prepare_for<'a>(
        &mut self,
        out: &mut Vec<u8>,
        sql: &[u8],
        params: impl Iterator<Item = Param<'a>>,
    ) {
        let types: Vec<u32> = params.map(type_of).collect();
        self.write_prepare_typed(out, sql, &types);
    }

    /// The number of the statement whose prepare was written last. It may be executed before the
    /// reply comes, which has the same number.
    pub fn last_prepared(&self) -> u32 {
        self.parsed
    }

    /// Appends an execution of a prepared statement. The reply is that of [`Expect::Execute`].
    #[inline]
    pub fn write_execute<'a>(
        &self,
        out: &mut Vec<u8>,
        statement_id: u32,
        params: impl Iterator<Item = Param<'a>> + Clone,
    ) {
        self.write_bound(out, StatementName::Numbered(statement_id), params);
    }

    /// Appends SQL to be executed once, which `write` appends, with its parameters. The reply is due
    /// with [`expect_parse_and_execute`](Self::expect_parse_and_execute).
    pub fn write_parse_and_execute<'a>(
        &self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
        params: impl Iterator<Item = Param<'a>> + Clone,
    ) {
        write_parse_with(out, StatementName::Unnamed, write, &[]);
        self.write_bound(out, StatementName::Unnamed, params);
    }

    /// Appends the execution of a statement, with its Sync unless it is in a pipeline.
    #[inline]
    fn write_bound<'a>(
        &self,
        out: &mut Vec<u8>,
        statement: StatementName,
        params: impl Iterator<Item = Param<'a>> + Clone,
    ) {
        let bind = Bind { statement, params: self.params, results: self.results };
        write_bind(out, bind, params);
        if self.describes && !self.pipelined {
            return out.extend_from_slice(DESCRIBE_EXECUTE_SYNC);
        }
        if self.describes {
            write_describe_portal(out);
        }
        write_execute_portal(out, ALL_ROWS);
        self.finish(out);
    }

    /// The end of a command that is no query.
    #[inline]
    fn finish(&self, out: &mut Vec<u8>) {
        if !self.pipelined {
            write_sync(out);
        }
    }

    /// Appends the closing of a prepared statement, for which no reply is due.
    pub fn write_close_statement(&self, out: &mut Vec<u8>, statement_id: u32) {
        write_close_statement(out, StatementName::Numbered(statement_id));
    }

    /// Appends the end of the conversation. The server closes the connection without an answer.
    pub fn write_quit(&self, out: &mut Vec<u8>) {
        write_terminate(out);
    }

    /// From now on no command waits for another.
    pub fn begin_pipeline(&mut self) {
        self.pipelined = true;
    }

    /// Appends the end of the pipeline, and expects the reply that its end has: what it has done,
    /// or why that was not committed.
    pub fn end_pipeline(&mut self, out: &mut Vec<u8>) {
        self.pipelined = false;
        write_sync(out);
        self.reader.expect(Exchange::Sync);
    }

    /// Whether [`Reply::WantsFile`], for the rows of COPY FROM STDIN, is passed on. Otherwise it is
    /// an error.
    pub fn allow_file(&mut self, allowed: bool) {
        self.reader.allow_copy_in(allowed);
    }

    /// Appends a piece of the rows, which `produce` writes. `false`: it has written nothing, and the
    /// rows are at their end.
    pub fn write_file_piece(
        &mut self,
        out: &mut Vec<u8>,
        produce: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        write_copy_data(out, produce)
    }

    /// Appends the end of the rows. The reply to the statement follows.
    pub fn write_file_end(&mut self, out: &mut Vec<u8>) {
        write_copy_done(out);
        self.write_sync_after_copy(out);
    }

    /// Appends that there are no more rows because of `reason`: the statement fails.
    pub fn write_file_failure(&mut self, out: &mut Vec<u8>, reason: &[u8]) {
        write_copy_fail(out, reason);
        self.write_sync_after_copy(out);
    }

    fn write_sync_after_copy(&self, out: &mut Vec<u8>) {
        if self.reader.needs_sync_after_copy() {
            write_sync(out);
        }
    }

    /// A command was sent; its reply is due.
    #[inline]
    pub fn expect(&mut self, kind: Expect) {
        match kind {
            Expect::Query if self.pipelined => self.expect_exchange(Exchange::ParseAndExecute),
            Expect::Query => self.reader.expect(Exchange::Query),
            Expect::Prepare => {
                self.expected = self.expected.wrapping_add(1);
                self.expect_exchange(Exchange::Prepare);
            }
            Expect::Execute => self.expect_exchange(Exchange::Execute),
        }
    }

    /// [`write_parse_and_execute`](Self::write_parse_and_execute) was sent; its reply is due.
    pub fn expect_parse_and_execute(&mut self) {
        self.expect_exchange(Exchange::ParseAndExecute);
    }

    #[inline]
    fn expect_exchange(&mut self, exchange: Exchange) {
        let (statement_id, is_synced) = (self.expected, !self.pipelined);
        self.reader.expect_unit(Unit { exchange, statement_id, is_synced });
    }

    /// Feeds bytes from the socket: see [`ReplyReader::feed`].
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Reply>), WireError> {
        self.reader.feed(bytes)
    }

    /// Whether no reply is outstanding.
    pub fn is_idle(&self) -> bool {
        self.reader.is_idle()
    }

    /// The state of the transaction: see [`ReplyReader::status`].
    pub fn status(&self) -> u16 {
        self.reader.status()
    }

    /// See [`ReplyReader::keep_rows`].
    pub fn keep_rows(&mut self, limit_bytes: usize) {
        self.reader.keep_rows(limit_bytes);
    }

    /// See [`ReplyReader::take_rows`].
    pub fn take_rows(&mut self) -> Vec<Row> {
        self.reader.take_rows()
    }

    /// See [`ReplyReader::keep_results`].
    pub fn keep_results(&mut self, limit_bytes: usize) {
        self.reader.keep_results(limit_bytes);
    }

    /// See [`ReplyReader::results`].
    #[inline]
    pub fn results(&self) -> &[ResultSet] {
        self.reader.results()
    }
}

/// The type that a script's parameter has, with sysbench's driver as well.
fn type_of(param: Param<'_>) -> u32 {
    match param {
        Param::Null => oid::UNSPECIFIED,
        Param::Int(_) => oid::INT8,
        Param::Double(_) => oid::FLOAT8,
        Param::Text(_) => oid::VARCHAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: [Param<'_>; 3] = [Param::Int(-42), Param::Null, Param::Text(b"abc")];

    /// Bind, Describe where it is asked for, Execute, and Sync outside of a pipeline: each by itself.
    fn one_by_one(describes: bool, pipelined: bool) -> Vec<u8> {
        let mut out = b"before".to_vec();
        let (params, results) = (Format::Text, Format::Text);
        let bind = Bind { statement: StatementName::Numbered(7), params, results };
        write_bind(&mut out, bind, PARAMS.iter().copied());
        if describes {
            write_describe_portal(&mut out);
        }
        write_execute_portal(&mut out, ALL_ROWS);
        if !pipelined {
            write_sync(&mut out);
        }
        out
    }

    #[test]
    fn an_execution_is_its_messages_one_by_one() {
        for (describes, pipelined) in [(true, false), (true, true), (false, false), (false, true)] {
            let mut conversation = Conversation::new(&Session::default());
            conversation.describe_executions(describes);
            if pipelined {
                conversation.begin_pipeline();
            }
            let mut out = b"before".to_vec();
            conversation.write_execute(&mut out, 7, PARAMS.iter().copied());
            assert_eq!(out, one_by_one(describes, pipelined), "{describes} {pipelined}");
        }
    }
}
