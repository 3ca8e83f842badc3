//! A client that waits for each answer: for the loader's threads, and for scripts that only ask.

use super::Connection;
use super::family::{Conversation, ServerFamily};
use super::opening::{Advance, Opening};
use super::poller::Interest;
use super::received::Received;
use super::stream::protocol_error;
use crate::clock::Clock;
use crate::error::{Failure, FailureKind, os_text};
use crate::plan::ConnectPlan;
use loadstone_measure::Nanos;
use loadstone_protocol::{Completion, ErrorCode, Expect, Fault, Reply, ResultSet, Row, Verdict};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use socket2::SockRef;
use std::sync::Arc;
use std::time::Duration;

pub use super::endpoint::Endpoint;
pub use super::pulse::{Beat, Pulse};
pub use super::stop::StopFlag;

/// How long one wait for the socket lasts before the stop flag is looked at again.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const BUFFER: usize = 64 * 1024;
/// The most bytes that the answer of an administrative statement may hold.
const MOST_ROW_BYTES: usize = 1 << 20;

/// Why an operation was not completed.
#[derive(Debug)]
pub enum Halt {
    /// The stop flag was set.
    Stopped,
    /// The operation failed.
    Failed(Failure),
}

impl Halt {
    /// Whether the connection is gone, so that a new one may help.
    pub fn is_loss(&self) -> bool {
        let lost =
            |verdict| matches!(verdict, Verdict::ConnectionLost | Verdict::ConnectionEnds { .. });
        self.verdict().is_some_and(lost)
    }

    /// The error's code, where there is one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Stopped => None,
            Self::Failed(failure) => failure.code,
        }
    }

    /// The code's number, where its family numbers its errors.
    pub fn errno(&self) -> Option<u16> {
        self.code().and_then(|code| code.code.number())
    }

    /// What the error means.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.code().map(super::verdict)
    }
}

/// A connection and the thread that waits on it.
pub struct Client {
    connection: Connection,
    family: ServerFamily,
    stop: StopFlag,
    buffer: Vec<u8>,
    pulse: Arc<Pulse>,
    is_mariadb: bool,
}

impl Client {
    /// Connects, trying again as the plan says.
    pub(crate) fn connect(
        endpoint: &Arc<Endpoint>,
        plan: &ConnectPlan,
        stop: &StopFlag,
    ) -> Result<Self, Halt> {
        Self::connect_with(endpoint, plan, stop, &Arc::default())
    }

    /// Connects, trying again as the plan says, and shows in `pulse` what it is waiting for.
    pub fn connect_with(
        endpoint: &Arc<Endpoint>,
        plan: &ConnectPlan,
        stop: &StopFlag,
        pulse: &Arc<Pulse>,
    ) -> Result<Self, Halt> {
        let (mut attempt, mut address, mut refused) = (0, 0, 0);
        loop {
            match Self::connect_once(endpoint, address, (plan, stop), pulse) {
                Err(Halt::Failed(failure)) if failure.is_tried_another_way() => continue,
                Err(Halt::Failed(failure))
                    if failure.is_refused() && refused + 1 < endpoint.address_count() =>
                {
                    refused += 1;
                }
                Err(Halt::Failed(failure)) if failure.may_pass() && attempt < plan.retries => {
                    pause(plan.backoff(attempt), stop)?;
                    attempt += 1;
                    refused = 0;
                }
                other => return other,
            }
            address += 1;
        }
    }

    fn connect_once(
        endpoint: &Arc<Endpoint>,
        address: usize,
        (plan, stop): (&ConnectPlan, &StopFlag),
        pulse: &Arc<Pulse>,
    ) -> Result<Self, Halt> {
        pulse.connects(endpoint.family);
        let clock = Clock::start();
        let deadline = Nanos::from_seconds(plan.timeout_s);
        let mut buffer = vec![0; BUFFER];
        let opening = Opening::begin(endpoint.clone(), address, deadline).map_err(Halt::Failed)?;
        let mut opening = Box::new(opening);
        loop {
            wait_for(opening.fd(), opening.wanted_interest());
            match opening.advance(&mut buffer).map_err(Halt::Failed)? {
                Advance::Open(opened) => {
                    let (connection, family) = (opened.connection, endpoint.family);
                    take_its_time(connection.fd()).map_err(|error| broken(family, &error, ""))?;
                    pulse.connected(opened.session.connection_id);
                    return Ok(Self {
                        connection,
                        family,
                        stop: stop.clone(),
                        buffer,
                        pulse: pulse.clone(),
                        is_mariadb: opened.session.is_mariadb,
                    });
                }
                Advance::Pending(pending) => opening = pending,
            }
            go_on(stop, pulse)?;
            if clock.now() >= deadline {
                return Err(Halt::Failed(endpoint.too_late(plan.timeout_s)));
            }
        }
    }

