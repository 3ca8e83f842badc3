//! The state of an incoming reply, and how each message changes it.

use std::collections::VecDeque;

use super::command_tag::{Tag, Verb};
use super::description::parse_parameter_count;
use super::error_fields::Report;
use super::exchange::{Exchange, Unit};
use super::ready::parse_ready;
use super::rows::Part;
use crate::message::server as kind;
use crate::{Completion, Prepared, Reply, ServerError, WireError, status};

/// The position of the next message in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is outstanding. Next: as the command says that is sent.
    Idle,
    /// A statement is parsed. Next: `Description`, or `Binding`.
    Parsing,
    /// The types of a statement's parameters. Next: `ColumnsOfStatement`.
    Description,
    /// The columns of a statement, or that it has none. Next: `Ended`.
    ColumnsOfStatement,
    /// A statement is bound. Next: `Head`.
    Binding,
    /// The start of a result. Next: `Rows`, `CopyIn`, `CopyOut`, `Further`, `Ended`.
    Head,
    /// A row or the end of the rows. Next: `Further`, `Ended`.
    Rows,
    /// The caller sends rows; the statement's end follows. Next: `Further`, `Ended`.
    CopyIn,
    /// A copied row or the end of the rows. Next: `CopiedOut`.
    CopyOut,
    /// The statement's end after the rows. Next: `Further`, `Ended`.
    CopiedOut,
    /// The next statement's result in a query of several, or the query's end. Next: as for `Head`,
    /// or `Idle`.
    Further,
    /// The state of the transaction. Next: `Idle`, or the next command.
    Ended,
}

/// The incoming replies. It sees headers and complete messages; the reader handles how the bytes
/// arrive.
#[derive(Debug)]
pub(super) struct Progress {
    stage: Stage,
    /// The command whose reply arrives, unless idle.
    unit: Unit,
    /// Those that were sent after it.
    queue: VecDeque<Unit>,
    /// Commands are skipped by the server up to the next Sync, after this error.
    skipping: Option<Box<ServerError>>,
    /// The error of a command whose reply is not complete.
    failure: Option<Box<ServerError>>,
    allows_copy_in: bool,
    /// The state of the transaction, as it was said last.
    ready: u16,
    prepared: Prepared,
    totals: Completion,
}

impl Progress {
    pub(super) fn new(ready: u16) -> Self {
        Self {
            stage: Stage::Idle,
            unit: Unit::synced(Exchange::Sync),
            queue: VecDeque::new(),
            skipping: None,
            failure: None,
            allows_copy_in: false,
            ready,
            prepared: Prepared::default(),
            totals: Completion::default(),
        }
    }

    pub(super) fn expect(&mut self, unit: Unit) {
        match (self.stage, self.skipping.is_some()) {
            (Stage::Idle, false) => self.begin(unit),
            (Stage::Idle, true) => self.skip_to(unit),
            _ => self.queue.push_back(unit),
        }
    }

    fn begin(&mut self, unit: Unit) {
        self.unit = unit;
        self.totals = Completion::default();
        self.stage = match unit.exchange {
            Exchange::Query => Stage::Head,
            Exchange::Prepare | Exchange::ParseAndExecute => Stage::Parsing,
            Exchange::Execute => Stage::Binding,
            Exchange::Sync => Stage::Ended,
        };
    }

    /// The server skips commands: of those with a Sync only that is answered.
    fn skip_to(&mut self, unit: Unit) {
        if !unit.is_synced {
            return;
        }
        let error = self.skipping.take();
        self.begin(unit);
        self.stage = Stage::Ended;
        if unit.exchange != Exchange::Sync {
            self.failure = error;
        }
    }

    /// Goes on with what was sent next.
    #[inline]
    fn advance(&mut self) {
        self.stage = Stage::Idle;
        while self.stage == Stage::Idle
            && let Some(unit) = self.queue.pop_front()
        {
            self.expect(unit);
        }
    }

