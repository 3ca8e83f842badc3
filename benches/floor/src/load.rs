//! The loop: a wake-up, and for each ready socket a read, a check and a write.

use crate::cpu::{Mark, monotonic};
use crate::options::Options;
use crate::reply::Seen;
use crate::rounds::Rounds;
use crate::user::User;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::error::Error;
use std::mem::MaybeUninit;

const BATCH: usize = 1024;
const BUFFER: usize = 256 * 1024;
/// Edge-triggered, as the engine's: the kernel need not look at each socket again before it sleeps.
const ARRIVAL: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::ET);
const ENDED: epoll::EventFlags =
    epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);
/// ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_CHECKREAD.
const RESTARTED: [u16; 3] = [1213, 1205, 1020];
const CLOSED: &str = "the server closed a connection";
/// The longest time between wake-ups, so that the end is not missed when no reply comes.
const LONGEST_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// The load's marks.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) begin: Mark,
    pub(crate) quarter: Mark,
    pub(crate) three_quarters: Mark,
    pub(crate) end: Mark,
    /// Events that were restarted after an error.
    pub(crate) restarts: u64,
}

#[derive(Debug)]
pub(crate) struct Load<'a> {
    rounds: &'a Rounds,
    users: Vec<User>,
    epoll: OwnedFd,
    command: Vec<u8>,
    random: u64,
    table_size: u32,
    queries: u64,
    restarts: u64,
}

impl<'a> Load<'a> {
    pub(crate) fn new(
        options: &Options,
        rounds: &'a Rounds,
        users: Vec<User>,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, user) in users.iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, &user.socket, data, ARRIVAL)?;
        }
        let (command, table_size) = (Vec::new(), options.table_size);
        let random = 0x9e37_79b9_7f4a_7c15;
        Ok(Self { rounds, users, epoll, command, random, table_size, queries: 0, restarts: 0 })
    }

    /// Sends for this many seconds; replies still on their way are ignored.
    pub(crate) fn run(mut self, seconds: f64) -> Result<Outcome, Box<dyn Error>> {
        let mut buffer = vec![0; BUFFER];
        let begin = Mark::now(0);
        let after = |part: f64| begin.wall_ns() + (seconds * part * 1e9) as u64;
        for index in 0..self.users.len() {
            self.send(index)?;
        }
        let quarter = self.run_until(after(0.25), &mut buffer)?;
        let three_quarters = self.run_until(after(0.75), &mut buffer)?;
        let end = self.run_until(after(1.0), &mut buffer)?;
        Ok(Outcome { begin, quarter, three_quarters, end, restarts: self.restarts })
    }

    fn run_until(&mut self, end_ns: u64, buffer: &mut [u8]) -> Result<Mark, Box<dyn Error>> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); BATCH];
        while monotonic() < end_ns {
            let ready = match epoll::wait(&self.epoll, &mut events, Some(&LONGEST_WAIT)) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for &mut epoll::Event { flags, data } in ready {
                if flags.intersects(ENDED) {
                    return Err(CLOSED.into());
                }
                self.receive(data.u64() as usize, buffer)?;
            }
        }
        Ok(Mark::now(self.queries))
    }

    /// Reads all that is there: nothing else tells of it. A read that leaves room in the buffer has
    /// taken everything.
    fn receive(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), Box<dyn Error>> {
        loop {
            let count = match recv(&self.users[index].socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return Err(CLOSED.into()),
                Ok((count, _)) => count,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.take(index, &buffer[..count])?;
            if count < buffer.len() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, index: usize, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let user = &mut self.users[index];
        let seen = if user.part.is_empty() {
            user.server.look(bytes)
        } else {
            user.part.extend_from_slice(bytes);
            user.server.look(&user.part)
        };
        match seen {
            Seen::Whole => {
                user.part.clear();
                user.round += 1;
                self.queries += 1;
                self.send(index)
            }
            Seen::Part if user.part.is_empty() => {
                user.part.extend_from_slice(bytes);
                Ok(())
            }
            Seen::Part => Ok(()),
            Seen::Error => self.begin_anew(index, bytes),
        }
    }

    /// A deadlock or a lock wait is part of the load; any other error ends it.
    fn begin_anew(&mut self, index: usize, reply: &[u8]) -> Result<(), Box<dyn Error>> {
        let errno = reply.get(5..7).map_or(0, |errno| u16::from_le_bytes([errno[0], errno[1]]));
        if !RESTARTED.contains(&errno) {
            let text = String::from_utf8_lossy(reply).into_owned();
            return Err(format!("the server refused a statement: {text:?}").into());
        }
        self.restarts += 1;
        let user = &mut self.users[index];
        user.part.clear();
        user.round = 0;
        self.send(index)
    }

    fn send(&mut self, index: usize) -> Result<(), Box<dyn Error>> {
        let (random, table_size) = (&mut self.random, self.table_size);
        let user = &mut self.users[index];
        if user.round == self.rounds.rounds.len() {
            user.round = 0;
        }
        let round = &self.rounds.rounds[user.round];
        let id = user.ids.get(round.statement).copied().unwrap_or_default();
        round.write(&mut self.command, id, &mut user.key, || draw(random, table_size));
        let sent = send(&user.socket, &self.command, SendFlags::NOSIGNAL)?;
        if sent < self.command.len() {
            return Err("a socket took only a part of a command".into());
        }
        Ok(())
    }
}

/// A key from 1 to the table's size, by xorshift.
fn draw(random: &mut u64, table_size: u32) -> i64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    1 + ((u128::from(*random) * u128::from(table_size)) >> 64) as i64
}
