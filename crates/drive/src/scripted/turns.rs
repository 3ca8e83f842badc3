//! The script's turns: what it asks for is begun, and what came of it is given to it.

use super::{Activity, Owed, Part, RUN, Scripted, Wanted};
use crate::coordinator::Message;
use crate::core::{Core, Stage};
use crate::endpoint::Endpoint;
use crate::loss::Loss;
use crate::plan::Protocol;
use crate::record::ScriptStage;
use crate::timers::Alarm;
use loadstone_measure::Nanos;
use loadstone_script::{Answer, Request, Wish};
use loadstone_wire::{Expect, ServerError, write_close_statement, write_prepare, write_query};
use std::sync::Arc;

/// ER_UNSUPPORTED_PS.
pub(super) const CANNOT_PREPARE: u16 = 1295;
/// CR_SERVER_GONE_ERROR.
pub(super) const GONE: u16 = 2006;

/// What the script goes on with.
pub(super) enum Given {
    /// The part that the user is in begins.
    Begin,
    /// What it asked for is done.
    Done,
    /// The results that the connection at this place has.
    Results { place: usize },
    /// An error, with the field's number.
    Refused { errno: u16, sql_state: [u8; 5], message: String },
    /// There is no next event.
    NoMore,
}

impl Given {
    pub(super) fn refusal(error: &ServerError) -> Self {
        let message = error.message.clone();
        Self::Refused { errno: error.errno, sql_state: error.sql_state, message }
    }

    pub(super) fn failure(errno: u16, message: String) -> Self {
        Self::Refused { errno, sql_state: *b"HY000", message }
    }

    pub(super) fn loss(loss: &Loss) -> Self {
        Self::failure(loss.errno, loss.message.clone())
    }
}

/// What the script asks for, when its command is written already.
enum Turn {
    Idle,
    NextEvent,
    EventOver,
    Count(u32),
    Sleep(Nanos),
    Connect(u32),
    Disconnect(u32),
    Reconnect(u32),
    Query { connection: u32, sql: String },
    Prepare { connection: u32, statement: u32, sql: String },
    Execute { connection: u32, expect: Option<Expect> },
    CloseStatement { connection: u32, statement: u32 },
}

impl Scripted {
    /// The script goes on, until it waits for something.
    pub(super) fn answer(&mut self, core: &mut Core, given: Given) {
        let mut next = Some(given);
        while let Some(given) = next {
            next = match self.turn(core, &given) {
                Ok(turn) => self.carry_out(core, turn),
                Err(error) => return self.script_failed(core, &error),
            };
        }
    }

    /// Resumes the script; what it asks for, with the command for it in `core.command`.
    fn turn(
        &mut self,
        core: &mut Core,
        given: &Given,
    ) -> Result<Turn, loadstone_script::ScriptError> {
        let Self { script, statements, channels, part, .. } = self;
        let request = match given {
            Given::Begin => script.begin(&wish(*part, core))?,
            Given::Done => script.resume(Answer::Done)?,
            Given::NoMore => script.resume(Answer::NoMore)?,
            Given::Results { place } => match channels.get(*place) {
                Some(channel) => {
                    script.resume(Answer::Results(channel.connection.reader.results()))?
                }
                None => script.resume(Answer::Done)?,
            },
            Given::Refused { errno, sql_state, message } => {
                let (errno, sql_state) = (*errno, *sql_state);
                script.resume(Answer::Refused { errno, sql_state, message })?
            }
        };
        let text = |sql: &[u8]| String::from_utf8_lossy(sql).into_owned();
        core.command.clear();
        Ok(match request {
            Request::Idle => Turn::Idle,
            Request::NextEvent => Turn::NextEvent,
            Request::EventOver => Turn::EventOver,
            Request::Count { counter } => Turn::Count(counter),
            Request::Sleep { nanos } => Turn::Sleep(Nanos(nanos)),
            Request::Connect { connection } => Turn::Connect(connection),
            Request::Disconnect { connection } => Turn::Disconnect(connection),
            Request::Reconnect { connection } => Turn::Reconnect(connection),
            Request::Query { connection, sql } => {
                write_query(&mut core.command, sql);
                Turn::Query { connection, sql: text(sql) }
            }
            Request::Prepare { connection, statement, sql } => {
                write_prepare(&mut core.command, sql);
                Turn::Prepare { connection, statement, sql: text(sql) }
            }
            Request::Execute { connection, statement, parameters } => {
                let expect = statements.write(statement, parameters, &mut core.command);
                Turn::Execute { connection, expect }
            }
            Request::CloseStatement { connection, statement } => {
                Turn::CloseStatement { connection, statement }
            }
        })
    }

