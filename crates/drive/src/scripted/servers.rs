//! Servers for a script outside of a step: while its file is loaded, for a command that one user
//! runs, for a report. Each statement blocks until its answer arrives, since nobody else uses the
//! thread.

use super::connections::MOST_ROW_BYTES;
use super::statements::Statements;
use crate::connection::client::{Client, Endpoint, Halt, StopFlag};
use crate::connection::{Conversation, ServerFamily};
use crate::error::{Failure, FailureKind, PlanError};
use crate::metering::Class;
use crate::plan::{Plan, Protocol};
use crate::record::FirstError;
use loadstone_protocol::{Code, Expect, Fault, Reply, Verdict};
use loadstone_script::{Answer, Parameters, Request, Server};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest sleep of a script before it checks whether it should still run.
const NAP: Duration = Duration::from_millis(100);

/// A plan's servers. Connections are spread over them in turn.
pub struct Servers {
    plan: Plan,
    /// The servers' family.
    family: ServerFamily,
    shared: Arc<Shared>,
    /// The number of connections asked for so far.
    asked_for: usize,
    /// Indexed by the script's connection number.
    clients: HashMap<u32, Open>,
    statements: Statements,
    command: Vec<u8>,
    /// Why the last request failed.
    refusal: Refusal,
}

/// Controls [`Servers`] from another thread.
#[derive(Clone)]
pub struct ServersHandle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    stop: StopFlag,
    refusals: Mutex<VecDeque<Option<FirstError>>>,
    counts: Mutex<ScriptCounts>,
}

/// What a script's statements were, and what it counted itself.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ScriptCounts {
    /// Statements with a result set.
    pub reads: u64,
    /// Statements that change rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Only those that it counted itself.
    pub events: u64,
    /// Only those that it counted itself.
    pub errors: u64,
    /// Only those that it counted itself.
    pub reconnects: u64,
}

impl ScriptCounts {
    /// Adds 1 to a counter by sysbench's number; others are not counted.
    fn add(&mut self, counter: u32) {
        let counts = [
            &mut self.other,
            &mut self.reads,
            &mut self.writes,
            &mut self.events,
            &mut self.errors,
            &mut self.reconnects,
        ];
        if let Some(count) = counts.into_iter().nth(counter as usize) {
            *count += 1;
        }
    }
}

/// An open connection.
struct Open {
    client: Client,
    /// The target's place in the plan.
    target: usize,
}

/// The error that the script gets.
struct Refusal {
    code: Code,
    sql_state: [u8; 5],
    message: String,
    /// Where in the statement the server found the error.
    position: Option<u32>,
}

/// The result of a request.
enum Outcome {
    Done,
    /// The connection that has results.
    Results(u32),
    /// There is no further event.
    NoMore,
}

impl ServersHandle {
    /// Requests that wait for a server for long fail, now and from now on. Their script is not to be
    /// continued.
    pub fn give_up(&self) {
        self.0.stop.set();
    }

    /// The server's error of the next refusal that was not asked for yet; none if the script only
    /// used a connection that it has closed.
    #[must_use]
    pub fn next_refusal(&self) -> Option<FirstError> {
        self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner).pop_front().flatten()
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> ScriptCounts {
        *self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for ServersHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServersHandle").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").field("targets", &self.plan.targets).finish_non_exhaustive()
    }
}

