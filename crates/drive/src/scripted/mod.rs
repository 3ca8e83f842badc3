//! A virtual user that a Lua script drives: the script's coroutine asks for statements, and is resumed with
//! the server's answers.

mod connect;
mod connections;
mod requests;
mod resume;
mod schedule;
mod servers;
mod statements;
mod watchdog;

pub use servers::{ScriptCounts, Servers, ServersHandle};
pub use watchdog::Turns;
pub(crate) use watchdog::Watchdog;

use crate::connection::{
    BYTES_A_TURN, Endpoint, Loss, Opening, Ready, Received, ServerFamily, ends_connection, verdict,
};
use crate::error::{Failure, FailureKind};
use crate::metering::{ALONE, Class, Labels};
use crate::record::FirstError;
use crate::shard::{Alarm, Message, ShardContext, Stage};
use connections::Connections;
use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ErrorCode, Expect, Fault, Reply, ServerError, Verdict};
use loadstone_script::{ScriptError, User as Script};
use resume::Resume;
use statements::Statements;
use std::sync::Arc;

/// A user that a script drives, as the event loop sees it.
pub(crate) struct Scripted {
    /// Its place in the shard, and the low half of its poller tokens.
    index: u32,
    /// The first of its targets.
    endpoint: Arc<Endpoint>,
    /// All endpoints of the step: a script's connections are spread over them in turn.
    endpoints: Arc<[Arc<Endpoint>]>,
    /// How many connections its script has requested.
    asked_for: usize,
    /// The target that refused a connection last.
    blamed: usize,
    script: Script,
    /// Whether it is the engine's first user, which calls the script's `init()` and `done()`.
    is_first: bool,
    part: Part,
    activity: Activity,
    pending: Pending,
    connections: Connections,
    statements: Statements,
    /// Whether it has an unused turn from the connect queue.
    has_turn: bool,
    /// Consecutive attempts that gave no connection.
    attempt: u32,
    /// Which of the endpoint's addresses is tried.
    address: usize,
    /// Whether its last event has waited for anything.
    has_waited: bool,
    /// The event in flight was restarted.
    has_restarted: bool,
    /// Whether it is in the open loop's queue of free users.
    in_row: bool,
    /// Whether it has asked for an event and has to rest.
    rests: bool,
    /// Whether it was counted among the users that are ready for the load.
    is_ready: bool,
}

/// The part of the script that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// None yet. Next: `Load` if the file waits for a server, or else as after `Load`.
    Outside,
    /// The rest of the file, from its first statement on. Next: `Command` if there is one, `Init`
    /// for the first user, `ThreadInit` for others.
    Load,
    /// Next: `Over`.
    Command,
    /// Next: `ThreadInit`.
    Init,
    /// Next: `ThreadRun`.
    ThreadInit,
    /// Next: `ThreadDone`, when there are no more events or the script ends its loop.
    ThreadRun,
    /// Next: `Parting` for the first user, `Over` for others.
    ThreadDone,
    /// Waiting until all users have said goodbye. Next: `Done`.
    Parting,
    /// Next: `Over`.
    Done,
    Over,
}

/// What the user is doing, apart from its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// No event is due.
    Resting,
    /// Its next event is due later.
    Thinking { due: Nanos },
    /// An event is in flight.
    Busy { due: Nanos, began: Nanos, asked: bool },
}

/// What the script waits for.
enum Pending {
    /// An event, or the end.
    Nothing,
    /// A sleep.
    Sleep { until: Nanos },
    /// A connection: its turn to connect, or the time to try again.
    Turn(Wanted),
    /// A connection that is being opened.
    Opening { wanted: Wanted, place: usize, opening: Box<Opening> },
    /// The answer to a statement.
    Answer { place: usize, sent: Nanos, sql: Option<String> },
    /// A statement's preparation, with the script's numbers of its connection and of itself.
    Preparation { place: usize, sent: Nanos, connection: u32, statement: u32, sql: String },
    /// The answer to the ROLLBACK after an error, of which the script learns then.
    Rollback { place: usize, error: Box<ServerError> },
}

/// A connection that the script requests or has lost.
struct Wanted {
    /// The script's connection number.
    number: u32,
    /// Where to connect.
    endpoint: Arc<Endpoint>,
    /// The error that the script gets once it is connected again.
    loss: Option<Loss>,
}