    /// Begins what the script asks for. What it can have at once is given back.
    fn carry_out(&mut self, core: &mut Core, turn: Turn) -> Option<Given> {
        if let Activity::Busy { asked, .. } = &mut self.activity
            && !matches!(turn, Turn::Idle | Turn::NextEvent | Turn::EventOver | Turn::Count(_))
        {
            *asked = true;
        }
        match turn {
            Turn::Idle => self.part_over(core),
            Turn::NextEvent => self.wants_event(core),
            Turn::EventOver => {
                self.event_over(core);
                Some(Given::Done)
            }
            Turn::Count(counter) => {
                core.meter.counted_by_script(counter, self.endpoint.index);
                Some(Given::Done)
            }
            Turn::Sleep(nanos) => {
                let until = core.now() + nanos;
                self.owed = Owed::Sleep { until };
                core.timers.set(until, self.index, Alarm::Slept);
                None
            }
            Turn::Connect(number) => {
                let endpoint = self.next_endpoint();
                self.connect(core, Wanted { number, endpoint, loss: None });
                None
            }
            Turn::Disconnect(number) => {
                self.disconnect(number);
                Some(Given::Done)
            }
            Turn::Reconnect(number) => {
                let endpoint = self.disconnect(number).unwrap_or_else(|| self.next_endpoint());
                self.connect(core, Wanted { number, endpoint, loss: None });
                None
            }
            Turn::Query { connection, sql } => {
                let owed = |place, sent| Owed::Answer { place, sent, sql: Some(sql) };
                self.send(core, connection, Expect::Query, owed)
            }
            Turn::Execute { connection, expect: Some(expect) } => {
                let owed = |place, sent| Owed::Answer { place, sent, sql: None };
                self.send(core, connection, expect, owed)
            }
            Turn::Execute { expect: None, .. } => {
                Some(Given::failure(2030, "the statement is not prepared".to_owned()))
            }
            Turn::Prepare { statement, sql, .. } if core.settings.protocol == Protocol::Text => {
                self.statements.as_text(statement, &sql);
                Some(Given::Done)
            }
            Turn::Prepare { connection, statement, sql } => {
                let owed = |place, _| Owed::Preparation { place, statement, sql };
                self.send(core, connection, Expect::Prepare, owed)
            }
            Turn::CloseStatement { connection, statement } => {
                self.close_statement(core, connection, statement);
                Some(Given::Done)
            }
        }
    }

    /// Sends the command in `core.command`; the answer comes later, or there is no connection.
    fn send(
        &mut self,
        core: &mut Core,
        number: u32,
        expect: Expect,
        owed: impl FnOnce(usize, Nanos) -> Owed,
    ) -> Option<Given> {
        let Some(place) = self.channels.place_of(number) else {
            let text = "the connection to the server was lost";
            return Some(Given::failure(GONE, text.to_owned()));
        };
        let channel = self.channels.get(place)?;
        let sent = core.now();
        core.meter.counts.bytes_out += core.command.len() as u64;
        let done = channel.connection.send(&core.command, expect);
        self.owed = owed(place, sent);
        if let Err(error) = done {
            self.lose(core, place, Loss::from_io(&error));
        }
        self.watch(core, place);
        None
    }

