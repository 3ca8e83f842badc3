//! Sends statements before those in front of them are answered.
//!
//! What a machine puts into one is sent together, at the pipeline's end or where the event waits for
//! something else. If a statement is refused, nothing more is put in; its error counts when the
//! server has answered the end, and says then whether a transaction is still open.

use super::extended::{CHECKED, write_once};
use super::pipeline::{Of, Owed, Pipeline, Refused};
use super::{Activity, Event, Link, Pending, User};
use crate::connection::{Handle, Loss};
use crate::metering::Class;
use crate::plan::Protocol;
use crate::shard::ShardContext;
use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, Reply, ServerError};
use loadstone_workload::{Answer, StatementRef, Step};

impl Event {
    pub(super) fn is_in_pipeline(&self) -> bool {
        self.pipeline.is_some()
    }
}

impl User {
    /// Puts into the pipeline what the machine says, beginning with `step`, up to a step that waits
    /// for something.
    pub(super) fn fill_pipeline(&mut self, shard: &mut ShardContext, step: Step, now: Nanos) {
        shard.command.clear();
        self.begin_pipeline();
        let mut step = step;
        loop {
            match step {
                Step::Queue(statement) => self.queue(shard, statement, now),
                Step::Sync => self.queue_sync(shard, now, true),
                _ => break,
            }
            step = self.next_in_pipeline(shard);
        }
        if step == Step::EndPipeline {
            self.queue_sync(shard, now, false);
            return self.send_queued(shard, now);
        }
        self.send_queued(shard, now);
        // The connection may have been lost by that, and the event with it.
        if matches!(&self.activity, Activity::Busy(event) if event.is_in_pipeline()) {
            self.take_step(shard, step, now);
        }
    }

    /// What the machine says next; commands of the client's own are timed, if the plan asks for it.
    fn next_in_pipeline(&mut self, shard: &mut ShardContext) -> Step {
        if shard.meter.commands.is_none() {
            return self.machine.step(None, &mut shard.params);
        }
        loop {
            let began = shard.now();
            let step = self.machine.step(None, &mut shard.params);
            if step != Step::Executed {
                return step;
            }
            let now = shard.now();
            self.command_done(shard, now - began);
        }
    }