    pub(super) fn allow_copy_in(&mut self, allowed: bool) {
        self.allows_copy_in = allowed;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    /// The state of the transaction, as it was said last.
    pub(super) fn ready(&self) -> u16 {
        self.ready
    }

    /// Whether the Sync behind the current command was lost: the server ignores it while it waits
    /// for rows.
    pub(super) fn needs_sync_after_copy(&self) -> bool {
        self.unit.is_synced && self.unit.exchange != Exchange::Query
    }

    /// Whether the result's columns matter to a statement that is prepared.
    #[inline]
    pub(super) fn is_preparing(&self) -> bool {
        self.stage == Stage::ColumnsOfStatement
    }

    /// Whether the content of such a message does not matter.
    #[inline]
    pub(super) fn is_skipped(&self, message: u8, keeps_results: bool) -> bool {
        match message {
            kind::DATA_ROW
            | kind::COPY_DATA
            | kind::PARAMETER_STATUS
            | kind::NOTIFICATION_RESPONSE => true,
            kind::ROW_DESCRIPTION => !keeps_results && !self.is_preparing(),
            _ => false,
        }
    }

    /// Records a message whose content is skipped. Returns what it is a part of, if of anything
    /// that may be kept.
    #[inline]
    pub(super) fn begin_skipped(&mut self, message: u8) -> Result<Option<Part>, WireError> {
        match message {
            kind::DATA_ROW => self.begin_row().map(Some),
            kind::COPY_DATA => self.begin_copied().map(Some),
            kind::ROW_DESCRIPTION => self.row_description(0).map(|_| None),
            // These may come at any time.
            _ => Ok(None),
        }
    }

    #[inline]
    fn begin_row(&mut self) -> Result<Part, WireError> {
        let is_undescribed = self.stage == Stage::Head && self.unit.exchange != Exchange::Query;
        if self.stage != Stage::Rows && !is_undescribed {
            return Err(self.unexpected(kind::DATA_ROW));
        }
        self.stage = Stage::Rows;
        self.totals.has_result_set = true;
        self.totals.rows += 1;
        Ok(Part::Row)
    }

    fn begin_copied(&mut self) -> Result<Part, WireError> {
        if self.stage != Stage::CopyOut {
            return Err(self.unexpected(kind::COPY_DATA));
        }
        self.totals.rows += 1;
        Ok(Part::Copied)
    }

    /// Columns of a result whose rows come next, or of a statement that was parsed. Returns the
    /// reply if it is complete.
    pub(super) fn row_description(&mut self, columns: u16) -> Result<Option<Reply>, WireError> {
        match self.stage {
            Stage::Head | Stage::Further => {
                self.stage = Stage::Rows;
                self.totals.has_result_set = true;
                Ok(None)
            }
            Stage::ColumnsOfStatement => {
                self.prepared.columns = columns;
                Ok(self.end_of_unit())
            }
            _ => Err(self.unexpected(kind::ROW_DESCRIPTION)),
        }
    }

    /// Processes a message whose content matters, but for columns.
    #[inline]
    pub(super) fn whole_message(
        &mut self,
        message: u8,
        body: &[u8],
    ) -> Result<Option<Reply>, WireError> {
        match (message, self.stage) {
            (kind::READY_FOR_QUERY, Stage::Ended | Stage::Further) => self.ready_for_query(body),
            (kind::BIND_COMPLETE, Stage::Binding) => Ok(self.enter(Stage::Head)),
            (
                kind::COMMAND_COMPLETE,
                Stage::Head | Stage::Rows | Stage::Further | Stage::CopyIn | Stage::CopiedOut,
            ) => self.command_complete(body),
            (kind::ERROR_RESPONSE, _) => self.error_response(body),
            (kind::NOTICE_RESPONSE, _) => Ok(self.notice(body)),
            // It confirms a Close, for which nobody waits.
            (kind::CLOSE_COMPLETE, _) => Ok(None),
            (_, Stage::Idle) => Err(WireError::Unasked),
            _ => self.rare_message(message, body),
        }
    }

    fn rare_message(&mut self, message: u8, body: &[u8]) -> Result<Option<Reply>, WireError> {
        match (message, self.stage) {
            (kind::PARSE_COMPLETE, Stage::Parsing) => Ok(self.enter(match self.unit.exchange {
                Exchange::Prepare => Stage::Description,
                _ => Stage::Binding,
            })),
            (kind::PARAMETER_DESCRIPTION, Stage::Description) => {
                let (statement_id, params) = (self.unit.statement_id, parse_parameter_count(body)?);
                self.prepared = Prepared { statement_id, params, columns: 0 };
                Ok(self.enter(Stage::ColumnsOfStatement))
            }
            (kind::NO_DATA, Stage::ColumnsOfStatement) => Ok(self.end_of_unit()),
            (kind::NO_DATA, Stage::Head) if self.unit.exchange != Exchange::Query => Ok(None),
            (kind::EMPTY_QUERY_RESPONSE, Stage::Head | Stage::Further) => Ok(self.end_of_result()),
            (kind::PORTAL_SUSPENDED, Stage::Head | Stage::Rows)
                if self.unit.exchange != Exchange::Query =>
            {
                self.totals.status |= status::SUSPENDED;
                Ok(self.end_of_result())
            }
            (kind::COPY_IN_RESPONSE, Stage::Head | Stage::Further) => self.copy_in().map(Some),
            (kind::COPY_OUT_RESPONSE, Stage::Head | Stage::Further) => {
                self.totals.has_result_set = true;
                Ok(self.enter(Stage::CopyOut))
            }
            (kind::COPY_DONE, Stage::CopyOut) => Ok(self.enter(Stage::CopiedOut)),
            _ => Err(self.unexpected(message)),
        }
    }

    #[inline]
    fn enter(&mut self, stage: Stage) -> Option<Reply> {
        self.stage = stage;
        None
    }

    fn copy_in(&mut self) -> Result<Reply, WireError> {
        if !self.allows_copy_in {
            return Err(WireError::UnexpectedCopyIn);
        }
        self.stage = Stage::CopyIn;
        Ok(Reply::WantsFile { name: String::new() })
    }

    #[inline]
    fn command_complete(&mut self, body: &[u8]) -> Result<Option<Reply>, WireError> {
        let tag = Tag::parse(body)?;
        let totals = &mut self.totals;
        match tag.verb {
            Verb::Write if self.stage == Stage::CopiedOut => {}
            Verb::Write => totals.affected_rows = totals.affected_rows.saturating_add(tag.rows()),
            // CREATE TABLE AS has this tag and no rows for the client.
            Verb::Read if self.stage != Stage::Rows => {
                totals.affected_rows = totals.affected_rows.saturating_add(tag.rows());
            }
            Verb::Rollback => totals.status |= status::ROLLED_BACK,
            Verb::Read | Verb::Other => {}
        }
        Ok(self.end_of_result())
    }

    /// A statement's result is complete.
    #[inline]
    fn end_of_result(&mut self) -> Option<Reply> {
        match self.unit.exchange {
            Exchange::Query => self.enter(Stage::Further),
            _ => self.end_of_unit(),
        }
    }

    /// A command of the extended protocol is complete, but for its Sync.
    #[inline]
    fn end_of_unit(&mut self) -> Option<Reply> {
        if self.unit.is_synced {
            return self.enter(Stage::Ended);
        }
        let reply = self.reply();
        self.advance();
        Some(reply)
    }

    #[inline]
    fn ready_for_query(&mut self, body: &[u8]) -> Result<Option<Reply>, WireError> {
        self.ready = parse_ready(body)?;
        let reply = match self.failure.take() {
            Some(error) => Reply::Failed(error),
            None => self.reply(),
        };
        self.advance();
        Ok(Some(reply))
    }

    #[inline]
    fn reply(&self) -> Reply {
        match self.unit.exchange {
            Exchange::Prepare => Reply::Prepared(self.prepared),
            _ => {
                let status = self.totals.status | self.ready;
                Reply::Done(Completion { status, ..self.totals })
            }
        }
    }

    /// An error ends the command, and the connection if it is fatal or answers nothing. Everything
    /// up to the next Sync is then skipped by the server.
    #[cold]
    fn error_response(&mut self, body: &[u8]) -> Result<Option<Reply>, WireError> {
        let Report { error, is_fatal, .. } = Report::parse(body);
        if is_fatal || self.stage == Stage::Idle {
            return Err(WireError::Server(error));
        }
        let error = Box::new(error);
        if self.unit.is_synced {
            // A Sync after an error that was already reported has none of its own.
            self.failure.get_or_insert(error);
            self.stage = Stage::Ended;
            return Ok(None);
        }
        self.skipping = Some(error.clone());
        self.advance();
        Ok(Some(Reply::Failed(error)))
    }

    #[cold]
    fn notice(&mut self, body: &[u8]) -> Option<Reply> {
        if self.stage != Stage::Idle && Report::parse(body).is_warning {
            self.totals.warnings = self.totals.warnings.saturating_add(1);
        }
        None
    }

    #[cold]
    fn unexpected(&self, kind: u8) -> WireError {
        let expected = match self.stage {
            Stage::Idle => return WireError::Unasked,
            Stage::Parsing => "the end of a parse",
            Stage::Description => "a statement's parameters",
            Stage::ColumnsOfStatement => "a statement's columns",
            Stage::Binding => "the end of a bind",
            Stage::Head => "a result",
            Stage::Rows => "a row",
            Stage::CopyIn | Stage::CopiedOut => "the end of a copy",
            Stage::CopyOut => "a copied row",
            Stage::Further => "a further result or the end of a reply",
            Stage::Ended => "the end of a reply",
        };
        WireError::UnexpectedMessage { expected, kind }
    }
}
