//! A virtual user that a script drives: its coroutine asks, and this answers it with what the server
//! says.

mod channels;
mod connecting;
mod pacing;
mod plan;
mod servers;
mod statements;
mod turns;
mod watchdog;

use crate::coordinator::Message;
use crate::core::{Core, Stage};
use crate::endpoint::Endpoint;
use crate::error::{Failure, FailureKind};
use crate::loss::{Loss, ends_connection};
use crate::meter::{ALONE, Whose};
use crate::opening::Opening;
use crate::poller::Ready;
use crate::record::FirstError;
use crate::timers::Alarm;
use crate::transport::Received;
use channels::Channels;
use loadstone_measure::Nanos;
use loadstone_script::{ScriptError, User as Script};
use loadstone_wire::{Completion, Reply, ServerError};
pub(crate) use plan::RUN;
pub use plan::{GeneralOption, ScriptSpec};
pub use servers::{Servers, ServersHandle};
use statements::Statements;
use std::sync::Arc;
use turns::Given;
pub(crate) use watchdog::Watchdog;

/// CR_SERVER_LOST.
const LOST: u16 = 2013;
/// What the rows of one answer may take, in bytes: a script that reads more is not a workload.
const MOST_ROW_BYTES: usize = 64 << 20;

pub(crate) struct Scripted {
    /// Its place in the shard, and the low half of its tokens at the poller.
    index: u32,
    /// The first of its targets.
    endpoint: Arc<Endpoint>,
    /// All of the step's: a script's connections go to one after the other.
    endpoints: Arc<[Arc<Endpoint>]>,
    /// How many connections its script has asked for.
    asked_for: usize,
    /// The target that refused a connection last.
    blamed: usize,
    script: Script,
    /// The first of all users: `init()` and `done()` of the script are its to call.
    is_first: bool,
    part: Part,
    activity: Activity,
    owed: Owed,
    channels: Channels,
    statements: Statements,
    /// Whether the ramp has given it a turn that is not used up.
    has_turn: bool,
    /// Attempts in a row that gave no connection.
    attempt: u32,
    /// Which of the endpoint's addresses is tried.
    address: usize,
    /// Whether its last event has waited for anything.
    has_waited: bool,
    /// Whether it stands in the open loop's row of free users.
    in_row: bool,
    /// Whether it has asked for an event and was told to rest.
    rests: bool,
    /// Whether it was counted among those that are ready for the load.
    is_ready: bool,
}

/// Which part of the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// None yet. Next: `Command` where that is wanted, `Init` for the first user, `ThreadInit` for others.
    Outside,
    /// Next: `Over`.
    Command,
    /// Next: `ThreadInit`.
    Init,
    /// Next: `ThreadRun`.
    ThreadInit,
    /// Next: `ThreadDone`, when there are no more events or the script says so.
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
enum Owed {
    /// An event, or the end.
    Nothing,
    /// Time to pass.
    Sleep { until: Nanos },
    /// A connection: the ramp's turn, or the time to try again.
    Turn(Wanted),
    /// A connection that is being opened.
    Opening { wanted: Wanted, place: usize, opening: Box<Opening> },
    /// The answer to a statement.
    Answer { place: usize, sent: Nanos, sql: Option<String> },
    /// A statement to be known.
    Preparation { place: usize, statement: u32, sql: String },
}

/// A connection that the script asks for, or has lost.
struct Wanted {
    /// The script's number of it.
    number: u32,
    /// Where.
    endpoint: Arc<Endpoint>,
    /// What the script is told when it is there.
    loss: Option<Loss>,
}

impl Scripted {
    pub(crate) fn new(
        index: u32,
        endpoint: Arc<Endpoint>,
        endpoints: Arc<[Arc<Endpoint>]>,
        script: Script,
    ) -> Self {
        Self {
            index,
            blamed: endpoint.index,
            endpoint,
            endpoints,
            asked_for: 0,
            is_first: script.number() == 0,
            script,
            part: Part::Outside,
            activity: Activity::Resting,
            owed: Owed::Nothing,
            channels: Channels::default(),
            statements: Statements::default(),
            has_turn: false,
            attempt: 0,
            address: 0,
            has_waited: true,
            in_row: false,
            rests: false,
            is_ready: false,
        }
    }

    /// A socket of this user is ready.
    pub(crate) fn on_ready(&mut self, core: &mut Core, buffer: &mut [u8], ready: Ready) {
        let at = (ready.token >> 32) as usize;
        match &self.owed {
            Owed::Opening { place, .. } if *place == at => self.go_on_opening(core, buffer),
            _ => {
                if ready.writable
                    && let Some(channel) = self.channels.get(at)
                    && let Err(error) = channel.connection.flush()
                {
                    self.lose(core, at, Loss::from_io(&error));
                    return;
                }
                self.receive(core, buffer, at, ready.ended);
            }
        }
        self.watch(core, at);
    }