    fn close_statement(&mut self, core: &mut Core, number: u32, statement: u32) {
        let Some(id) = self.statements.forget(statement) else { return };
        let Some(place) = self.channels.place_of(number) else { return };
        let Some(channel) = self.channels.get(place) else { return };
        write_close_statement(&mut core.command, id);
        core.meter.counts.bytes_out += core.command.len() as u64;
        if let Err(error) = channel.connection.send_more(&core.command) {
            self.lose(core, place, Loss::from_io(&error));
        }
    }

    /// Where the connection went, if there was one.
    fn disconnect(&mut self, number: u32) -> Option<Arc<Endpoint>> {
        let place = self.channels.place_of(number)?;
        let channel = self.channels.take(place)?;
        channel.connection.quit();
        Some(channel.endpoint)
    }

    /// Its own for its first connection, and then one after the other.
    fn next_endpoint(&mut self) -> Arc<Endpoint> {
        let place = (self.endpoint.index + self.asked_for) % self.endpoints.len().max(1);
        self.asked_for += 1;
        self.endpoints.get(place).unwrap_or(&self.endpoint).clone()
    }

    /// A function of the script has returned.
    pub(super) fn part_over(&mut self, core: &mut Core) -> Option<Given> {
        self.event_over(core);
        self.part = match self.part {
            Part::Outside | Part::Init => {
                core.settings.control.initialise();
                core.send(Message::Script(ScriptStage::Initialised));
                Part::ThreadInit
            }
            Part::ThreadInit => Part::ThreadRun,
            Part::ThreadRun => {
                // What says goodbye is waited for.
                core.busy += 1;
                self.connected(core);
                Part::ThreadDone
            }
            Part::ThreadDone if self.is_first => {
                self.part = Part::Parting;
                self.depart(core);
                self.look_for_others(core);
                return None;
            }
            Part::ThreadDone => {
                self.depart(core);
                self.over(core);
                return None;
            }
            Part::Parting => Part::Done,
            Part::Command | Part::Done | Part::Over => {
                self.over(core);
                return None;
            }
        };
        Some(Given::Begin)
    }

    pub(super) fn depart(&self, core: &Core) {
        let all = core.settings.script.as_ref().map_or(0, |script| script.users);
        core.settings.control.depart(all);
    }

    /// `done()` of the script is for the time when all have said goodbye.
    pub(crate) fn look_for_others(&mut self, core: &mut Core) {
        let all = core.settings.script.as_ref().map_or(0, |script| script.users);
        if self.part == Part::Parting && core.settings.control.departed() >= all {
            core.send(Message::Script(ScriptStage::Done));
            self.part = Part::Done;
            self.answer(core, Given::Begin);
        }
    }

    /// The script has nothing more to do.
    pub(super) fn over(&mut self, core: &mut Core) {
        core.busy -= 1;
        core.meter.user_gone(&self.endpoint);
        self.channels.quit();
        self.part = Part::Over;
    }

    /// The user is ready for its first event.
    pub(super) fn connected(&mut self, core: &mut Core) {
        if core.stage == Stage::Connecting && !std::mem::replace(&mut self.is_ready, true) {
            core.connected.users += 1;
            core.meter.user_up(&self.endpoint);
        }
    }
}

fn wish(part: Part, core: &Core) -> Wish {
    match part {
        Part::Command => Wish::Command(core.settings.script_command().unwrap_or(RUN).to_owned()),
        Part::Outside | Part::Init => Wish::Init,
        Part::ThreadInit => Wish::ThreadInit,
        Part::ThreadRun => Wish::ThreadRun,
        Part::ThreadDone => Wish::ThreadDone,
        Part::Parting | Part::Done | Part::Over => Wish::Done,
    }
}
