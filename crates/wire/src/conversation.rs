//! A connection after its login: commands out, replies in.

use loadstone_protocol::{Expect, Param, Reply, ResultSet, Row};

use crate::command::{
    begin_query, end, write_close_statement, write_execute, write_local_infile_data,
    write_local_infile_end, write_prepare, write_query, write_quit,
};
use crate::{ReplyReader, Session, WireError};

/// The conversation on one connection after its login.
///
/// The `write_…` functions append complete packets to `out`; [`Conversation::expect`] says which
/// reply is due for them, and [`Conversation::feed`] reads it.
#[derive(Debug)]
pub struct Conversation {
    reader: ReplyReader,
    /// The number of the next packet of a file.
    file_sequence: u8,
}

impl Conversation {
    /// The statement that rolls back an open transaction.
    pub const ROLLBACK: &'static [u8] = b"ROLLBACK";

    /// For a connection that is logged in.
    pub fn new(session: &Session) -> Self {
        Self { reader: ReplyReader::new(session.capabilities), file_sequence: 0 }
    }

    /// Appends SQL to be executed. The reply is that of [`Expect::Query`].
    pub fn write_query(&self, out: &mut Vec<u8>, sql: &[u8]) {
        write_query(out, sql);
    }

    /// Appends SQL to be executed, which `write` appends.
    pub fn write_query_with(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let mark = begin_query(out);
        write(out);
        end(out, mark);
    }

    /// Appends SQL to be prepared. The reply is that of [`Expect::Prepare`].
    pub fn write_prepare(&self, out: &mut Vec<u8>, sql: &[u8]) {
        write_prepare(out, sql);
    }

    /// Appends an execution: see [`write_execute`]. The reply is that of [`Expect::Execute`].
    pub fn write_execute<'a>(
        &self,
        out: &mut Vec<u8>,
        statement_id: u32,
        params: impl Iterator<Item = Param<'a>> + Clone,
        bind_types: bool,
    ) {
        write_execute(out, statement_id, params, bind_types);
    }

    /// Appends the closing of a prepared statement. The server does not answer.
    pub fn write_close_statement(&self, out: &mut Vec<u8>, statement_id: u32) {
        write_close_statement(out, statement_id);
    }

    /// Appends the end of the conversation. The server closes the connection without an answer.
    pub fn write_quit(&self, out: &mut Vec<u8>) {
        write_quit(out);
    }

    /// Whether [`Reply::WantsFile`] is passed on. Otherwise it is an error.
    pub fn allow_file(&mut self, allowed: bool) {
        self.reader.allow_local_infile(allowed);
    }

    /// The server asks for a file: its pieces come next.
    pub fn begin_file(&mut self) {
        self.file_sequence = self.reader.next_sequence();
    }

    /// Appends a piece, which `produce` writes. `false`: it has written nothing, and the file is at
    /// its end.
    pub fn write_file_piece(
        &mut self,
        out: &mut Vec<u8>,
        produce: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        write_local_infile_data(out, &mut self.file_sequence, produce)
    }

    /// Appends the file's end. The reply to the statement follows.
    pub fn write_file_end(&mut self, out: &mut Vec<u8>) {
        write_local_infile_end(out, &mut self.file_sequence);
    }

    /// A command was sent; its reply comes next.
    #[inline]
    pub fn expect(&mut self, kind: Expect) {
        self.reader.expect(kind);
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

    /// See [`ReplyReader::keep_values`].
    pub fn keep_values(&mut self, limit_bytes: usize) {
        self.reader.keep_values(limit_bytes);
    }

    /// See [`ReplyReader::results`].
    #[inline]
    pub fn results(&self) -> &[ResultSet] {
        self.reader.results()
    }
}
