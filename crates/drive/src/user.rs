//! A virtual user: one connection, one stream of events.

use crate::cast::Role;
use crate::connection::{Connection, Handle};
use crate::core::{Core, Stage};
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::idle::Idle;
use crate::loss::{Loss, ends_connection};
use crate::meter::{ALONE, Class, Whose};
use crate::opening::Opening;
use crate::plan::{OnError, Protocol};
use crate::poller::Ready;
use crate::record::FirstError;
use crate::timers::Alarm;
use crate::transport::Received;
use loadstone_measure::Nanos;
use loadstone_wire::{
    Completion, Expect, Prepared, Reply, ServerError, begin_query, end, write_execute,
    write_prepare, write_query,
};
use loadstone_workload::{Answer, Lot, Machine, Params, StatementRef, Step};
use std::sync::Arc;

pub(crate) struct User {
    /// Its place in the shard, and its token at the poller.
    pub(crate) index: u32,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) machine: Box<dyn Machine>,
    /// Of a mix, the member that its event is of; between two events that of the next.
    pub(crate) member: u16,
    /// Draws that member, where it is not always the same.
    pub(crate) lot: Option<Lot>,
    /// How long it thinks between two events, where its loop is closed.
    pub(crate) think: Nanos,
    /// Its loop is closed, also beside an open one.
    pub(crate) is_beside: bool,
    pub(crate) link: Link,
    pub(crate) activity: Activity,
    /// Attempts in a row that gave no connection, or one that saw no event through.
    pub(crate) attempt: u32,
    /// Whether this connection has seen an event through.
    pub(crate) proven: bool,
    /// Whether it stands in the open loop's row of free users.
    pub(crate) in_row: bool,
    /// Which of the endpoint's addresses is tried.
    pub(crate) address: usize,
    /// How many of them refused within this attempt.
    pub(crate) refused: usize,
    /// Since when the queue of the server's unix socket is full.
    pub(crate) queued_since: Option<Nanos>,
    /// When the attempt that is under way began.
    pub(crate) attempt_began: Nanos,
    /// Events that this connection has seen the end of.
    pub(crate) served: u32,
    /// It has said goodbye as the plan wants, and connects anew when its next event is due.
    pub(crate) renews: bool,
    /// It says nothing: it is a connection, and no user.
    pub(crate) is_idle: bool,
}

pub(crate) enum Link {
    /// No socket. Next: `Opening` when the ramp lets it.
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
    /// Closed loop: its event is due, and there is no connection.
    Waiting { due: Nanos },
    /// An event is in flight.
    Busy(Event),
}

pub(crate) struct Event {
    due: Nanos,
    /// When the current attempt at it sent its first statement.
    began: Nanos,
    /// When the statement that is unanswered was sent.
    sent: Nanos,
    statement: StatementRef,
    statements: u32,
    owed: Owed,
}

/// What the server's next answer is for.
enum Owed {
    /// The statement.
    Answer,
    /// Its preparation; it is executed after that.
    Preparation(Box<Params>),
    /// ROLLBACK after an error; then the event begins anew, or the next one does.
    Rollback { restart: bool },
}

const NO_STATEMENT: StatementRef = StatementRef { kind: 0, table: 0 };

/// Reads of one socket before others have their turn.
const READS_A_TURN: u32 = 16;
/// ER_UNSUPPORTED_PS.
const CANNOT_PREPARE: u16 = 1295;
/// The server has rolled back by itself: ER_LOCK_DEADLOCK.
const DEADLOCK: u16 = 1213;

impl User {
    pub(crate) fn new(index: u32, endpoint: Arc<Endpoint>, role: Role) -> Self {
        let Role { machine, member, lot, think, is_beside } = role;
        Self {
            index,
            endpoint,
            machine,
            member,
            lot,
            think,
            is_beside,
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
            is_idle: false,
        }
    }

    /// A connection that says nothing. It comes, goes and comes again as a user's does.
    pub(crate) fn idle(index: u32, endpoint: Arc<Endpoint>) -> Self {
        let role = Role {
            machine: Box::new(Idle),
            member: ALONE,
            lot: None,
            think: Nanos::ZERO,
            is_beside: false,
        };
        Self { is_idle: true, ..Self::new(index, endpoint, role) }
    }

    /// Where its event is counted.
    pub(crate) fn whose(&self) -> Whose {
        Whose { target: self.endpoint.index, member: self.member }
    }