    fn begin_pipeline(&mut self) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        if event.pipeline.is_none() {
            event.pipeline = Some(Box::default());
            connection.conversation.extended().expect(CHECKED).begin_pipeline();
        }
    }

    /// Appends a statement, with the parameters in `shard.params`.
    fn queue(&mut self, shard: &mut ShardContext, statement: StatementRef, now: Nanos) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        let Some(pipeline) = &mut event.pipeline else { return };
        event.statement = statement;
        event.statements += 1;
        let command = self.machine.command();
        let handle = match shard.settings.protocol {
            Protocol::Pipelined if shard.settings.catalogue.is_text_only(statement.kind) => {
                Some(Handle::AsText)
            }
            Protocol::Prepared | Protocol::Pipelined => connection.handle(statement),
            Protocol::Text | Protocol::Extended => Some(Handle::AsText),
        };
        let mut extended = connection.conversation.extended().expect(CHECKED);
        let id = match handle {
            Some(Handle::Prepared { id, .. }) => Some(id),
            Some(Handle::AsText) => None,
            None => Some(pipeline.prepared_here(statement).unwrap_or_else(|| {
                let mut sql = Vec::new();
                shard.settings.catalogue.write_prepared(statement, &mut sql);
                let of = Of::Preparation(statement);
                pipeline.owed.push_back(Owed { of, command, sent: now });
                let id = extended.queue_prepare(&mut shard.command, &sql);
                pipeline.prepares(statement, id);
                id
            })),
        };
        match id {
            Some(id) => extended.queue_execute(&mut shard.command, id, shard.params.iter()),
            None => write_once(shard, &mut extended, statement),
        }
        pipeline.owed.push_back(Owed { of: Of::Statement(statement), command, sent: now });
    }

    /// Appends a Sync: the pipeline goes on behind it, or ends.
    fn queue_sync(&mut self, shard: &mut ShardContext, now: Nanos, goes_on: bool) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        let Some(pipeline) = &mut event.pipeline else { return };
        let mut extended = connection.conversation.extended().expect(CHECKED);
        extended.end_pipeline(&mut shard.command);
        if goes_on {
            extended.begin_pipeline();
        }
        pipeline.begin_behind_sync();
        pipeline.has_ended = !goes_on;
        pipeline.owed.push_back(Owed { of: Of::Sync, command: self.machine.command(), sent: now });
    }

    fn send_queued(&mut self, shard: &mut ShardContext, now: Nanos) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        event.sent = now;
        match connection.send_expected(&shard.command) {
            Ok(sent) => shard.meter.counts.bytes_out += sent as u64,
            Err(error) => self.lose(shard, &Loss::from_io(self.endpoint.family, &error)),
        }
    }

    /// An answer has come while the event is in a pipeline.
    pub(super) fn on_queued_reply(&mut self, shard: &mut ShardContext, reply: Reply, now: Nanos) {
        let Activity::Busy(Event { pipeline: Some(pipeline), .. }) = &mut self.activity else {
            return;
        };
        let Some(Owed { of, command, sent }) = pipeline.owed.pop_front() else {
            return self.lose(shard, &Loss::out_of_turn(self.endpoint.family));
        };
        shard.count_queued(sent, now);
        match (of, reply) {
            (Of::Statement(statement), Reply::Done(completion)) => {
                pipeline.last = Some(completion);
                shard.meter.statement(Class::of(&completion), self.labels(), now - sent);
                if let Some(error) = self.silent_rollback(shard, statement, &completion) {
                    let error = Box::new(error);
                    return self.cut_short(shard, Refused { error, statement, command }, now);
                }
                self.time_command(shard, command, now - sent);
            }
            (Of::Preparation(statement), Reply::Prepared(prepared)) => {
                let Link::Open(connection) = &mut self.link else { return };
                let id = prepared.statement_id;
                connection.remember(statement, Handle::Prepared { id, bound: false });
            }
            (Of::Sync, Reply::Done(completion)) => {
                shard.count_flight(now - sent);
                self.time_command(shard, command, now - sent);
                self.synced(shard, Some(&completion), now);
            }
            (Of::Statement(statement) | Of::Preparation(statement), Reply::Failed(error)) => {
                pipeline.skip();
                self.cut_short(shard, Refused { error, statement, command }, now);
            }
            // What was sent before it could not be committed.
            (Of::Sync, Reply::Failed(error)) => {
                if let Activity::Busy(event) = &self.activity {
                    let statement = event.statement;
                    self.cut_short(shard, Refused { error, statement, command }, now);
                }
                self.synced(shard, None, now);
            }
            _ => self.lose(shard, &Loss::out_of_turn(self.endpoint.family)),
        }
    }

    /// The event cannot go on at the current command.
    pub(super) fn fail_in_pipeline(
        &mut self,
        shard: &mut ShardContext,
        error: Box<ServerError>,
        now: Nanos,
    ) {
        let Activity::Busy(event) = &self.activity else { return };
        let (statement, command) = (event.statement, self.machine.command());
        self.cut_short(shard, Refused { error, statement, command }, now);
    }

    /// The event fails by this error once the pipeline is over, which ends here.
    fn cut_short(&mut self, shard: &mut ShardContext, refused: Refused, now: Nanos) {
        let Activity::Busy(Event { pipeline: Some(pipeline), pending, .. }) = &mut self.activity
        else {
            return;
        };
        pipeline.failure.get_or_insert(refused);
        // What it waited for otherwise no longer matters.
        *pending = Pending::Answer;
        if !pipeline.has_ended {
            shard.command.clear();
            self.queue_sync(shard, now, false);
            self.send_queued(shard, now);
        }
    }

    /// A Sync is answered: the event goes on behind the last one, or fails. `end`: the answer, unless
    /// it was an error.
    fn synced(&mut self, shard: &mut ShardContext, end: Option<&Completion>, now: Nanos) {
        let Activity::Busy(event) = &mut self.activity else { return };
        let is_over = |one: &mut Box<Pipeline>| one.has_ended && one.owed.is_empty();
        let Some(pipeline) = event.pipeline.take_if(is_over) else { return };
        let Some(Refused { error, statement, command }) = pipeline.failure else {
            let done =
                end.map(|end| Completion { status: end.status, ..pipeline.last.unwrap_or(*end) });
            return self.pipeline_done(shard, done.as_ref(), now);
        };
        event.statement = statement;
        self.machine.cut_short(end.map(Answer::of), statement, command);
        self.statement_failed(shard, &error, now);
    }

    /// The event goes on with what the last statement of its pipeline did.
    fn pipeline_done(&mut self, shard: &mut ShardContext, last: Option<&Completion>, now: Nanos) {
        let Link::Open(connection) = &self.link else { return };
        // Those of all statements were kept.
        let results = connection.conversation.results();
        let own = last.map(|last| usize::from(last.has_result_set)).unwrap_or_default();
        let results = &results[results.len().saturating_sub(own)..];
        let answer = last.map(|completion| Answer { completion, results });
        let step = self.machine.step(answer, &mut shard.params);
        self.take_step(shard, step, now);
    }
}
