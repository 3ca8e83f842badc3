//! The event loop of a null server: one thread, any number of connections.

use crate::clock;
use crate::connection::{Connection, Phase};
use crate::core::Core;
use crate::listeners::Listeners;
use crate::log::Log;
use crate::poller::Ready;
use crate::script::{Drop as DropRule, Script};
use crate::stats::Stats;
use crate::timers::Alarm;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// How much one read takes from a socket; all connections share the buffer.
const BUFFER: usize = 256 * 1024;
/// This many connections are accepted before ready connections have their turn.
const CONNECTS_AT_ONCE: usize = 64;
/// How long accepting pauses when the process has no descriptor left.
const NO_DESCRIPTOR_PAUSE_NS: u64 = 50_000_000;

const WAKE_TOKEN: u64 = u64::MAX - 1;
/// The first listener's token; each further one's is one less.
const LISTENER_TOKEN: u64 = u64::MAX - 2;
const LISTENERS_MAX: u64 = 8;

/// A request from the holder of the server's handle.
#[derive(Debug)]
pub(crate) enum Request {
    Stats(Sender<Stats>),
    Script(Box<Script>),
    Flush,
    Stop,
}

/// What a server leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// The counters at the end.
    pub stats: Stats,
    /// The timestamps; empty if none were requested.
    pub log: Log,
}

#[derive(Debug)]
struct Slot {
    /// Incremented with each connection, so that alarms of an earlier one are recognised.
    generation: u32,
    connection: Option<Connection>,
}

#[derive(Debug)]
pub(crate) struct Server {
    core: Core,
    listeners: Listeners,
    slots: Vec<Slot>,
    free: Vec<u32>,
    connects: u32,
    wake: Arc<OwnedFd>,
    requests: Receiver<Request>,
    stops: bool,
}

impl Server {
    pub(crate) fn new(
        core: Core,
        listeners: Listeners,
        wake: Arc<OwnedFd>,
        requests: Receiver<Request>,
    ) -> io::Result<Self> {
        core.poller.add(&*wake, WAKE_TOKEN)?;
        for (index, listener) in listeners.iter().enumerate() {
            core.poller.add(listener, LISTENER_TOKEN - index as u64)?;
        }
        let (slots, free) = (Vec::new(), Vec::new());
        Ok(Self { core, listeners, slots, free, connects: 0, wake, requests, stops: false })
    }

    /// Serves until it is asked to stop.
    pub(crate) fn run(mut self) -> io::Result<Outcome> {
        let mut buffer = vec![0; BUFFER];
        let mut ready = Vec::new();
        while !self.stops {
            self.core.poller.wait(self.core.timers.next(), &mut ready)?;
            for event in &ready {
                // Answers that are due do not wait for the rest of the batch.
                self.ring()?;
                self.dispatch(*event, &mut buffer)?;
            }
            self.ring()?;
        }
        let stats = self.core.stats();
        Ok(Outcome { stats, log: self.core.log })
    }

    fn dispatch(&mut self, event: Ready, buffer: &mut [u8]) -> io::Result<()> {
        match event.token {
            WAKE_TOKEN => self.take_requests(),
            token if token > LISTENER_TOKEN - LISTENERS_MAX => {
                return self.take_connects((LISTENER_TOKEN - token) as usize);
            }
            token => self.with(token, |connection, core| connection.on_ready(core, buffer, event)),
        }
        Ok(())
    }

    /// Runs `job` on the connection of a token, if it still exists.
    fn with(&mut self, token: u64, job: impl FnOnce(&mut Connection, &mut Core)) {
        let (index, generation) = (token as u32, (token >> 32) as u32);
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some(connection) = &mut slot.connection else { return };
        if slot.generation != generation {
            return;
        }
        job(connection, &mut self.core);
        if connection.phase == Phase::Closed {
            slot.connection = None;
            self.free.push(index);
        }
    }

    fn ring(&mut self) -> io::Result<()> {
        if self.core.timers.next().is_none() {
            return Ok(());
        }
        while let Some(alarm) = self.core.timers.pop(clock::now()) {
            match alarm {
                Alarm::Answer(token) => self.with(token, Connection::on_alarm),
                Alarm::Drop { rule, script } if script == self.core.script_number => {
                    self.drop_connections(rule);
                }
                Alarm::Drop { .. } => {}
                Alarm::Accept => self.watch_listeners(true)?,
            }
        }
        Ok(())
    }

    fn drop_connections(&mut self, rule: usize) {
        let Some(DropRule::At { connections, .. }) = self.core.faults.script.drops.get(rule) else {
            return;
        };
        let who = connections.clone();
        for index in 0..self.slots.len() {
            let token = token(index as u32, self.slots[index].generation);
            self.with(token, |connection, core| {
                if who.has(connection.id) {
                    connection.drop_by_script(core);
                }
            });
        }
    }

    fn take_connects(&mut self, listener: usize) -> io::Result<()> {
        for _ in 0..CONNECTS_AT_ONCE {
            match self.listeners.accept(listener) {
                Ok(Some(socket)) => self.open(socket)?,
                Ok(None) => return Ok(()),
                Err(_) => return self.pause_connects(NO_DESCRIPTOR_PAUSE_NS),
            }
            let pause = self.core.faults.accept_pause();
            if pause > 0 {
                return self.pause_connects(pause);
            }
        }
        Ok(())
    }

    fn open(&mut self, socket: OwnedFd) -> io::Result<()> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, connection: None });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        // Listeners' tokens start where the generations end.
        slot.generation = (slot.generation + 1) % (u32::MAX - 1);
        let token = token(index, slot.generation);
        self.connects += 1;
        let connection = Connection::new(self.connects, token, socket);
        self.core.poller.add(connection.fd(), token)?;
        slot.connection = Some(connection);
        let stats = &mut self.core.stats;
        stats.connections += 1;
        stats.open += 1;
        stats.open_max = stats.open_max.max(stats.open);
        self.with(token, Connection::greet);
        Ok(())
    }

    fn pause_connects(&mut self, for_ns: u64) -> io::Result<()> {
        self.core.timers.set(clock::now() + for_ns, Alarm::Accept);
        self.watch_listeners(false)
    }

    fn watch_listeners(&mut self, watch: bool) -> io::Result<()> {
        for (index, listener) in self.listeners.iter().enumerate() {
            self.core.poller.watch(listener, LISTENER_TOKEN - index as u64, watch, false)?;
        }
        Ok(())
    }

    fn take_requests(&mut self) {
        // Only to clear it; how often it was written to does not matter.
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        while let Ok(request) = self.requests.try_recv() {
            match request {
                // If nobody waits for it any more, that is fine.
                Request::Stats(answer) => drop(answer.send(self.core.stats())),
                Request::Script(script) => self.core.set_script(*script),
                Request::Flush => self.core.flush(),
                Request::Stop => self.stops = true,
            }
        }
    }
}

fn token(index: u32, generation: u32) -> u64 {
    u64::from(index) | u64::from(generation) << 32
}
