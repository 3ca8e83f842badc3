//! A virtual user that a built-in workload or a template drives: one connection, one stream of events.

mod assignment;
mod commands;
mod connect;
mod ending;
mod extended;
mod failing;
mod idle;
mod logging;
mod pipeline;
mod pipelining;
mod program;
mod schedule;

pub(crate) use assignment::Assignment;

use crate::connection::{
    BYTES_A_TURN, Connection, Conversation, Endpoint, Handle, Loss, Opening, Ready, Received,
    verdict,
};
use crate::metering::{ALONE, Class, Labels};
use crate::plan::Protocol;
use crate::record::Outcome;
use crate::shard::{Alarm, ShardContext, Stage};
use assignment::UserSpec;
use idle::Idle;
use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, Expect, Prepared, Reply, Verdict};
use loadstone_workload::{Answer, Machine, Params, StatementRef, Step, WeightedPicker};
use pipeline::Pipeline;
use std::sync::Arc;

pub(crate) struct User {
    /// Its place in the shard, and its token at the poller.
    pub(crate) index: u32,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) machine: Box<dyn Machine>,
    /// The member of a mix that its event belongs to; between two events, that of the next.
    pub(crate) member: u16,
    /// Draws that member, if it varies.
    pub(crate) picker: Option<WeightedPicker>,
    /// How long it thinks between two events, if its loop is closed.
    pub(crate) think: Nanos,
    /// Its loop is closed, even if the step also has an open one.
    pub(crate) is_closed_loop: bool,
    pub(crate) link: Link,
    pub(crate) activity: Activity,
    /// Consecutive attempts that gave no connection, or one that completed no event.
    pub(crate) attempt: u32,
    /// Whether this connection has completed an event.
    pub(crate) proven: bool,
    /// Whether it is in the open loop's queue of free users.
    pub(crate) in_row: bool,
    /// Which of the endpoint's addresses is tried.
    pub(crate) address: usize,
    /// How many addresses refused within this attempt.
    pub(crate) refused: usize,
    /// Since when the queue of the server's unix socket is full.
    pub(crate) queued_since: Option<Nanos>,
    /// When the attempt that is under way started.
    pub(crate) attempt_began: Nanos,
    /// Events completed on this connection.
    pub(crate) served: u32,
    /// It has closed its connection as the plan asks, and reconnects when its next event is due.
    pub(crate) renews: bool,
    /// How many more events it may start in the window; `None`: as many as all users together.
    pub(crate) events_left: Option<u64>,
    /// It is an idle connection, not a user.
    pub(crate) is_idle: bool,
}

#[expect(clippy::large_enum_variant, reason = "nearly all users are connected, nearly always")]
pub(crate) enum Link {
    /// No socket. Next: `Opening` when its turn to connect has come.
    Down,
    /// Next: `Open`, or `Down` on any failure.
    Opening(Box<Opening>),
    /// Next: `Down` when the server or the network ends it.
    Open(Connection),
}

/// What a user is doing, apart from its connection.
pub(crate) enum Activity {
    /// Nothing is due: before the load, and after it.
    Resting,
    /// Its next event is due later.
    Thinking { due: Nanos },
    /// Closed loop: its event is due, but there is no connection.
    Waiting { due: Nanos },
    /// An event is in flight.
    Busy(Event),
}

pub(crate) struct Event {
    due: Nanos,
    /// When the first attempt at it began.
    started: Nanos,
    /// When the current attempt at it sent its first statement.
    began: Nanos,
    /// When the statement that is unanswered was sent.
    sent: Nanos,
    statement: StatementRef,
    statements: u32,
    /// How often it was started.
    tries: u32,
    /// How often the server did not know a statement that it had prepared.
    unknown_handles: u32,
    pending: Pending,
    /// What was sent in a pipeline that is not over.
    pipeline: Option<Box<Pipeline>>,
}

/// What all attempts at an event share, and how many there were.
#[derive(Clone, Copy)]
struct Course {
    due: Nanos,
    started: Nanos,
    tries: u32,
    unknown_handles: u32,
}

/// What the server's next answer belongs to.
enum Pending {
    /// The statement.
    Answer,
    /// Its preparation; it is executed after that.
    Preparation(Box<Params>),
    /// None is due: its event sleeps until then.
    Sleep { until: Nanos },
    /// None is due: its event waits for this program.
    Program { number: u64 },
    /// ROLLBACK after an error; then the event restarts, or the next one starts.
    Rollback { restart: bool },
}

impl Event {
    /// An attempt that begins now.
    fn new(course: Course, now: Nanos) -> Self {
        let Course { due, started, tries, unknown_handles } = course;
        Self {
            due,
            started,
            began: now,
            sent: now,
            statement: NO_STATEMENT,
            statements: 0,
            tries,
            unknown_handles,
            pending: Pending::Answer,
            pipeline: None,
        }
    }