impl Servers {
    /// The servers of a plan. Nothing is connected before a script asks for it.
    ///
    /// # Errors
    /// The servers are of a family that this program does not support.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        let named = plan.targets.first().map(|target| target.family);
        let family = named.and_then(ServerFamily::of);
        let unknown =
            || PlanError::new("targets: this program speaks to no server of their family");
        let family = family.ok_or_else(unknown)?;
        Ok(Self {
            plan,
            family,
            shared: Arc::new(Shared::default()),
            asked_for: 0,
            clients: HashMap::new(),
            statements: Statements::new(family.dialect()),
            command: Vec::new(),
            refusal: Refusal {
                code: Code::OTHER,
                sql_state: *b"HY000",
                message: String::new(),
                position: None,
            },
        })
    }

    /// The servers' family.
    #[must_use]
    pub fn family(&self) -> ServerFamily {
        self.family
    }

    /// The handle that ends its waiting and takes its errors.
    #[must_use]
    pub fn handle(&self) -> ServersHandle {
        ServersHandle(self.shared.clone())
    }

    fn carry_out(&mut self, request: &Request<'_>) -> Result<Outcome, Halt> {
        match *request {
            Request::Idle | Request::EventOver => {}
            Request::Count { counter } => self.count(counter),
            Request::NextEvent => return Ok(Outcome::NoMore),
            Request::Sleep { nanos } => self.sleep(Duration::from_nanos(nanos))?,
            Request::Connect { connection } => self.connect(connection, None)?,
            Request::Disconnect { connection } => {
                self.disconnect(connection);
            }
            Request::Reconnect { connection } => {
                let before = self.disconnect(connection);
                self.connect(connection, before)?;
            }
            Request::Query { connection, sql } => {
                self.command.clear();
                if let Some(conversation) = conversation(&self.clients, connection) {
                    conversation.write_query(&mut self.command, sql);
                }
                return self.results(connection, Expect::Query, &String::from_utf8_lossy(sql));
            }
            Request::Prepare { connection, statement, sql, parameters } => {
                self.prepare(connection, statement, &String::from_utf8_lossy(sql), parameters)?;
            }
            Request::Execute { connection, statement, parameters } => {
                self.command.clear();
                let conversation = conversation(&self.clients, connection);
                let out = &mut self.command;
                let Some(expected) =
                    self.statements.write(statement, parameters, conversation, out)
                else {
                    return Err(self.failed(Fault::NotPrepared, "the statement is not prepared"));
                };
                return self.results(connection, expected, "");
            }
            Request::CloseStatement { connection, statement } => {
                self.close_statement(connection, statement)?;
            }
        }
        Ok(Outcome::Done)
    }

    /// Connects to this target, or to the next one.
    fn connect(&mut self, connection: u32, target: Option<usize>) -> Result<(), Halt> {
        let index = target.unwrap_or_else(|| {
            let next = self.asked_for % self.plan.targets.len().max(1);
            self.asked_for += 1;
            next
        });
        let Some(target) = self.plan.targets.get(index) else {
            return Err(self.failed(Fault::ConnectionGone, "the plan has no server"));
        };
        let endpoint = Endpoint::resolve(index, target, &self.plan.session)
            .map_err(|failure| Halt::Failed(failure.at(index)))?
            .for_a_script();
        let stop = &self.shared.stop;
        let mut client = Client::connect(&Arc::new(endpoint), &self.plan.connect, stop)?;
        client.keep_results(MOST_ROW_BYTES);
        self.clients.insert(connection, Open { client, target: index });
        Ok(())
    }

    /// Closes a connection; returns its target.
    fn disconnect(&mut self, connection: u32) -> Option<usize> {
        self.statements.forget_all(connection);
        let open = self.clients.remove(&connection)?;
        open.client.quit();
        Some(open.target)
    }

    fn prepare(
        &mut self,
        connection: u32,
        statement: u32,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<(), Halt> {
        if self.plan.protocol == Protocol::Text {
            self.statements.as_text(connection, statement, sql);
            return Ok(());
        }
        self.command.clear();
        if let Some(Open { client, .. }) = self.clients.get_mut(&connection) {
            let sql = self.statements.preparable(sql.as_bytes());
            let conversation = client.conversation_mut();
            conversation.write_prepare_for(&mut self.command, &sql, parameters.iter());
        }
        match self.ask(connection, Expect::Prepare, sql) {
            Ok(Reply::Prepared(prepared)) => {
                self.statements.prepared(connection, statement, prepared.statement_id);
                Ok(())
            }
            Ok(_) => Err(self.failed(Fault::Garbled, "an answer to something else")),
            Err(halt) if halt.verdict() == Some(Verdict::CannotPrepare) => {
                self.statements.as_text(connection, statement, sql);
                Ok(())
            }
            Err(halt) => Err(halt),
        }
    }

    fn close_statement(&mut self, connection: u32, statement: u32) -> Result<(), Halt> {
        let Some(id) = self.statements.forget(statement) else { return Ok(()) };
        self.command.clear();
        let Some(Open { client, .. }) = self.clients.get_mut(&connection) else { return Ok(()) };
        client.conversation().write_close_statement(&mut self.command, id);
        client.tell(&self.command)
    }

    /// Sends the encoded command.
    fn results(&mut self, connection: u32, expected: Expect, sql: &str) -> Result<Outcome, Halt> {
        match self.ask(connection, expected, sql)? {
            Reply::Done(completion) => {
                self.count(Class::of(&completion).counter());
                Ok(Outcome::Results(connection))
            }
            _ => Err(self.failed(Fault::Garbled, "an answer to something else")),
        }
    }

    fn count(&self, counter: u32) {
        self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner).add(counter);
    }

    /// Sends the encoded command; returns whatever the server answers, apart from a refusal. A lost
    /// connection stays lost until the script asks for it again.
    fn ask(&mut self, connection: u32, expected: Expect, sql: &str) -> Result<Reply, Halt> {
        let Some(Open { client, .. }) = self.clients.get_mut(&connection) else {
            return Err(self.failed(Fault::ConnectionGone, "the connection to the server was lost"));
        };
        let answer = match client.ask(&self.command, expected, sql) {
            Ok(Reply::Failed(error)) => {
                self.refusal.position = error.position;
                Err(Halt::Failed(Failure::of_statement(&error, sql.to_owned())))
            }
            other => other,
        };
        let rolls_back = |code| self.family.scripts_roll_back_after(code);
        let is_lost = match &answer {
            Err(Halt::Failed(failure)) if failure.code.is_some_and(rolls_back) => {
                !matches!(expected, Expect::Prepare) && roll_back(client).is_err()
            }
            Err(halt) => halt.is_loss(),
            Ok(_) => false,
        };
        if is_lost {
            self.clients.remove(&connection);
        }
        answer
    }

    /// An error of the client's own.
    fn failed(&self, fault: Fault, text: &str) -> Halt {
        Halt::Failed(self.family.failure(FailureKind::StatementFailed, fault, text))
    }

    fn sleep(&self, span: Duration) -> Result<(), Halt> {
        let began = Instant::now();
        while let Some(left) = span.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            if self.shared.stop.is_set() {
                return Err(Halt::Stopped);
            }
            std::thread::sleep(left.min(NAP));
        }
        Ok(())
    }

    /// Keeps the error for the script and for [`ServersHandle`].
    fn refuse(&mut self, halt: Halt, request: &Request<'_>) {
        let position = self.refusal.position.take();
        let connects = matches!(request, Request::Connect { .. } | Request::Reconnect { .. });
        let is_loss = halt.is_loss() && !connects;
        let Halt::Failed(failure) = halt else { return };
        let lost = self.family.code_of(Fault::ConnectionLost);
        let code = if is_loss { lost } else { failure.code.unwrap_or(lost) };
        let mut sql_state = *b"HY000";
        if let Some(text) = failure.sql_state.as_ref().filter(|text| text.len() == 5) {
            sql_state.copy_from_slice(text.as_bytes());
        }
        let preparing = matches!(request, Request::Prepare { .. });
        let own = [Fault::ConnectionGone, Fault::NotPrepared].map(|it| self.family.code_of(it));
        let is_own = !connects && failure.statement.is_none() && own.contains(&code);
        let error = FirstError {
            code,
            message: failure.message.clone(),
            statement: match request {
                Request::Query { sql, .. } | Request::Prepare { sql, .. } => {
                    Some(String::from_utf8_lossy(sql).into_owned())
                }
                _ => None,
            },
            preparing,
            prepared: matches!(request, Request::Execute { .. }),
            position: position.filter(|_| preparing),
            target: connects.then_some(failure.target),
        };
        let told = (!is_own).then_some(error);
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).push_back(told);
        self.refusal =
            Refusal { code: code.code, sql_state, message: failure.message, position: None };
    }
}

impl Server for Servers {
    fn answer(&mut self, request: &Request<'_>) -> Answer<'_> {
        match self.carry_out(request) {
            Ok(Outcome::Done) => Answer::Done,
            Ok(Outcome::NoMore) => Answer::NoMore,
            Ok(Outcome::Results(connection)) => self
                .clients
                .get(&connection)
                .map_or(Answer::Done, |open| Answer::Results(open.client.results())),
            Err(halt) => {
                self.refuse(halt, request);
                let Refusal { code, sql_state, message, .. } = &self.refusal;
                Answer::Refused { code: *code, sql_state: *sql_state, message }
            }
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (_, open) in self.clients.drain() {
            open.client.quit();
        }
    }
}

/// Sends what sysbench's driver sends after some errors; the server may refuse that, too.
fn roll_back(client: &mut Client) -> Result<(), Halt> {
    let mut command = Vec::new();
    let conversation = client.conversation();
    conversation.write_query(&mut command, conversation.rollback());
    client.ask(&command, Expect::Query, "").map(drop)
}

/// How commands for a client are encoded, if the script's connection is open.
fn conversation(clients: &HashMap<u32, Open>, connection: u32) -> Option<&Conversation> {
    clients.get(&connection).map(|open| open.client.conversation())
}