    /// Sends a statement and waits for the whole answer.
    pub fn query(&mut self, sql: &str) -> Result<Completion, Halt> {
        let mut command = Vec::with_capacity(sql.len() + 8);
        self.connection.conversation.write_query(&mut command, sql.as_bytes());
        match self.ask(&command, Expect::Query, sql)? {
            Reply::Done(completion) => Ok(completion),
            other => Err(self.refused(other, sql)),
        }
    }

    /// Sends a command and waits for the whole answer, of any kind. `sql` is the statement that it concerns.
    pub(crate) fn ask(
        &mut self,
        command: &[u8],
        expected: Expect,
        sql: &str,
    ) -> Result<Reply, Halt> {
        self.pulse.begins(sql);
        let answer = self.send(command, expected, sql).and_then(|()| self.answer());
        self.end_wait(answer)
    }

    /// If another thread gave up this wait, its reason replaces the socket's error: it knows more.
    fn end_wait<T>(&self, result: Result<T, Halt>) -> Result<T, Halt> {
        let result = result.map_err(|halt| self.pulse.given_up().map_or(halt, Halt::Failed));
        self.pulse.ends();
        result
    }

    /// Whether the server is a MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// The server's family, which decides its protocol.
    pub fn family(&self) -> ServerFamily {
        self.family
    }

    /// The conversation, which encodes commands for this server.
    pub(crate) fn conversation(&self) -> &Conversation {
        &self.connection.conversation
    }

