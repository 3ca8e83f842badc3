//! The requests of a script: each starts here, and the script is resumed with the result.

use super::resume::Resume;
use super::{Activity, Part, Pending, Scripted, Wanted};
use crate::connection::{Endpoint, Loss};
use crate::plan::{Protocol, RUN};
use crate::record::ScriptStage;
use crate::shard::{Alarm, Message, ShardContext, Stage};
use loadstone_measure::Nanos;
use loadstone_protocol::{Expect, Fault};
use loadstone_script::{Answer, Request, Wish};
use std::sync::Arc;

/// What the script requests, with its command already encoded.
enum Action {
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
    /// Resumes the script until it waits for something.
    pub(super) fn answer(&mut self, shard: &mut ShardContext, resume: Resume) {
        let mut next = Some(resume);
        while let Some(resume) = next {
            next = match self.next_action(shard, &resume) {
                Ok(action) => self.perform(shard, action),
                Err(error) => return self.script_failed(shard, &error),
            };
        }
    }

    /// Resumes the script; returns its next request, with the command for it in `shard.command`.
    fn next_action(
        &mut self,
        shard: &mut ShardContext,
        resume: &Resume,
    ) -> Result<Action, loadstone_script::ScriptError> {
        let Self { script, statements, connections, part, .. } = self;
        let request = match resume {
            Resume::Begin if *part == Part::Load => script.go_on_loading(),
            Resume::Begin => script.begin(&wish(*part, shard))?,
            Resume::Done => script.resume(Answer::Done)?,
            Resume::NoMore => script.resume(Answer::NoMore)?,
            Resume::Results { place } => match connections.get(*place) {
                Some(open) => {
                    script.resume(Answer::Results(open.connection.conversation.results()))?
                }
                None => script.resume(Answer::Done)?,
            },
            Resume::Refused { code, sql_state, message } => {
                let (code, sql_state) = (code.code, *sql_state);
                script.resume(Answer::Refused { code, sql_state, message })?
            }
        };
        let text = |sql: &[u8]| String::from_utf8_lossy(sql).into_owned();
        shard.command.clear();
        Ok(match request {
            Request::Idle => Action::Idle,
            Request::NextEvent => Action::NextEvent,
            Request::EventOver => Action::EventOver,
            Request::Count { counter } => Action::Count(counter),
            Request::Sleep { nanos } => Action::Sleep(Nanos(nanos)),
            Request::Connect { connection } => Action::Connect(connection),
            Request::Disconnect { connection } => Action::Disconnect(connection),
            Request::Reconnect { connection } => Action::Reconnect(connection),
            Request::Query { connection, sql } => {
                if let Some(conversation) = connections.conversation(connection) {
                    conversation.write_query(&mut shard.command, sql);
                }
                Action::Query { connection, sql: text(sql) }
            }
            Request::Prepare { connection, statement, sql, parameters } => {
                if let Some(conversation) = connections.conversation_mut(connection) {
                    let sql = statements.preparable(sql);
                    conversation.write_prepare_for(&mut shard.command, &sql, parameters.iter());
                }
                Action::Prepare { connection, statement, sql: text(sql) }
            }
            Request::Execute { connection, statement, parameters } => {
                let conversation = connections.conversation(connection);
                let out = &mut shard.command;
                let expect = statements.write(statement, parameters, conversation, out);
                Action::Execute { connection, expect }
            }
            Request::CloseStatement { connection, statement } => {
                Action::CloseStatement { connection, statement }
            }
        })
    }

    /// Starts what the script requests. Returns the result if it is available at once.
    fn perform(&mut self, shard: &mut ShardContext, action: Action) -> Option<Resume> {
        if let Activity::Busy { asked, .. } = &mut self.activity
            && !matches!(
                action,
                Action::Idle | Action::NextEvent | Action::EventOver | Action::Count(_)
            )
        {
            *asked = true;
        }
        match action {
            Action::Idle => self.part_over(shard),
            Action::NextEvent => self.wants_event(shard),
            Action::EventOver => {
                self.event_over(shard);
                Some(Resume::Done)
            }
            Action::Count(counter) => {
                shard.meter.counted_by_script(counter, self.endpoint.index);
                Some(Resume::Done)
            }
            Action::Sleep(nanos) => {
                let until = shard.now() + nanos;
                self.pending = Pending::Sleep { until };
                shard.timers.set(until, self.index, Alarm::Slept);
                None
            }
            Action::Connect(number) => {
                let endpoint = self.next_endpoint();
                self.connect(shard, Wanted { number, endpoint, loss: None });
                None
            }
            Action::Disconnect(number) => {
                self.disconnect(shard, number);
                Some(Resume::Done)
            }
            Action::Reconnect(number) => {
                let endpoint =
                    self.disconnect(shard, number).unwrap_or_else(|| self.next_endpoint());
                self.connect(shard, Wanted { number, endpoint, loss: None });
                None
            }
            Action::Query { connection, sql } => {
                let pending = |place, sent| Pending::Answer { place, sent, sql: Some(sql) };
                self.send(shard, connection, Expect::Query, pending)
            }
            Action::Execute { connection, expect: Some(expect) } => {
                let pending = |place, sent| Pending::Answer { place, sent, sql: None };
                self.send(shard, connection, expect, pending)
            }
            Action::Execute { expect: None, .. } => {
                let code = self.family().code_of(Fault::NotPrepared);
                Some(Resume::failure(code, "the statement is not prepared".to_owned()))
            }
            Action::Prepare { connection, statement, sql } => {
                self.prepare(shard, connection, statement, sql)
            }
            Action::CloseStatement { connection, statement } => {
                self.close_statement(shard, connection, statement);
                Some(Resume::Done)
            }
        }
    }