    pub(crate) fn on_alarm(&mut self, core: &mut Core, alarm: Alarm, now: Nanos) {
        match (alarm, &self.activity, &self.owed) {
            (Alarm::Due, Activity::Thinking { due }, _) if *due <= now => {
                let due = *due;
                self.has_thought(core, due, now);
            }
            (Alarm::Slept, _, Owed::Sleep { until }) if *until <= now => {
                self.owed = Owed::Nothing;
                self.answer(core, Given::Done);
            }
            (Alarm::Retry, _, Owed::Turn(_)) => core.ramp.enqueue(self.index),
            (Alarm::ConnectTimeout, _, Owed::Opening { opening, .. })
                if opening.deadline <= now =>
            {
                self.connect_timed_out(core);
            }
            _ => {}
        }
    }

    /// The ramp's turn.
    pub(crate) fn open(&mut self, core: &mut Core) {
        self.has_turn = true;
        if self.part == Part::Outside {
            self.begin_script(core);
        } else if let Owed::Turn(wanted) = std::mem::replace(&mut self.owed, Owed::Nothing) {
            self.begin_opening(core, wanted);
        }
        if !matches!(self.owed, Owed::Opening { .. } | Owed::Turn(_)) {
            self.give_turn_back(core);
        }
    }

    fn begin_script(&mut self, core: &mut Core) {
        self.part = match core.settings.script_command() {
            Some(_) => Part::Command,
            None if self.is_first => Part::Init,
            None => Part::ThreadInit,
        };
        if self.part == Part::Command {
            // Whether it connects is its own affair: nobody waits for that.
            core.busy += 1;
            self.connected(core);
        }
        self.answer(core, Given::Begin);
    }

    /// The load is over: the script says goodbye. An event that is in flight is finished first; a
    /// command is broken off.
    pub(crate) fn finish(&mut self, core: &mut Core) {
        if self.part == Part::Command {
            self.over(core);
        }
        // Who waits for an answer outside of an event is told when the script asks for the next one.
        let may_be_told = matches!(self.owed, Owed::Nothing | Owed::Sleep { .. });
        if self.part == Part::ThreadRun
            && may_be_told
            && matches!(self.activity, Activity::Resting | Activity::Thinking { .. })
        {
            // The alarm of a sleep that is cut short finds nothing that is owed.
            self.owed = Owed::Nothing;
            self.activity = Activity::Resting;
            self.answer(core, Given::NoMore);
        }
    }

    /// Says goodbye to the server.
    pub(crate) fn close(&mut self, core: &mut Core) {
        self.give_turn_back(core);
        self.channels.quit();
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

    fn give_turn_back(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.has_turn) {
            core.ramp.finished();
        }
    }

    fn token(&self, place: usize) -> u64 {
        u64::from(self.index) | (place as u64) << 32
    }

    fn receive(&mut self, core: &mut Core, buffer: &mut [u8], place: usize, ended: bool) {
        loop {
            let Some(channel) = self.channels.get(place) else { return };
            match channel.connection.receive(buffer) {
                Ok(Received::Nothing) => return,
                Ok(Received::Bytes { count, wire, more }) => {
                    core.meter.counts.bytes_in += wire as u64;
                    self.take_bytes(core, place, buffer.get(..count).unwrap_or_default());
                    if !more && !ended {
                        return;
                    }
                }
                Ok(Received::End) => return self.lose(core, place, Loss::closed()),
                Err(error) => return self.lose(core, place, Loss::from_io(&error)),
            }
        }
    }