    /// The socket is ready.
    pub(crate) fn on_ready(&mut self, core: &mut Core, buffer: &mut [u8], ready: Ready) {
        match &mut self.link {
            Link::Down => {}
            Link::Opening(_) => self.go_on_opening(core, buffer),
            Link::Open(connection) => {
                if ready.writable
                    && let Err(error) = connection.flush()
                {
                    return self.lose(core, &Loss::from_io(&error));
                }
                self.receive(core, buffer, ready.ended);
            }
        }
        self.watch(core);
    }

    pub(crate) fn on_alarm(&mut self, core: &mut Core, alarm: Alarm, now: Nanos) {
        match (alarm, &self.activity, &self.link) {
            (Alarm::Due, Activity::Thinking { due }, _) if *due <= now => {
                let due = *due;
                self.has_thought(core, due, now);
            }
            // Before the load, one that cannot connect is to say so before others have tried.
            (Alarm::Retry, _, Link::Down) if core.stage == Stage::Connecting => {
                core.ramp.enqueue_first(self.index);
            }
            (Alarm::Retry, _, Link::Down) if self.is_idle => core.ramp.enqueue_behind(self.index),
            (Alarm::Retry, _, Link::Down) => core.ramp.enqueue(self.index),
            (Alarm::ConnectTimeout, _, Link::Opening(opening)) if opening.deadline <= now => {
                self.connect_timed_out(core, now);
            }
            _ => {}
        }
        self.watch(core);
    }

    /// Takes all that has come: the poller does not tell of it again.
    fn receive(&mut self, core: &mut Core, buffer: &mut [u8], ended: bool) {
        for _ in 0..READS_A_TURN {
            let Link::Open(connection) = &mut self.link else { return };
            match connection.receive(buffer) {
                Ok(Received::Nothing) => return,
                Ok(Received::Bytes { count, wire, more }) => {
                    core.meter.counts.bytes_in += wire as u64;
                    self.take_bytes(core, &buffer[..count]);
                    if !more && !ended {
                        return;
                    }
                }
                Ok(Received::End) => return self.lose(core, &Loss::closed()),
                Err(error) => return self.lose(core, &Loss::from_io(&error)),
            }
        }
        core.again.push(u64::from(self.index));
    }

