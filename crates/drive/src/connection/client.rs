//! A client that waits for each answer: for the loader's threads, and for scripts that only ask.

use super::opening::{Advance, Opening};
use super::poller::Interest;
use super::stream::wire_error;
use super::transport::Received;
use super::{Connection, ends_connection};
use crate::clock::Clock;
use crate::error::{Failure, FailureKind, os_text};
use crate::plan::ConnectPlan;
use loadstone_measure::Nanos;
use loadstone_wire::{
    Completion, Expect, Reply, ResultSet, Row, write_local_infile_data, write_local_infile_end,
    write_query,
};
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
/// What answers of administration may hold at most.
const MOST_ROW_BYTES: usize = 1 << 20;

/// Why something was not done.
#[derive(Debug)]
pub enum Halt {
    /// It was asked to stop.
    Stopped,
    /// This went wrong.
    Failed(Failure),
}

impl Halt {
    /// Whether the connection is gone, so that a new one may help.
    pub fn is_loss(&self) -> bool {
        self.errno().is_some_and(|errno| matches!(errno, 2006 | 2013) || ends_connection(errno))
    }

    /// The error's number, where there is one.
    pub fn errno(&self) -> Option<u16> {
        match self {
            Self::Stopped => None,
            Self::Failed(failure) => failure.errno,
        }
    }
}

/// A connection and the thread that waits on it.
pub struct Client {
    connection: Connection,
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

    /// The same; what it waits for can be seen in `pulse`.
    pub fn connect_with(
        endpoint: &Arc<Endpoint>,
        plan: &ConnectPlan,
        stop: &StopFlag,
        pulse: &Arc<Pulse>,
    ) -> Result<Self, Halt> {
        let (mut attempt, mut address, mut refused) = (0, 0, 0);
        loop {
            match Self::connect_once(endpoint, address, (plan, stop), pulse) {
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
        pulse.connects();
        let clock = Clock::start();
        let deadline = Nanos::from_seconds(plan.timeout_s);
        let mut buffer = vec![0; BUFFER];
        let opening = Opening::begin(endpoint.clone(), address, deadline).map_err(Halt::Failed)?;
        let mut opening = Box::new(opening);
        loop {
            wait_for(opening.fd(), opening.wanted_interest());
            match opening.advance(&mut buffer).map_err(Halt::Failed)? {
                Advance::Open(opened) => {
                    let (connection, session) = (opened.connection, opened.session);
                    take_its_time(connection.fd()).map_err(|error| broken(&error, ""))?;
                    pulse.connected(session.connection_id);
                    return Ok(Self {
                        connection,
                        stop: stop.clone(),
                        buffer,
                        pulse: pulse.clone(),
                        is_mariadb: session.mariadb,
                    });
                }
                Advance::Pending(pending) => opening = pending,
            }
            go_on(stop, pulse)?;
            if clock.now() >= deadline {
                let text = format!("no connection within {} s", plan.timeout_s);
                return Err(Halt::Failed(Failure::new(FailureKind::TimedOut, Some(110), text)));
            }
        }
    }

    /// Sends a statement and waits for the whole answer.
    pub fn query(&mut self, sql: &str) -> Result<Completion, Halt> {
        let mut command = Vec::with_capacity(sql.len() + 8);
        write_query(&mut command, sql.as_bytes());
        match self.ask(&command, Expect::Query, sql)? {
            Reply::Done(completion) => Ok(completion),
            other => Err(refused(other, sql)),
        }
    }

    /// Sends a command and waits for the whole answer, whatever it is. `sql` is what it is about.
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

    /// Whoever gave the wait up knows more than the socket, which is closed then as well.
    fn end_wait<T>(&self, result: Result<T, Halt>) -> Result<T, Halt> {
        let result = result.map_err(|halt| self.pulse.given_up().map_or(halt, Halt::Failed));
        self.pulse.ends();
        result
    }

    /// Whether the server is a MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// What others see of its waits.
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// Does nothing for a while, unless it is time to stop.
    pub fn pause(&self, span: Duration) -> Result<(), Halt> {
        pause(span, &self.stop)
    }

    /// Sends a command that has no answer.
    pub(crate) fn tell(&mut self, command: &[u8]) -> Result<(), Halt> {
        self.send_more(command)
    }

    /// From here on the results of answers are kept, each until the next is asked for.
    pub(crate) fn keep_results(&mut self, most_bytes: usize) {
        self.connection.reader.keep_results(most_bytes);
    }

    /// Those of the last answer.
    pub(crate) fn results(&self) -> &[ResultSet] {
        self.connection.reader.results()
    }

    /// The rows of a small result set, each value as text.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Halt> {
        self.connection.reader.keep_rows(MOST_ROW_BYTES);
        self.query(sql)?;
        Ok(self.connection.reader.take_rows())
    }

    /// One number, the first value of the first row.
    pub fn number(&mut self, sql: &str) -> Result<Option<u64>, Halt> {
        let rows = self.rows(sql)?;
        let first = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(first.and_then(|text| String::from_utf8_lossy(&text).parse().ok()))
    }

    /// Runs LOAD DATA LOCAL; `produce` appends the next piece of the file, nothing at its end.
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
        write_query(&mut command, sql.as_bytes());
        self.connection.reader.allow_local_infile(true);
        self.send(&command, Expect::Query, sql)?;
        let asked = self.answer();
        self.connection.reader.allow_local_infile(false);
        match asked? {
            Reply::LocalInfile { .. } => {}
            other => return Err(refused(other, sql)),
        }
        let mut sequence = self.connection.reader.next_sequence();
        command.clear();
        while write_local_infile_data(&mut command, &mut sequence, &mut produce) {
            self.send_more(&command)?;
            command.clear();
        }
        write_local_infile_end(&mut command, &mut sequence);
        self.send_more(&command)?;
        match self.answer()? {
            Reply::Done(completion) => Ok(completion),
            other => Err(refused(other, sql)),
        }
    }