    /// The same, for commands that it counts.
    pub(crate) fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.connection.conversation
    }

    /// The pulse, in which other threads see what this client is waiting for.
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// Sleeps for `span`, or until the stop flag is set.
    pub fn pause(&self, span: Duration) -> Result<(), Halt> {
        pause(span, &self.stop)
    }

    /// Sends a command that has no answer.
    pub(crate) fn tell(&mut self, command: &[u8]) -> Result<(), Halt> {
        self.send_more(command)
    }

    /// Keeps the results of answers from now on, each until the next command.
    pub(crate) fn keep_results(&mut self, most_bytes: usize) {
        self.connection.conversation.keep_results(most_bytes);
    }

    /// The results of the last answer.
    pub(crate) fn results(&self) -> &[ResultSet] {
        self.connection.conversation.results()
    }

    /// The rows of a small result set, each value as text.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Halt> {
        self.connection.conversation.keep_rows(MOST_ROW_BYTES);
        self.query(sql)?;
        Ok(self.connection.conversation.take_rows())
    }

    /// The first value of the first row, as a number.
    pub fn number(&mut self, sql: &str) -> Result<Option<u64>, Halt> {
        let rows = self.rows(sql)?;
        let first = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(first.and_then(|text| String::from_utf8_lossy(&text).parse().ok()))
    }

    /// Runs LOAD DATA LOCAL; `produce` appends the next piece of the file, or nothing at its end.
    pub fn load_local(
        &mut self,
        sql: &str,
        produce: impl FnMut(&mut Vec<u8>),
    ) -> Result<Completion, Halt> {
        self.pulse.begins(sql);
        let completion = self.send_local(sql, produce);
        self.end_wait(completion)
    }

    fn send_local(
        &mut self,
        sql: &str,
        mut produce: impl FnMut(&mut Vec<u8>),
    ) -> Result<Completion, Halt> {
        let mut command = Vec::new();
        self.connection.conversation.write_query(&mut command, sql.as_bytes());
        self.connection.conversation.allow_file(true);
        self.send(&command, Expect::Query, sql)?;
        let asked = self.answer();
        self.connection.conversation.allow_file(false);
        match asked? {
            Reply::WantsFile { .. } => {}
            other => return Err(self.refused(other, sql)),
        }
        self.connection.conversation.begin_file();
        command.clear();
        while self.connection.conversation.write_file_piece(&mut command, &mut produce) {
            self.send_more(&command)?;
            command.clear();
        }
        self.connection.conversation.write_file_end(&mut command);
        self.send_more(&command)?;
        match self.answer()? {
            Reply::Done(completion) => Ok(completion),
            other => Err(self.refused(other, sql)),
        }
    }

    /// Says goodbye to the server.
    pub fn quit(self) {
        self.connection.quit();
    }

    fn send(&mut self, command: &[u8], expected: Expect, sql: &str) -> Result<(), Halt> {
        let family = self.family;
        self.connection.send(command, expected).map_err(|error| broken(family, &error, sql))?;
        self.flush()
    }

    fn send_more(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        let family = self.family;
        self.connection.send_more(bytes).map_err(|error| broken(family, &error, ""))?;
        if self.connection.unsent() < bytes.len() {
            self.pulse.moves();
        }
        self.flush()
    }

    /// Sends what is kept. A blocking socket takes everything unless the server stops reading for a while.
    fn flush(&mut self) -> Result<(), Halt> {
        while self.connection.has_unsent() {
            go_on(&self.stop, &self.pulse)?;
            let unsent = self.connection.unsent();
            self.connection.flush().map_err(|error| broken(self.family, &error, ""))?;
            if self.connection.unsent() < unsent {
                self.pulse.moves();
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<Reply, Halt> {
        loop {
            match self.connection.receive(&mut self.buffer) {
                Ok(Received::Bytes { count, .. }) => {
                    self.pulse.moves();
                    let bytes = self.buffer.get(..count).unwrap_or_default();
                    let fed = self.connection.feed(bytes);
                    let (_, reply) = fed.map_err(|error| Halt::Failed(error.failure()))?;
                    if let Some(reply) = reply {
                        return Ok(reply);
                    }
                }
                Ok(Received::Nothing) => go_on(&self.stop, &self.pulse)?,
                Ok(Received::End) => {
                    return Err(lost(self.family, "the server closed the connection", ""));
                }
                Err(error) => return Err(broken(self.family, &error, "")),
            }
        }
    }

    fn refused(&self, reply: Reply, sql: &str) -> Halt {
        let shown: String = sql.chars().take(120).collect();
        Halt::Failed(match reply {
            Reply::Failed(error) => Failure::from_server(&error).during(shown),
            _ => self.family.failure(
                FailureKind::Protocol,
                Fault::Garbled,
                "an answer to something else",
            ),
        })
    }
}

/// Checks whether a wait may continue.
fn go_on(stop: &StopFlag, pulse: &Pulse) -> Result<(), Halt> {
    if stop.is_set() {
        return Err(Halt::Stopped);
    }
    pulse.given_up().map_or(Ok(()), |failure| Err(Halt::Failed(failure)))
}

/// Waits for the socket, for [`POLL_INTERVAL`] at most. A wait that fails is followed by a call that says why.
fn wait_for(fd: BorrowedFd<'_>, interest: Interest) {
    let flags = match interest {
        Interest::Read | Interest::Arrival => PollFlags::IN,
        Interest::ReadAndWrite => PollFlags::IN | PollFlags::OUT,
    };
    let longest = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
    let _ = poll(&mut [PollFd::new(&fd, flags)], Some(&longest));
}

/// Makes the socket blocking, for at most [`POLL_INTERVAL`] a call.
fn take_its_time(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    let socket = SockRef::from(&fd);
    socket.set_read_timeout(Some(POLL_INTERVAL))?;
    socket.set_write_timeout(Some(POLL_INTERVAL))?;
    socket.set_nonblocking(false)
}

/// Sleeps for `span`, or until the stop flag is set.
pub fn pause(span: Duration, stop: &StopFlag) -> Result<(), Halt> {
    let end = std::time::Instant::now() + span;
    while std::time::Instant::now() < end {
        if stop.is_set() {
            return Err(Halt::Stopped);
        }
        std::thread::sleep(
            POLL_INTERVAL.min(end.saturating_duration_since(std::time::Instant::now())),
        );
    }
    Ok(())
}

fn broken(family: ServerFamily, error: &std::io::Error, sql: &str) -> Halt {
    match protocol_error(error) {
        Some(error) => Halt::Failed(error.failure()),
        None => lost(family, &os_text(error), sql),
    }
}

fn lost(family: ServerFamily, text: &str, sql: &str) -> Halt {
    let failure = family.failure(FailureKind::Unreachable, Fault::ConnectionLost, text);
    Halt::Failed(if sql.is_empty() {
        failure
    } else {
        failure.during(sql.chars().take(120).collect())
    })
}