    fn take_bytes(&mut self, core: &mut Core, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Link::Open(connection) = &mut self.link else { return };
            match connection.reader.feed(bytes) {
                Ok((consumed, reply)) => {
                    bytes = &bytes[consumed..];
                    if let Some(reply) = reply {
                        self.on_reply(core, reply);
                    }
                }
                Err(error) => return self.lose(core, &Loss::from_wire(&error)),
            }
        }
    }

    fn on_reply(&mut self, core: &mut Core, reply: Reply) {
        let now = core.now();
        core.meter.held(now - core.woken);
        let Activity::Busy(event) = &mut self.activity else { return };
        let owed = std::mem::replace(&mut event.owed, Owed::Answer);
        match (owed, reply) {
            (Owed::Answer, Reply::Done(completion)) => self.statement_done(core, &completion, now),
            (Owed::Preparation(params), Reply::Prepared(prepared)) => {
                self.statement_prepared(core, *params, prepared);
            }
            (Owed::Preparation(params), Reply::Failed(error)) if error.errno == CANNOT_PREPARE => {
                self.statement_goes_as_text(core, *params);
            }
            (Owed::Rollback { restart }, Reply::Done(_)) => {
                let latency = now - event.sent;
                core.meter.statement(Class::Other, self.whose(), latency);
                self.rolled_back(core, restart, now);
            }
            (owed @ Owed::Rollback { .. }, Reply::Failed(error)) => {
                // What the transaction did is unknown now: only a new connection is clean.
                event.owed = owed;
                self.lose(core, &Loss::from_server(&error));
            }
            (Owed::Answer | Owed::Preparation(_), Reply::Failed(error)) => {
                self.statement_failed(core, &error, now);
            }
            (owed, _) => {
                event.owed = owed;
                self.lose(core, &Loss::garbled("an answer to something else".to_owned()));
            }
        }
    }

    fn statement_done(&mut self, core: &mut Core, completion: &Completion, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        let latency = now - event.sent;
        core.meter.statement(class_of(completion), self.whose(), latency);
        let Link::Open(connection) = &self.link else { return };
        let answer = Answer { completion, result: connection.reader.results().first() };
        let step = self.machine.step(Some(answer), &mut core.params);
        self.carry_out(core, step, now);
    }

    fn carry_out(&mut self, core: &mut Core, step: Step, now: Nanos) {
        match step {
            Step::Send(statement) => self.send_statement(core, statement, now),
            Step::Done => self.event_done(core, now),
            Step::Fail(why) => self.statement_failed(core, &missing_row(why), now),
        }
    }

    /// Sends the statement with the parameters in `core.params`.
    fn send_statement(&mut self, core: &mut Core, statement: StatementRef, now: Nanos) {
        let (Activity::Busy(event), Link::Open(connection)) = (&mut self.activity, &mut self.link)
        else {
            return;
        };
        event.statement = statement;
        event.sent = now;
        event.statements += 1;
        core.command.clear();
        let handle = match core.settings.protocol {
            Protocol::Text => Some(Handle::AsText),
            Protocol::Prepared if core.settings.catalogue.is_text_only(statement.kind) => {
                Some(Handle::AsText)
            }
            Protocol::Prepared => connection.handle(statement),
        };
        let expected = match handle {
            Some(Handle::Prepared { id, bound }) => {
                let bind = !bound || core.settings.catalogue.types_vary(statement.kind);
                write_execute(&mut core.command, id, core.params.iter(), bind);
                if !bound {
                    connection.remember(statement, Handle::Prepared { id, bound: true });
                }
                Expect::Execute
            }
            Some(Handle::AsText) => {
                write_text(core, statement);
                Expect::Query
            }
            None => {
                event.owed = Owed::Preparation(Box::new(core.params.clone()));
                write_preparation(core, statement);
                Expect::Prepare
            }
        };
        self.send_command(core, expected);
    }

    fn send_command(&mut self, core: &mut Core, expected: Expect) {
        let Link::Open(connection) = &mut self.link else { return };
        match connection.send(&core.command, expected) {
            Ok(sent) => core.meter.counts.bytes_out += sent as u64,
            Err(error) => self.lose(core, &Loss::from_io(&error)),
        }
    }

    fn statement_prepared(&mut self, core: &mut Core, params: Params, prepared: Prepared) {
        let id = prepared.statement_id;
        self.statement_known(core, params, Handle::Prepared { id, bound: false });
    }

    fn statement_goes_as_text(&mut self, core: &mut Core, params: Params) {
        self.statement_known(core, params, Handle::AsText);
    }

    /// Sends at last the statement that had to be prepared first.
    fn statement_known(&mut self, core: &mut Core, params: Params, handle: Handle) {
        let Activity::Busy(event) = &mut self.activity else { return };
        let Link::Open(connection) = &mut self.link else { return };
        connection.remember(event.statement, handle);
        // The statement's latency includes its preparation: this is when it was wanted.
        let (statement, wanted) = (event.statement, event.sent);
        event.statements -= 1;
        core.params = params;
        self.send_statement(core, statement, wanted);
    }

    fn statement_failed(&mut self, core: &mut Core, error: &ServerError, now: Nanos) {
        if ends_connection(error.errno) {
            return self.lose(core, &Loss::from_server(error));
        }
        let Activity::Busy(event) = &mut self.activity else { return };
        let (statement, began) = (event.statement, event.began);
        self.machine.refused(error.errno);
        core.meter.error(error.errno, self.whose(), now - began);
        let catalogue = core.settings.catalogue.clone();
        core.meter.first_error(error.errno, || FirstError {
            errno: error.errno,
            message: error.message.clone(),
            statement: Some(statement_text(&catalogue, statement)),
        });
        let roll_back = self.machine.in_transaction() && error.errno != DEADLOCK;
        self.machine.abandon();
        self.tell_entries(core);
        let restart = core.settings.restarts(error.errno);
        if restart {
            core.meter.restarted(self.member);
        } else {
            core.meter.event_failed(self.member);
            core.meter.user_failed(self.index);
            if core.settings.on_error != OnError::Continue {
                let text = statement_text(&catalogue, statement);
                core.fail(Failure::of_statement(error, text).at(self.endpoint.index));
            }
        }
        if roll_back {
            self.roll_back(core, restart, now);
        } else {
            self.rolled_back(core, restart, now);
        }
    }

    fn roll_back(&mut self, core: &mut Core, restart: bool, now: Nanos) {
        let Activity::Busy(event) = &mut self.activity else { return };
        event.owed = Owed::Rollback { restart };
        event.sent = now;
        core.command.clear();
        write_query(&mut core.command, b"ROLLBACK");
        self.send_command(core, Expect::Query);
    }

    /// The failed attempt has left no trace at the server.
    fn rolled_back(&mut self, core: &mut Core, restart: bool, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        if restart {
            let due = event.due;
            self.begin_attempt(core, due, now);
        } else {
            core.busy -= 1;
            self.renew_when_served(core);
            self.schedule(core, now);
        }
    }

    fn event_done(&mut self, core: &mut Core, now: Nanos) {
        let Activity::Busy(event) = &self.activity else { return };
        let empty = event.statements == 0;
        core.meter.event_succeeded(self.whose(), now - event.due, now - event.began);
        let response = now - event.due;
        core.meter.of_user(self.index, core.since_begin(now), response);
        self.tell_entries(core);
        for kind in self.machine.kinds() {
            core.meter.of_kind(kind, response);
        }
        core.busy -= 1;
        self.proven = true;
        self.renew_when_served(core);
        if empty {
            // An event without a statement would otherwise begin the next one from in here, and
            // one that is due now would be popped by the loop that we are in.
            self.think(core, now + Nanos(1));
        } else {
            self.schedule(core, now);
        }
    }

    /// What became of the entries of a user that keeps a ledger.
    fn tell_entries(&mut self, core: &mut Core) {
        if let Some(entries) = self.machine.take_entries() {
            core.meter.of_ledger(self.index, entries);
        }
    }

    /// The step ends with an event in flight, and nobody waits for its answer any more.
    pub(crate) fn cut_off(&mut self, core: &mut Core) {
        if matches!(self.activity, Activity::Busy(_)) {
            self.machine.abandon();
            self.tell_entries(core);
            core.meter.user_cut_off(self.index);
        }
    }

    pub(crate) fn begin_attempt(&mut self, core: &mut Core, due: Nanos, now: Nanos) {
        self.activity = Activity::Busy(Event {
            due,
            began: now,
            sent: now,
            statement: NO_STATEMENT,
            statements: 0,
            owed: Owed::Answer,
        });
        let step = self.machine.step(None, &mut core.params);
        self.carry_out(core, step, now);
    }

    /// The connection is gone, and with it the event that was in flight.
    pub(crate) fn event_lost(&mut self, core: &mut Core, loss: &Loss, now: Nanos) {
        if core.is_loading() || matches!(self.activity, Activity::Busy(_)) {
            core.meter.user_cut_off(self.index);
        }
        let Activity::Busy(event) = &self.activity else { return };
        self.machine.abandon();
        if let Some(entries) = self.machine.take_entries() {
            core.meter.of_ledger(self.index, entries);
        }
        core.meter.error(loss.errno, self.whose(), now - event.began);
        core.meter.first_error(loss.errno, || FirstError {
            errno: loss.errno,
            message: loss.message.clone(),
            statement: None,
        });
        // Rolling back an event that had failed already: it is counted.
        if !matches!(event.owed, Owed::Rollback { restart: false }) {
            core.meter.event_failed(self.member);
        }
        core.busy -= 1;
        self.schedule(core, now);
    }
}