    /// Sends the command in `shard.command`; the answer comes later, unless there is no connection.
    pub(super) fn send(
        &mut self,
        shard: &mut ShardContext,
        number: u32,
        expect: Expect,
        pending: impl FnOnce(usize, Nanos) -> Pending,
    ) -> Option<Resume> {
        if let Some(lost) = self.connections.take_lost(number) {
            let wanted = pending(usize::MAX, shard.now());
            return self.meet_loss(shard, lost, wanted);
        }
        let Some(place) = self.connections.place_of(number) else {
            let text = "the connection to the server was lost";
            let code = self.family().code_of(Fault::ConnectionGone);
            return Some(Resume::failure(code, text.to_owned()));
        };
        let open = self.connections.get(place)?;
        let sent = shard.now();
        shard.meter.counts.bytes_out += shard.command.len() as u64;
        let done = open.connection.send(&shard.command, expect);
        self.pending = pending(place, sent);
        if let Err(error) = done {
            self.lose(shard, place, Loss::from_io(self.family(), &error));
        }
        self.watch(shard, place);
        None
    }

    fn prepare(
        &mut self,
        shard: &mut ShardContext,
        connection: u32,
        statement: u32,
        sql: String,
    ) -> Option<Resume> {
        if shard.settings.protocol == Protocol::Text {
            self.statements.as_text(connection, statement, &sql);
            return Some(Resume::Done);
        }
        let pending =
            |place, sent| Pending::Preparation { place, sent, connection, statement, sql };
        self.send(shard, connection, Expect::Prepare, pending)
    }

    fn close_statement(&mut self, shard: &mut ShardContext, number: u32, statement: u32) {
        let Some(id) = self.statements.forget(statement) else { return };
        let Some(place) = self.connections.place_of(number) else { return };
        let Some(open) = self.connections.get(place) else { return };
        open.connection.conversation.write_close_statement(&mut shard.command, id);
        shard.meter.counts.bytes_out += shard.command.len() as u64;
        if let Err(error) = open.connection.send_more(&shard.command) {
            self.lose(shard, place, Loss::from_io(self.family(), &error));
        }
    }

    /// Where the connection went, if there was one.
    fn disconnect(&mut self, shard: &mut ShardContext, number: u32) -> Option<Arc<Endpoint>> {
        self.statements.forget_all(number);
        if let Some(lost) = self.connections.take_lost(number) {
            return Some(lost.endpoint);
        }
        let place = self.connections.place_of(number)?;
        let open = self.connections.take(place)?;
        shard.farewells.add(&shard.poller, open.connection);
        Some(open.endpoint)
    }

    /// The user's own endpoint for its first connection, and then the others in turn.
    fn next_endpoint(&mut self) -> Arc<Endpoint> {
        let place = (self.endpoint.index + self.asked_for) % self.endpoints.len().max(1);
        self.asked_for += 1;
        self.endpoints.get(place).unwrap_or(&self.endpoint).clone()
    }

    /// A function of the script has returned.
    pub(super) fn part_over(&mut self, shard: &mut ShardContext) -> Option<Resume> {
        self.event_over(shard);
        self.part = match self.part {
            Part::Load => self.first_part(shard),
            Part::Outside | Part::Init => {
                shard.settings.control.initialise();
                shard.send(Message::Script(ScriptStage::Initialised));
                Part::ThreadInit
            }
            Part::ThreadInit => Part::ThreadRun,
            Part::ThreadRun => {
                // Users that finish their script are waited for.
                shard.busy += 1;
                self.connected(shard);
                Part::ThreadDone
            }
            Part::ThreadDone if self.is_first => {
                self.part = Part::Parting;
                self.depart(shard);
                self.look_for_others(shard);
                return None;
            }
            Part::ThreadDone => {
                self.depart(shard);
                self.over(shard);
                return None;
            }
            Part::Parting => Part::Done,
            Part::Command | Part::Done | Part::Over => {
                self.over(shard);
                return None;
            }
        };
        Some(Resume::Begin)
    }

    pub(super) fn depart(&self, shard: &ShardContext) {
        shard.settings.control.depart(u64::from(shard.settings.own_users));
    }

    /// The script's `done()` runs when all users have finished.
    pub(crate) fn look_for_others(&mut self, shard: &mut ShardContext) {
        let all = u64::from(shard.settings.own_users);
        if self.part == Part::Parting && shard.settings.control.departed() >= all {
            shard.send(Message::Script(ScriptStage::Done));
            self.part = Part::Done;
            self.answer(shard, Resume::Begin);
        }
    }

    /// The script is finished.
    pub(super) fn over(&mut self, shard: &mut ShardContext) {
        shard.user_is_free();
        shard.meter.user_gone(self.endpoint.index);
        self.connections.quit();
        self.part = Part::Over;
    }

    /// The user is ready for its first event.
    pub(super) fn connected(&mut self, shard: &mut ShardContext) {
        if shard.stage == Stage::Connecting && !std::mem::replace(&mut self.is_ready, true) {
            shard.connected.users += 1;
            shard.meter.user_up(self.endpoint.index);
        }
    }
}

fn wish(part: Part, shard: &ShardContext) -> Wish {
    match part {
        Part::Command => Wish::Command(shard.settings.script_command().unwrap_or(RUN).to_owned()),
        Part::Outside | Part::Load | Part::Init => Wish::Init,
        Part::ThreadInit => Wish::ThreadInit,
        Part::ThreadRun => Wish::ThreadRun,
        Part::ThreadDone => Wish::ThreadDone,
        Part::Parting | Part::Done | Part::Over => Wish::Done,
    }
}