impl Scripted {
    pub(crate) fn new(
        index: u32,
        endpoint: Arc<Endpoint>,
        endpoints: Arc<[Arc<Endpoint>]>,
        script: Script,
        is_first: bool,
    ) -> Self {
        let dialect = endpoint.family.dialect();
        Self {
            index,
            blamed: endpoint.index,
            endpoint,
            endpoints,
            asked_for: 0,
            is_first,
            script,
            part: Part::Outside,
            activity: Activity::Resting,
            pending: Pending::Nothing,
            connections: Connections::default(),
            statements: Statements::new(dialect),
            has_turn: false,
            attempt: 0,
            address: 0,
            has_waited: true,
            has_restarted: false,
            in_row: false,
            rests: false,
            is_ready: false,
        }
    }

    /// A socket of this user is ready.
    pub(crate) fn on_ready(&mut self, shard: &mut ShardContext, buffer: &mut [u8], ready: Ready) {
        let at = (ready.token >> 32) as usize;
        match &self.pending {
            Pending::Opening { place, .. } if *place == at => self.go_on_opening(shard, buffer),
            _ => {
                if ready.writable
                    && let Some(open) = self.connections.get(at)
                    && let Err(error) = open.connection.flush()
                {
                    self.lose(shard, at, Loss::from_io(self.family(), &error));
                    return;
                }
                if self.connections.get(at).is_some_and(|open| open.connection.begins_turn(ready)) {
                    self.receive(shard, buffer, at);
                }
            }
        }
        self.watch(shard, at);
    }

    pub(crate) fn on_alarm(&mut self, shard: &mut ShardContext, alarm: Alarm, now: Nanos) {
        match (alarm, &self.activity, &self.pending) {
            (Alarm::Due, Activity::Thinking { due }, _) if *due <= now => {
                let due = *due;
                self.has_thought(shard, due, now);
            }
            (Alarm::Slept, _, Pending::Sleep { until }) if *until <= now => {
                self.pending = Pending::Nothing;
                self.answer(shard, Resume::Done);
            }
            (Alarm::Retry, _, Pending::Turn(_)) => shard.connect_queue.enqueue(self.index),
            (Alarm::ConnectTimeout, _, Pending::Opening { opening, .. })
                if opening.deadline <= now =>
            {
                self.connect_timed_out(shard);
            }
            _ => {}
        }
    }

    /// It is this user's turn to connect.
    pub(crate) fn open(&mut self, shard: &mut ShardContext) {
        self.has_turn = true;
        if self.part == Part::Outside {
            self.begin_script(shard);
        } else if let Pending::Turn(wanted) = std::mem::replace(&mut self.pending, Pending::Nothing)
        {
            self.begin_opening(shard, wanted);
        }
        if !matches!(self.pending, Pending::Opening { .. } | Pending::Turn(_)) {
            self.give_turn_back(shard);
        }
    }

    fn begin_script(&mut self, shard: &mut ShardContext) {
        let first = self.first_part(shard);
        self.part = if self.script.is_loading() { Part::Load } else { first };
        if first == Part::Command {
            // Whether it connects is its own affair: nobody waits for that.
            shard.busy += 1;
            self.connected(shard);
        }
        self.answer(shard, Resume::Begin);
    }

    /// The first part of a loaded script.
    fn first_part(&self, shard: &ShardContext) -> Part {
        match shard.settings.script_command() {
            Some(_) => Part::Command,
            None if self.is_first => Part::Init,
            None => Part::ThreadInit,
        }
    }

    /// Whether it runs a command, or loads its file for that.
    fn is_of_command(&self, shard: &ShardContext) -> bool {
        matches!(self.part, Part::Command | Part::Load) && self.first_part(shard) == Part::Command
    }

    /// The load is over: the script ends its work. An event in flight is finished first; a command
    /// is aborted.
    pub(crate) fn finish(&mut self, shard: &mut ShardContext) {
        if self.is_of_command(shard) {
            self.over(shard);
        }
        // A script that waits for an answer outside of an event learns it when it requests the next
        // one.
        let may_be_told = matches!(self.pending, Pending::Nothing | Pending::Sleep { .. });
        if self.part == Part::ThreadRun
            && may_be_told
            && matches!(self.activity, Activity::Resting | Activity::Thinking { .. })
        {
            // The alarm of an interrupted sleep will find nothing to end.
            self.pending = Pending::Nothing;
            self.activity = Activity::Resting;
            self.answer(shard, Resume::NoMore);
        }
    }

    /// Says goodbye to the server.
    pub(crate) fn close(&mut self, shard: &mut ShardContext) {
        self.give_turn_back(shard);
        self.connections.quit();
    }

    /// Whether an event of this user is due or in flight.
    pub(crate) fn has_event(&self) -> bool {
        matches!(self.activity, Activity::Busy { .. })
    }