/// CR_NO_DATA: what the field's clients say when a row is read that did not come.
const NO_DATA: u16 = 2051;

/// The server has answered, but not with what the workload's data must have.
fn missing_row(why: &str) -> ServerError {
    ServerError { errno: NO_DATA, sql_state: *b"HY000", message: why.to_owned() }
}

/// The field's rule: what was answered decides, not what was sent.
pub(crate) fn class_of(completion: &Completion) -> Class {
    if completion.has_result_set {
        Class::Read
    } else if completion.affected_rows > 0 {
        Class::Write
    } else {
        Class::Other
    }
}

fn write_text(core: &mut Core, statement: StatementRef) {
    let mark = begin_query(&mut core.command);
    core.settings.catalogue.write_text(statement, &core.params, &mut core.command);
    end(&mut core.command, mark);
}

fn write_preparation(core: &mut Core, statement: StatementRef) {
    let mut sql = Vec::new();
    core.settings.catalogue.write_prepared(statement, &mut sql);
    write_prepare(&mut core.command, &sql);
}

fn statement_text(catalogue: &loadstone_workload::Catalogue, statement: StatementRef) -> String {
    let mut sql = Vec::new();
    catalogue.write_prepared(statement, &mut sql);
    String::from_utf8_lossy(&sql).into_owned()
}