    /// Says goodbye to the server.
    pub fn quit(self) {
        self.connection.quit();
    }

    fn send(&mut self, command: &[u8], expected: Expect, sql: &str) -> Result<(), Halt> {
        self.connection.send(command, expected).map_err(|error| broken(&error, sql))?;
        self.flush()
    }

    fn send_more(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        self.connection.send_more(bytes).map_err(|error| broken(&error, ""))?;
        if self.connection.unsent() < bytes.len() {
            self.pulse.moves();
        }
        self.flush()
    }

    /// A socket that blocks takes everything, unless the server does not read for a while.
    fn flush(&mut self) -> Result<(), Halt> {
        while self.connection.has_unsent() {
            go_on(&self.stop, &self.pulse)?;
            let unsent = self.connection.unsent();
            self.connection.flush().map_err(|error| broken(&error, ""))?;
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
                    let fed = self.connection.reader.feed(bytes);
                    let (_, reply) =
                        fed.map_err(|error| Halt::Failed(Failure::from_wire(&error)))?;
                    if let Some(reply) = reply {
                        return Ok(reply);
                    }
                }
                Ok(Received::Nothing) => go_on(&self.stop, &self.pulse)?,
                Ok(Received::End) => return Err(lost("the server closed the connection", "")),
                Err(error) => return Err(broken(&error, "")),
            }
        }
    }
}

/// Whether a wait may go on.
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

/// From here on calls block, for [`POLL_INTERVAL`] at most.
fn take_its_time(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    let socket = SockRef::from(&fd);
    socket.set_read_timeout(Some(POLL_INTERVAL))?;
    socket.set_write_timeout(Some(POLL_INTERVAL))?;
    socket.set_nonblocking(false)
}

/// Waits, unless it is time to stop.
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

fn refused(reply: Reply, sql: &str) -> Halt {
    let shown: String = sql.chars().take(120).collect();
    Halt::Failed(match reply {
        Reply::Failed(error) => Failure::from_server(&error).during(shown),
        _ => Failure::new(FailureKind::Protocol, Some(2027), "an answer to something else"),
    })
}

fn broken(error: &std::io::Error, sql: &str) -> Halt {
    match wire_error(error) {
        Some(error) => Halt::Failed(Failure::from_wire(error)),
        None => lost(&os_text(error), sql),
    }
}

fn lost(text: &str, sql: &str) -> Halt {
    let failure = Failure::new(FailureKind::Unreachable, Some(2013), text);
    Halt::Failed(if sql.is_empty() {
        failure
    } else {
        failure.during(sql.chars().take(120).collect())
    })
}