    fn take_bytes(&mut self, core: &mut Core, place: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(channel) = self.channels.get(place) else { return };
            match channel.connection.reader.feed(bytes) {
                Ok((consumed, reply)) => {
                    bytes = bytes.get(consumed..).unwrap_or_default();
                    if let Some(reply) = reply {
                        self.on_reply(core, place, reply);
                    }
                }
                Err(error) => return self.lose(core, place, Loss::from_wire(&error)),
            }
        }
    }

    fn on_reply(&mut self, core: &mut Core, place: usize, reply: Reply) {
        let now = core.now();
        core.meter.held(now - core.woken);
        if let Reply::Failed(error) = &reply
            && ends_connection(error.errno)
        {
            // What a client of the field hears then, and what scripts look for.
            return self.lose(core, place, Loss { errno: LOST, message: error.message.clone() });
        }
        match (std::mem::replace(&mut self.owed, Owed::Nothing), reply) {
            (Owed::Answer { sent, .. }, Reply::Done(completion)) => {
                self.count_statement(core, place, &completion, now - sent);
                self.answer(core, Given::Results { place });
            }
            (Owed::Answer { sql, .. }, Reply::Failed(error)) => {
                self.refused(core, place, &error, sql);
            }
            (Owed::Preparation { statement, .. }, Reply::Prepared(prepared)) => {
                self.statements.prepared(statement, prepared.statement_id);
                self.answer(core, Given::Done);
            }
            (Owed::Preparation { statement, sql, .. }, Reply::Failed(error))
                if error.errno == turns::CANNOT_PREPARE =>
            {
                self.statements.as_text(statement, &sql);
                self.answer(core, Given::Done);
            }
            (Owed::Preparation { sql, .. }, Reply::Failed(error)) => {
                self.refused(core, place, &error, Some(sql));
            }
            (owed, _) => {
                self.owed = owed;
                self.lose(core, place, Loss::garbled("an answer to something else".to_owned()));
            }
        }
    }

    fn count_statement(
        &mut self,
        core: &mut Core,
        place: usize,
        completion: &Completion,
        latency: Nanos,
    ) {
        let target = self.target_at(place);
        let whose = Whose::of_target(target);
        core.meter.statement(crate::user::class_of(completion), whose, latency);
    }

    /// Where the connection at this place goes.
    fn target_at(&mut self, place: usize) -> usize {
        self.channels.get(place).map_or(self.endpoint.index, |channel| channel.endpoint.index)
    }

    /// The server has refused a statement; the script hears of it.
    fn refused(
        &mut self,
        core: &mut Core,
        place: usize,
        error: &ServerError,
        statement: Option<String>,
    ) {
        let target = self.target_at(place);
        let (errno, message) = (error.errno, error.message.clone());
        self.count_error(core, target, FirstError { errno, message, statement });
        if core.settings.ignores(error.errno) && self.has_event() {
            core.meter.restarted(ALONE);
        }
        self.answer(core, Given::refusal(error));
    }

    fn count_error(&mut self, core: &mut Core, target: usize, error: FirstError) {
        let now = core.now();
        let began = match self.activity {
            Activity::Busy { began, .. } => began,
            _ => now,
        };
        core.meter.error(error.errno, Whose::of_target(target), now - began);
        Self::tell_first(core, error);
    }

    fn tell_first(core: &mut Core, error: FirstError) {
        if core.meter.sees_first(error.errno) {
            core.send(Message::Refused(error));
        }
    }

    /// The script cannot go on, and so the step cannot, unless all that was to be measured is over.
    fn script_failed(&mut self, core: &mut Core, error: &ScriptError) {
        let says_goodbye = matches!(self.part, Part::ThreadDone | Part::Done);
        if says_goodbye && matches!(error, ScriptError::Hook { .. }) {
            core.send(Message::Complaint(error.to_string()));
            if let Some(given) = self.part_over(core) {
                self.answer(core, given);
            }
            return;
        }
        let waited_for = says_goodbye || self.part == Part::Command;
        self.part = Part::Over;
        // Nobody waits for its goodbye.
        self.depart(core);
        core.busy -= u64::from(waited_for);
        if let Activity::Busy { .. } = self.activity {
            core.meter.event_failed(ALONE);
            core.busy -= 1;
            self.activity = Activity::Resting;
        }
        core.fail(Failure::new(FailureKind::Script, None, error.to_string()).at(self.blamed));
    }

    /// Tells the poller what the socket is waited for, where that has changed.
    fn watch(&mut self, core: &mut Core, place: usize) {
        let token = self.token(place);
        let (fd, registered, wanted) = match &mut self.owed {
            Owed::Opening { place: at, opening, .. } if *at == place => {
                let wanted = opening.wanted_interest();
                let registered = std::mem::replace(&mut opening.interest, wanted);
                (opening.fd(), registered, wanted)
            }
            _ => {
                let Some(channel) = self.channels.get(place) else { return };
                let wanted = channel.connection.wanted_interest();
                let registered = std::mem::replace(&mut channel.connection.interest, wanted);
                (channel.connection.fd(), registered, wanted)
            }
        };
        if registered != wanted
            && let Err(error) = core.poller.modify(fd, token, wanted)
        {
            self.lose(core, place, Loss::from_io(&error));
        }
    }

    /// Whether there is a load, or will be: a lost connection is worth opening again.
    fn may_connect(core: &Core) -> bool {
        matches!(core.stage, Stage::Connecting | Stage::Loading)
    }
}
