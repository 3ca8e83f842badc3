//! Servers for a script outside of a step: while its file is loaded, for a command that one user
//! runs, for a report. Each statement blocks until its answer arrives, since nobody else uses the
//! thread.

use super::connections::MOST_ROW_BYTES;
use super::statements::Statements;
use crate::connection::client::{Client, Endpoint, Halt, StopFlag};
use crate::connection::{Conversation, ServerFamily};
use crate::error::{Failure, FailureKind, PlanError};
use crate::plan::{Plan, Protocol};
use crate::record::FirstError;
use loadstone_protocol::{Code, Expect, Fault, Reply, Verdict};
use loadstone_script::{Answer, Request, Server};
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
    /// The number of connections opened so far.
    opened: usize,
    /// Indexed by the script's connection number.
    clients: HashMap<u32, Client>,
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
    /// All requests that wait for a server fail, now and from now on.
    pub fn give_up(&self) {
        self.0.stop.set();
    }

    /// The server's error of the next refusal that was not asked for yet; none if the script only
    /// used a connection that it has closed.
    #[must_use]
    pub fn next_refusal(&self) -> Option<FirstError> {
        self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner).pop_front().flatten()
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
            opened: 0,
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
            Request::Idle | Request::EventOver | Request::Count { .. } => {}
            Request::NextEvent => return Ok(Outcome::NoMore),
            Request::Sleep { nanos } => self.sleep(Duration::from_nanos(nanos))?,
            Request::Connect { connection } => self.connect(connection)?,
            Request::Disconnect { connection } => self.disconnect(connection),
            Request::Reconnect { connection } => {
                self.disconnect(connection);
                self.connect(connection)?;
            }
            Request::Query { connection, sql } => {
                self.command.clear();
                if let Some(conversation) = conversation(&self.clients, connection) {
                    conversation.write_query(&mut self.command, sql);
                }
                return self.results(connection, Expect::Query, &String::from_utf8_lossy(sql));
            }
            Request::Prepare { connection, statement, sql } => {
                self.prepare(connection, statement, &String::from_utf8_lossy(sql))?;
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

    fn connect(&mut self, connection: u32) -> Result<(), Halt> {
        let index = self.opened % self.plan.targets.len().max(1);
        let Some(target) = self.plan.targets.get(index) else {
            return Err(self.failed(Fault::ConnectionGone, "the plan has no server"));
        };
        let endpoint = Endpoint::resolve(index, target, &self.plan.session)
            .map_err(|failure| Halt::Failed(failure.at(index)))?
            .for_a_script();
        let stop = &self.shared.stop;
        let mut client = Client::connect(&Arc::new(endpoint), &self.plan.connect, stop)?;
        client.keep_results(MOST_ROW_BYTES);
        self.opened += 1;
        self.clients.insert(connection, client);
        Ok(())
    }

    fn disconnect(&mut self, connection: u32) {
        if let Some(client) = self.clients.remove(&connection) {
            client.quit();
        }
    }

    fn prepare(&mut self, connection: u32, statement: u32, sql: &str) -> Result<(), Halt> {
        if self.plan.protocol == Protocol::Text {
            self.statements.as_text(statement, sql);
            return Ok(());
        }
        self.command.clear();
        if let Some(client) = self.clients.get_mut(&connection) {
            let sql = self.statements.preparable(sql.as_bytes());
            client.conversation_mut().write_prepare(&mut self.command, &sql);
        }
        match self.ask(connection, Expect::Prepare, sql) {
            Ok(Reply::Prepared(prepared)) => {
                self.statements.prepared(statement, prepared.statement_id);
                Ok(())
            }
            Ok(_) => Err(self.failed(Fault::Garbled, "an answer to something else")),
            Err(halt) if halt.verdict() == Some(Verdict::CannotPrepare) => {
                self.statements.as_text(statement, sql);
                Ok(())
            }
            Err(halt) => Err(halt),
        }
    }

    fn close_statement(&mut self, connection: u32, statement: u32) -> Result<(), Halt> {
        let Some(id) = self.statements.forget(statement) else { return Ok(()) };
        self.command.clear();
        let Some(client) = self.clients.get_mut(&connection) else { return Ok(()) };
        client.conversation().write_close_statement(&mut self.command, id);
        client.tell(&self.command)
    }

    /// Sends the encoded command.
    fn results(&mut self, connection: u32, expected: Expect, sql: &str) -> Result<Outcome, Halt> {
        match self.ask(connection, expected, sql)? {
            Reply::Done(_) => Ok(Outcome::Results(connection)),
            _ => Err(self.failed(Fault::Garbled, "an answer to something else")),
        }
    }

    /// Sends the encoded command; returns whatever the server answers, apart from a refusal. A lost
    /// connection stays lost until the script asks for it again.
    fn ask(&mut self, connection: u32, expected: Expect, sql: &str) -> Result<Reply, Halt> {
        let Some(client) = self.clients.get_mut(&connection) else {
            return Err(self.failed(Fault::ConnectionGone, "the connection to the server was lost"));
        };
        let mut answer = match client.ask(&self.command, expected, sql) {
            Ok(Reply::Failed(error)) => {
                self.refusal.position = error.position;
                Err(Halt::Failed(Failure::of_statement(&error, sql.to_owned())))
            }
            other => other,
        };
        let executes = !matches!(expected, Expect::Prepare);
        if let Err(Halt::Failed(failure)) = &answer
            && executes
            && failure.code.is_some_and(|code| self.family.scripts_roll_back_after(code))
            && let Err(loss) = roll_back(client)
        {
            answer = Err(loss);
        }
        if answer.as_ref().is_err_and(Halt::is_loss) {
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
        let is_loss = halt.is_loss();
        let position = self.refusal.position.take();
        let failure = match halt {
            Halt::Failed(failure) => failure,
            Halt::Stopped => {
                self.family.failure(FailureKind::Unreachable, Fault::ConnectionLost, "given up")
            }
        };
        let lost = self.family.code_of(Fault::ConnectionLost);
        let code = if is_loss { lost } else { failure.code.unwrap_or(lost) };
        let mut sql_state = *b"HY000";
        if let Some(text) = failure.sql_state.as_ref().filter(|text| text.len() == 5) {
            sql_state.copy_from_slice(text.as_bytes());
        }
        let preparing = matches!(request, Request::Prepare { .. });
        let prepared = matches!(request, Request::Execute { .. });
        let target = (!is_loss && failure.statement.is_none()).then_some(failure.target);
        let message = failure.message;
        let gone = self.family.code_of(Fault::ConnectionGone);
        let unprepared = self.family.code_of(Fault::NotPrepared);
        let error = FirstError {
            code,
            message: message.clone(),
            statement: failure.statement.map(String::from),
            preparing,
            prepared,
            position: position.filter(|_| preparing),
            target,
        };
        let told = (code != gone && code != unprepared).then_some(error);
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).push_back(told);
        self.refusal = Refusal { code: code.code, sql_state, message, position: None };
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
                .map_or(Answer::Done, |client| Answer::Results(client.results())),
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
        for (_, client) in self.clients.drain() {
            client.quit();
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
fn conversation(clients: &HashMap<u32, Client>, connection: u32) -> Option<&Conversation> {
    clients.get(&connection).map(Client::conversation)
}