    /// It is counted as failed, and only has to be rolled back.
    fn has_failed(&self) -> bool {
        matches!(self.pending, Pending::Rollback { restart: false })
    }

    /// It was restarted, or will be.
    fn is_retried(&self) -> bool {
        self.tries > 1 || matches!(self.pending, Pending::Rollback { restart: true })
    }
}

const NO_STATEMENT: StatementRef = StatementRef { kind: 0, table: 0 };

impl User {
    pub(crate) fn new(index: u32, endpoint: Arc<Endpoint>, spec: UserSpec) -> Self {
        let UserSpec { machine, member, picker, think, is_closed_loop, events_left } = spec;
        Self {
            index,
            endpoint,
            machine,
            member,
            picker,
            think,
            is_closed_loop,
            link: Link::Down,
            activity: Activity::Resting,
            attempt: 0,
            proven: false,
            in_row: false,
            address: 0,
            refused: 0,
            queued_since: None,
            attempt_began: Nanos::ZERO,
            served: 0,
            renews: false,
            events_left,
            is_idle: false,
        }
    }

    /// An idle connection. It opens, is lost and reopens as a user's does.
    pub(crate) fn idle(index: u32, endpoint: Arc<Endpoint>) -> Self {
        let spec = UserSpec {
            machine: Box::new(Idle),
            member: ALONE,
            picker: None,
            think: Nanos::ZERO,
            is_closed_loop: false,
            events_left: None,
        };
        Self { is_idle: true, ..Self::new(index, endpoint, spec) }
    }

    /// Where its event is counted.
    pub(crate) fn labels(&self) -> Labels {
        Labels { target: self.endpoint.index, member: self.member }
    }

    /// The socket is ready.
    pub(crate) fn on_ready(&mut self, shard: &mut ShardContext, buffer: &mut [u8], ready: Ready) {
        match &mut self.link {
            Link::Down => {}
            Link::Opening(_) => self.go_on_opening(shard, buffer),
            Link::Open(connection) => {
                if ready.writable
                    && let Err(error) = connection.flush()
                {
                    return self.lose(shard, &Loss::from_io(self.endpoint.family, &error));
                }
                if connection.begins_turn(ready) {
                    self.receive(shard, buffer);
                }
            }
        }
        self.watch(shard);
    }

    pub(crate) fn on_alarm(&mut self, shard: &mut ShardContext, alarm: Alarm, now: Nanos) {
        match (alarm, &self.activity, &self.link) {
            (Alarm::Due, Activity::Thinking { due }, _) if *due <= now => {
                let due = *due;
                self.has_thought(shard, due, now);
            }
            (Alarm::Slept, Activity::Busy(event), Link::Open(_)) if matches!(event.pending, Pending::Sleep { until } if until <= now) =>
            {
                self.has_slept(shard, now);
            }
            // Before the load, a user that cannot connect must report that before others have
            // tried.
            (Alarm::Retry, _, Link::Down) if shard.stage == Stage::Connecting => {
                shard.connect_queue.enqueue_first(self.index);
            }
            (Alarm::Retry, _, Link::Down) if self.is_idle => {
                shard.connect_queue.enqueue_behind(self.index)
            }
            (Alarm::Retry, _, Link::Down) => shard.connect_queue.enqueue(self.index),
            (Alarm::ConnectTimeout, _, Link::Opening(opening)) if opening.deadline <= now => {
                self.connect_timed_out(shard, now);
            }
            _ => {}
        }
        self.watch(shard);
    }

    /// Reads everything that has arrived, as the poller does not report it again; what is more than
    /// a turn's share is read in further turns.
    fn receive(&mut self, shard: &mut ShardContext, buffer: &mut [u8]) {
        let mut left = BYTES_A_TURN;
        while left > 0 {
            let Link::Open(connection) = &mut self.link else { return };
            match connection.receive(buffer) {
                Ok(Received::Nothing) => return,
                Ok(Received::Bytes { count, wire, more }) => {
                    shard.meter.counts.bytes_in += wire as u64;
                    left = left.saturating_sub(count.max(wire));
                    let goes_on = more || connection.has_ended;
                    self.take_bytes(shard, &buffer[..count]);
                    if !goes_on {
                        return;
                    }
                }
                Ok(Received::End) => return self.lose(shard, &Loss::closed(self.endpoint.family)),
                Err(error) => {
                    return self.lose(shard, &Loss::from_io(self.endpoint.family, &error));
                }
            }
        }
        if let Link::Open(connection) = &mut self.link {
            connection.leaves_rest();
            shard.again.push(u64::from(self.index));
        }
    }

