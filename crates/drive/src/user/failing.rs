//! An event that fails: by an error of the server, a row that is missing, or a connection that is lost.

use super::{Activity, Course, Event, Link, Pending, User};
use crate::connection::{Loss, ends_connection, verdict};
use crate::error::Failure;
use crate::record::FirstError;
use crate::shard::{AfterError, ShardContext};
use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, Expect, Fault, ServerError, Verdict};
use loadstone_workload::{Catalogue, StatementRef};

impl User {
    /// The server has answered, but without a row that the workload's data must have.
    pub(super) fn missing_row(&mut self, shard: &mut ShardContext, message: String, now: Nanos) {
        let code = self.endpoint.family.code_of(Fault::NoData);
        let error = ServerError { code, sql_state: *b"HY000", message, position: None };
        match &self.activity {
            Activity::Busy(event) if event.is_in_pipeline() => {
                self.fail_in_pipeline(shard, Box::new(error), now);
            }
            _ => self.statement_failed(shard, &error, now),
        }
    }

    pub(super) fn statement_failed(
        &mut self,
        shard: &mut ShardContext,
        error: &ServerError,
        now: Nanos,
    ) {
        if ends_connection(error.code) {
            return self.lose(shard, &Loss::from_server(error));
        }
        self.fail_by(shard, error, verdict(error.code), now);
    }

    /// The error that a completed statement stands for: a COMMIT by which nothing was committed.
    pub(super) fn silent_rollback(
        &self,
        shard: &ShardContext,
        statement: StatementRef,
        completion: &Completion,
    ) -> Option<ServerError> {
        let Link::Open(connection) = &self.link else { return None };
        let error = connection.conversation.silent_rollback(completion)?;
        shard.settings.catalogue.commits(statement.kind).then_some(error)
    }

    /// The event fails by an error that leaves the connection open.
    pub(super) fn fail_by(
        &mut self,
        shard: &mut ShardContext,
        error: &ServerError,
        verdict: Verdict,
        now: Nanos,
    ) {
        let prepares_again = verdict == Verdict::HandleUnknown && self.prepares_again();
        let Activity::Busy(event) = &mut self.activity else { return };
        let (statement, began, is_retried) = (event.statement, event.began, event.is_retried());
        let after = shard.after_error(error.code, event.tries, now - event.due, prepares_again);
        self.machine.refused(verdict);
        self.machine.failed(error);
        shard.meter.error(error.code, self.labels(), now - began);
        let catalogue = shard.settings.catalogue.clone();
        shard.meter.first_error(error.code, || FirstError {
            code: error.code,
            message: error.message.clone(),
            statement: Some(statement_text(&catalogue, statement)).filter(|text| !text.is_empty()),
            preparing: false,
            prepared: false,
            position: None,
            target: None,
        });
        let roll_back = self.machine.in_transaction() && verdict != Verdict::RolledBack;
        let ended =
            (after == AfterError::EndUser).then(|| self.ended(error.code, error.message.clone()));
        let restart = after == AfterError::Restart;
        self.command_failed(shard, restart);
        self.machine.abandon();
        self.tell_entries(shard);
        if restart {
            shard.meter.restarted(self.member);
        } else {
            self.count_failed(shard, is_retried);
            self.log_failed(shard, error.code, now);
            shard.meter.user_failed(self.index);
        }
        if let Some(ended) = ended {
            return self.end_after(shard, ended);
        }
        if after == AfterError::EndStep {
            let text = statement_text(&catalogue, statement);
            shard.fail(Failure::of_statement(error, text).at(self.endpoint.index));
        }
        if roll_back {
            self.roll_back(shard, restart, now);
        } else {
            self.rolled_back(shard, restart, now);
        }
    }

    /// All statements of the connection will be prepared again. Returns whether that may help the
    /// event: it has not been tried yet.
    ///
    /// The event begins again rather than with that statement: what it did before within its
    /// transaction is lost if the session is another one.
    fn prepares_again(&mut self) -> bool {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return false;
        };
        connection.forget_handles();
        event.unknown_handles += 1;
        event.unknown_handles == 1
    }

    fn count_failed(&self, shard: &mut ShardContext, is_retried: bool) {
        if is_retried {
            shard.meter.retried(self.member);
        }
        shard.meter.event_failed(self.member);
    }

    fn roll_back(&mut self, shard: &mut ShardContext, restart: bool, now: Nanos) {
        let Activity::Busy(event) = &mut self.activity else { return };
        event.pending = Pending::Rollback { restart };
        event.sent = now;
        let Link::Open(connection) = &self.link else { return };
        let conversation = &connection.conversation;
        shard.command.clear();
        conversation.write_query(&mut shard.command, conversation.rollback());
        self.send_command(shard, Expect::Query);
    }

    /// The failed attempt has left no trace on the server.
    pub(super) fn rolled_back(&mut self, shard: &mut ShardContext, restart: bool, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        let Event { due, started, tries, statements, unknown_handles, .. } = *event;
        self.machine.undone(&shard.undone(restart, tries, now - due));
        if !restart {
            shard.user_is_free();
            self.renew_when_served(shard);
            return self.find_next(shard, statements == 0, now);
        }
        let course = Course { due, started, tries: tries + 1, unknown_handles };
        if statements == 0 {
            // An attempt that failed without a statement would begin the next one from in here.
            self.activity = Activity::Busy(Event::new(course, now));
            return self.sleep(shard, Nanos(1), now);
        }
        self.begin_attempt(shard, course, now);
    }

    /// The connection is gone, and with it the event in flight.
    pub(crate) fn event_lost(&mut self, shard: &mut ShardContext, loss: &Loss, now: Nanos) {
        if shard.is_loading() || matches!(self.activity, Activity::Busy(_)) {
            shard.meter.user_cut_off(self.index);
        }
        let Activity::Busy(event) = &self.activity else { return };
        let (is_retried, has_failed) = (event.is_retried(), event.has_failed());
        let began = event.began;
        if !has_failed {
            self.command_failed(shard, false);
            self.log_failed(shard, loss.code, now);
        }
        self.machine.abandon();
        self.tell_entries(shard);
        shard.meter.error(loss.code, self.labels(), now - began);
        shard.meter.first_error(loss.code, || FirstError {
            code: loss.code,
            message: loss.message.clone(),
            statement: None,
            preparing: false,
            prepared: false,
            position: None,
            target: None,
        });
        // It was rolling back an event that had failed already: that is counted.
        if !has_failed {
            self.count_failed(shard, is_retried);
        }
        shard.user_is_free();
        self.schedule(shard, now);
    }
}

/// The statement's text; a script without statements fails by itself.
fn statement_text(catalogue: &Catalogue, statement: StatementRef) -> String {
    if catalogue.kinds() == 0 {
        return String::new();
    }
    let mut sql = Vec::new();
    catalogue.write_prepared(statement, &mut sql);
    String::from_utf8_lossy(&sql).into_owned()
}