    /// Whether this user's part comes before that of all others.
    pub(crate) fn goes_first(&self) -> bool {
        self.is_first
    }

    /// Whether its script has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.part == Part::Over
    }

    fn give_turn_back(&mut self, shard: &mut ShardContext) {
        if std::mem::take(&mut self.has_turn) {
            shard.connect_queue.finished();
        }
    }

    fn token(&self, place: usize) -> u64 {
        u64::from(self.index) | (place as u64) << 32
    }

    /// Reads what has arrived, at most a turn's share; see [`User::receive`](crate::user::User).
    fn receive(&mut self, shard: &mut ShardContext, buffer: &mut [u8], place: usize) {
        let mut left = BYTES_A_TURN;
        while left > 0 {
            let Some(open) = self.connections.get(place) else { return };
            match open.connection.receive(buffer) {
                Ok(Received::Nothing) => return,
                Ok(Received::Bytes { count, wire, more }) => {
                    shard.meter.counts.bytes_in += wire as u64;
                    left = left.saturating_sub(count.max(wire));
                    let goes_on = more || open.connection.has_ended;
                    self.take_bytes(shard, place, buffer.get(..count).unwrap_or_default());
                    if !goes_on {
                        return;
                    }
                }
                Ok(Received::End) => return self.lose(shard, place, Loss::closed(self.family())),
                Err(error) => return self.lose(shard, place, Loss::from_io(self.family(), &error)),
            }
        }
        if let Some(open) = self.connections.get(place) {
            open.connection.leaves_rest();
            shard.again.push(self.token(place));
        }
    }

    fn take_bytes(&mut self, shard: &mut ShardContext, place: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(open) = self.connections.get(place) else { return };
            match open.connection.feed(bytes) {
                Ok((consumed, reply)) => {
                    bytes = bytes.get(consumed..).unwrap_or_default();
                    if let Some(reply) = reply {
                        self.on_reply(shard, place, reply);
                    }
                }
                Err(error) => return self.lose(shard, place, Loss::from_protocol(&error)),
            }
        }
    }

    fn on_reply(&mut self, shard: &mut ShardContext, place: usize, reply: Reply) {
        let now = shard.now();
        if let Pending::Answer { sent, .. } | Pending::Preparation { sent, .. } = self.pending {
            shard.count_queued(sent, now);
        }
        if let Reply::Failed(error) = &reply
            && ends_connection(error.code)
        {
            // The error that sysbench's client library reports, and that scripts look for.
            let code = self.family().code_of(Fault::ConnectionLost);
            return self.lose(shard, place, Loss::new(code, error.message.clone()));
        }
        match (std::mem::replace(&mut self.pending, Pending::Nothing), reply) {
            (Pending::Answer { sent, .. }, Reply::Done(completion)) => {
                self.count_statement(shard, place, &completion, now - sent);
                self.answer(shard, Resume::Results { place });
            }
            (Pending::Answer { sql, .. }, Reply::Failed(error)) => {
                self.refused(shard, place, &error, sql);
                self.answer_refusal(shard, place, error);
            }
            (Pending::Preparation { connection, statement, .. }, Reply::Prepared(prepared)) => {
                self.statements.prepared(connection, statement, prepared.statement_id);
                self.answer(shard, Resume::Done);
            }
            (Pending::Preparation { connection, statement, sql, .. }, Reply::Failed(error))
                if verdict(error.code) == Verdict::CannotPrepare =>
            {
                self.statements.as_text(connection, statement, &sql);
                self.answer(shard, Resume::Done);
            }
            (Pending::Preparation { sql, .. }, Reply::Failed(error)) => {
                let (code, target) = (error.code, self.target_at(place));
                self.count_error(shard, target, code, |_| FirstError {
                    code,
                    message: error.message.clone(),
                    statement: Some(sql),
                    preparing: true,
                    prepared: false,
                    position: error.position,
                    target: None,
                });
                self.answer(shard, Resume::refusal(&error));
            }
            (Pending::Rollback { error, .. }, Reply::Done(_) | Reply::Failed(_)) => {
                self.answer(shard, Resume::refusal(&error));
            }
            (pending, _) => {
                self.pending = pending;
                self.lose(shard, place, Loss::out_of_turn(self.family()));
            }
        }
    }

    fn count_statement(
        &mut self,
        shard: &mut ShardContext,
        place: usize,
        completion: &Completion,
        latency: Nanos,
    ) {
        let target = self.target_at(place);
        let labels = Labels::of_target(target);
        shard.meter.statement(Class::of(completion), labels, latency);
    }

    /// The family of its servers.
    fn family(&self) -> ServerFamily {
        self.endpoint.family
    }

    /// The target of the connection at this place.
    fn target_at(&mut self, place: usize) -> usize {
        self.connections.get(place).map_or(self.endpoint.index, |open| open.endpoint.index)
    }

    /// The server has refused to execute a statement.
    fn refused(
        &mut self,
        shard: &mut ShardContext,
        place: usize,
        error: &ServerError,
        statement: Option<String>,
    ) {
        let (code, target) = (error.code, self.target_at(place));
        let prepared = statement.is_none();
        self.count_error(shard, target, code, |script| FirstError {
            code,
            message: error.message.clone(),
            statement: statement.or_else(|| script.executing()),
            preparing: false,
            prepared,
            position: None,
            target: None,
        });
        if shard.settings.ignores(error.code) && self.has_event() {
            shard.meter.restarted(ALONE);
            self.has_restarted = true;
        }
    }

    /// Tells the script of the error of what it executed, after a ROLLBACK where sysbench's driver sends one. That is
    /// no statement of the script's, and is not counted.
    fn answer_refusal(&mut self, shard: &mut ShardContext, place: usize, error: Box<ServerError>) {
        let rolls_back = self.family().scripts_roll_back_after(error.code);
        let Some(open) = self.connections.get(place).filter(|_| rolls_back) else {
            return self.answer(shard, Resume::refusal(&error));
        };
        let (number, conversation) = (open.number, &open.connection.conversation);
        shard.command.clear();
        conversation.write_query(&mut shard.command, conversation.rollback());
        let pending = |place, _| Pending::Rollback { place, error };
        if let Some(resume) = self.send(shard, number, Expect::Query, pending) {
            self.answer(shard, resume);
        }
    }

    fn count_error(
        &self,
        shard: &mut ShardContext,
        target: usize,
        code: ErrorCode,
        describe: impl FnOnce(&Script) -> FirstError,
    ) {
        let now = shard.now();
        let began = match self.activity {
            Activity::Busy { began, .. } => began,
            _ => now,
        };
        shard.meter.error(code, Labels::of_target(target), now - began);
        Self::tell_first(shard, code, || describe(&self.script));
    }

    fn tell_first(
        shard: &mut ShardContext,
        code: ErrorCode,
        describe: impl FnOnce() -> FirstError,
    ) {
        let is_new = shard.meter.sees_first(code);
        if shard.settings.tells_each(code) {
            shard.send(Message::Told(describe()));
        } else if is_new {
            shard.send(Message::Refused(describe()));
        }
    }

    /// The script cannot continue, so the step cannot either, unless the measured part is over.
    fn script_failed(&mut self, shard: &mut ShardContext, error: &ScriptError) {
        let says_goodbye = matches!(self.part, Part::ThreadDone | Part::Done);
        if says_goodbye && matches!(error, ScriptError::Hook { .. }) {
            shard.send(Message::Complaint(error.to_string()));
            if let Some(resume) = self.part_over(shard) {
                self.answer(shard, resume);
            }
            return;
        }
        let waited_for = says_goodbye || self.is_of_command(shard);
        self.part = Part::Over;
        // Nobody waits for it any more.
        self.depart(shard);
        if waited_for {
            shard.user_is_free();
        }
        if let Activity::Busy { .. } = self.activity {
            self.count_retried(shard);
            shard.meter.event_failed(ALONE);
            shard.user_is_free();
            self.activity = Activity::Resting;
        }
        shard.fail(Failure::new(FailureKind::Script, None, error.to_string()).at(self.blamed));
    }

    /// Updates what the poller watches the socket for, if that has changed.
    fn watch(&mut self, shard: &mut ShardContext, place: usize) {
        let token = self.token(place);
        let (fd, registered, wanted) = match &mut self.pending {
            Pending::Opening { place: at, opening, .. } if *at == place => {
                let wanted = opening.wanted_interest();
                let registered = std::mem::replace(&mut opening.interest, wanted);
                (opening.fd(), registered, wanted)
            }
            _ => {
                let Some(open) = self.connections.get(place) else { return };
                let wanted = open.connection.wanted_interest();
                let registered = std::mem::replace(&mut open.connection.interest, wanted);
                (open.connection.fd(), registered, wanted)
            }
        };
        if registered != wanted
            && let Err(error) = shard.poller.modify(fd, token, wanted)
        {
            self.lose(shard, place, Loss::from_io(self.family(), &error));
        }
    }

    /// Whether there is a load, or will be: a lost connection is worth reopening.
    fn may_connect(shard: &ShardContext) -> bool {
        matches!(shard.stage, Stage::Connecting | Stage::Loading)
    }
}