    fn take_bytes(&mut self, shard: &mut ShardContext, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Link::Open(connection) = &mut self.link else { return };
            match connection.feed(bytes) {
                Ok((consumed, reply)) => {
                    bytes = &bytes[consumed..];
                    if let Some(reply) = reply {
                        self.on_reply(shard, reply);
                    }
                }
                Err(error) => return self.lose(shard, &Loss::from_protocol(&error)),
            }
        }
    }

    fn on_reply(&mut self, shard: &mut ShardContext, reply: Reply) {
        let now = shard.now();
        let Activity::Busy(event) = &mut self.activity else { return };
        if event.is_in_pipeline() {
            return self.on_queued_reply(shard, reply, now);
        }
        shard.count_queued(event.sent, now);
        let pending = std::mem::replace(&mut event.pending, Pending::Answer);
        match (pending, reply) {
            (Pending::Answer, Reply::Done(completion)) => {
                self.statement_done(shard, &completion, now)
            }
            (Pending::Preparation(params), Reply::Prepared(prepared)) => {
                self.statement_prepared(shard, *params, prepared);
            }
            (Pending::Preparation(params), Reply::Failed(error))
                if verdict(error.code) == Verdict::CannotPrepare =>
            {
                self.statement_goes_as_text(shard, *params);
            }
            (Pending::Rollback { restart }, Reply::Done(_)) => {
                let latency = now - event.sent;
                shard.meter.statement(Class::Other, self.labels(), latency);
                shard.count_flight(latency);
                self.rolled_back(shard, restart, now);
            }
            (pending @ Pending::Rollback { .. }, Reply::Failed(error)) => {
                // The transaction's state is unknown now: only a new connection is clean.
                event.pending = pending;
                self.lose(shard, &Loss::from_server(&error));
            }
            (Pending::Answer | Pending::Preparation(_), Reply::Failed(error)) => {
                shard.count_flight(now - event.sent);
                self.statement_failed(shard, &error, now);
            }
            (pending, _) => {
                event.pending = pending;
                self.lose(shard, &Loss::out_of_turn(self.endpoint.family));
            }
        }
    }

    fn statement_done(&mut self, shard: &mut ShardContext, completion: &Completion, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        let latency = now - event.sent;
        shard.meter.statement(Class::of(completion), self.labels(), latency);
        shard.count_flight(latency);
        if let Some(error) = self.silent_rollback(shard, event.statement, completion) {
            return self.fail_by(shard, &error, Verdict::RolledBack, now);
        }
        self.command_done(shard, latency);
        let Link::Open(connection) = &self.link else { return };
        let answer = Answer { completion, results: connection.conversation.results() };
        let step = self.machine.step(Some(answer), &mut shard.params);
        self.take_step(shard, step, now);
    }

    fn take_step(&mut self, shard: &mut ShardContext, step: Step, now: Nanos) {
        match step {
            Step::Send(statement) => self.send_statement(shard, statement, now),
            Step::Queue(_) | Step::Sync | Step::EndPipeline => self.fill_pipeline(shard, step, now),
            Step::Sleep(span) => self.sleep(shard, span, now),
            Step::Executed => self.time_own_commands(shard, now),
            Step::Run { wants_line } => self.run_program(shard, wants_line, now),
            Step::Done => self.event_done(shard, now),
            Step::Fail(why) => {
                let why = self.machine.take_reason().unwrap_or_else(|| why.to_owned());
                self.missing_row(shard, why, now);
            }
        }
    }

    /// The event goes on then, in another turn of the loop.
    fn sleep(&mut self, shard: &mut ShardContext, span: Nanos, now: Nanos) {
        let Activity::Busy(event) = &mut self.activity else { return };
        let until = now + span;
        event.pending = Pending::Sleep { until };
        event.sent = now;
        shard.timers.set(until, self.index, Alarm::Slept);
    }

    fn has_slept(&mut self, shard: &mut ShardContext, now: Nanos) {
        let Activity::Busy(event) = &mut self.activity else { return };
        event.pending = Pending::Answer;
        let slept = now - event.sent;
        self.command_done(shard, slept);
        let step = self.machine.step(None, &mut shard.params);
        self.take_step(shard, step, now);
    }

    /// Sends the statement with the parameters in `shard.params`.
    fn send_statement(&mut self, shard: &mut ShardContext, statement: StatementRef, now: Nanos) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        event.statement = statement;
        event.sent = now;
        event.statements += 1;
        shard.command.clear();
        let handle = match shard.settings.protocol {
            Protocol::Text => Some(Handle::AsText),
            // One that never is prepared has no handle.
            Protocol::Prepared | Protocol::Pipelined => {
                connection.handle(statement).or_else(|| as_text_only(shard, statement))
            }
            Protocol::Extended => return self.send_once(shard, statement),
        };
        let expected = match handle {
            Some(Handle::Prepared { id, bound }) => {
                let command = &mut shard.command;
                connection.conversation.write_execute(command, id, shard.params.iter(), !bound);
                if !bound && !shard.settings.catalogue.types_vary(statement.kind) {
                    connection.remember(statement, Handle::Prepared { id, bound: true });
                }
                Expect::Execute
            }
            Some(Handle::AsText) => {
                write_text(shard, &connection.conversation, statement);
                Expect::Query
            }
            None => {
                event.pending = Pending::Preparation(Box::new(shard.params.clone()));
                write_preparation(shard, &mut connection.conversation, statement);
                Expect::Prepare
            }
        };
        self.send_command(shard, expected);
    }

    fn send_command(&mut self, shard: &mut ShardContext, expected: Expect) {
        let Link::Open(connection) = &mut self.link else { return };
        match connection.send(&shard.command, expected) {
            Ok(sent) => shard.meter.counts.bytes_out += sent as u64,
            Err(error) => self.lose(shard, &Loss::from_io(self.endpoint.family, &error)),
        }
    }

    fn statement_prepared(&mut self, shard: &mut ShardContext, params: Params, prepared: Prepared) {
        let id = prepared.statement_id;
        self.statement_known(shard, params, Handle::Prepared { id, bound: false });
    }

    fn statement_goes_as_text(&mut self, shard: &mut ShardContext, params: Params) {
        self.statement_known(shard, params, Handle::AsText);
    }

    /// Sends the statement now that it is prepared.
    fn statement_known(&mut self, shard: &mut ShardContext, params: Params, handle: Handle) {
        let Activity::Busy(event) = &mut self.activity else { return };
        let Link::Open(connection) = &mut self.link else { return };
        connection.remember(event.statement, handle);
        // The statement's latency includes its preparation: this is when it was requested.
        let (statement, wanted) = (event.statement, event.sent);
        event.statements -= 1;
        shard.params = params;
        self.send_statement(shard, statement, wanted);
    }

    /// The user is free again, after an event that was `empty` if it sent no statement.
    fn find_next(&mut self, shard: &mut ShardContext, empty: bool, now: Nanos) {
        if empty {
            // It would otherwise start the next one from in here, and one that is due now would be
            // popped by the loop that we are in.
            self.think(shard, now + Nanos(1));
        } else {
            self.schedule(shard, now);
        }
    }

    fn event_done(&mut self, shard: &mut ShardContext, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        let empty = event.statements == 0;
        if event.is_retried() {
            shard.meter.retried(self.member);
        }
        self.log_event(shard, Outcome::Ok, now);
        shard.count_unfinished(self.member, event.due, Some(event.began));
        shard.meter.event_succeeded(self.labels(), now - event.due, now - event.began);
        let response = now - event.due;
        shard.meter.of_user(self.index, shard.since_begin(now), response);
        self.tell_entries(shard);
        for kind in self.machine.kinds() {
            shard.meter.of_kind(kind, response);
        }
        self.proven = true;
        if self.machine.in_transaction() {
            return self.end_in_transaction(shard);
        }
        shard.user_is_free();
        self.renew_when_served(shard);
        self.find_next(shard, empty, now);
    }

    /// Reports the outcome of the entries of a user that keeps a ledger.
    fn tell_entries(&mut self, shard: &mut ShardContext) {
        if let Some(entries) = self.machine.take_entries() {
            shard.meter.of_ledger(self.index, entries);
        }
    }

    /// The step ends with an event in flight, and nobody waits for its answer any more.
    pub(crate) fn cut_off(&mut self, shard: &mut ShardContext) {
        let Activity::Busy(event) = &self.activity else { return };
        if !event.has_failed() {
            shard.count_unfinished(self.member, event.due, Some(event.began));
        }
        self.machine.abandon();
        self.tell_entries(shard);
        shard.meter.user_cut_off(self.index);
    }

    /// Begins an event for the first time, or again after an error.
    fn begin_attempt(&mut self, shard: &mut ShardContext, course: Course, now: Nanos) {
        self.activity = Activity::Busy(Event::new(course, now));
        let step = self.machine.step(None, &mut shard.params);
        self.take_step(shard, step, now);
    }
}

fn as_text_only(shard: &ShardContext, statement: StatementRef) -> Option<Handle> {
    shard.settings.catalogue.is_text_only(statement.kind).then_some(Handle::AsText)
}

fn write_text(shard: &mut ShardContext, conversation: &Conversation, statement: StatementRef) {
    let ShardContext { settings, params, command, .. } = shard;
    conversation.write_query_with(command, |out| {
        settings.catalogue.write_text(statement, params, out);
    });
}

fn write_preparation(
    shard: &mut ShardContext,
    conversation: &mut Conversation,
    statement: StatementRef,
) {
    let mut sql = Vec::new();
    shard.settings.catalogue.write_prepared(statement, &mut sql);
    conversation.write_prepare(&mut shard.command, &sql);
}
