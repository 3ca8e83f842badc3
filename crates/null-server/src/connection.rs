//! A connection: commands in, answers out, one at a time and in order.

use crate::answer::{Answering, Bytes, Reply, Then, is_load};
use crate::core::Core;
use crate::library::Known;
use crate::log::{Kind, Outcome, Record};
use crate::packet::{Shape, message};
use crate::poller::Ready;
use crate::postgres_session::Session;
use crate::settings::Protocol;
use crate::timers::Alarm;
use crate::tls::Tls;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// No client has more unanswered bytes than this.
const INBOX_MAX: usize = 128 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Greeted. Next: `Commands`, or `Handshake` where the client asks for TLS.
    Login,
    /// TLS is being negotiated. Next: `Login` once more.
    Handshake,
    /// Logged in. Next: `Closed`.
    Commands,
    /// Its place can be reused.
    Closed,
}

/// When a command arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    /// Its first byte was read.
    pub(crate) seen: u64,
    /// It was complete, and the one before it was answered.
    pub(crate) whole: u64,
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// The connection's number, from 1 in order of arrival.
    pub(crate) id: u32,
    token: u64,
    socket: OwnedFd,
    /// With TLS, records are read and sent; the inbox and the answers are plaintext.
    pub(crate) tls: Option<Box<Tls>>,
    pub(crate) phase: Phase,
    pub(crate) shape: Shape,
    /// Of PostgreSQL's clients, once they are logged in.
    pub(crate) postgres: Option<Box<Session>>,
    /// Prepared statements; an id is an index, from 1.
    pub(crate) statements: Vec<Option<Known>>,
    /// Unprocessed bytes: a part of a command, or commands after one that is being answered.
    inbox: Vec<u8>,
    inbox_since: u64,
    pub(crate) answering: Option<Answering>,
    answered_load: u64,
    watches_writes: bool,
}

impl Connection {
    pub(crate) fn new(id: u32, token: u64, socket: OwnedFd) -> Self {
        Self {
            id,
            token,
            socket,
            tls: None,
            phase: Phase::Login,
            shape: Shape::default(),
            postgres: None,
            statements: Vec::new(),
            inbox: Vec::new(),
            inbox_since: 0,
            answering: None,
            answered_load: 0,
            watches_writes: false,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn on_ready(&mut self, core: &mut Core, buffer: &mut [u8], ready: Ready) {
        if ready.writable {
            self.send_on(core);
            self.resume(core);
        }
        if ready.readable && self.phase != Phase::Closed {
            self.receive(core, buffer);
        }
    }

    /// Its answer, or the next piece of it, is due.
    pub(crate) fn on_alarm(&mut self, core: &mut Core) {
        self.send_on(core);
        self.resume(core);
    }

    fn receive(&mut self, core: &mut Core, buffer: &mut [u8]) {
        let count = match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return self.close(core),
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return self.close(core),
        };
        core.stats.bytes_in += count as u64;
        let now = core.stamp();
        if self.tls.is_some() {
            return self.unseal(core, &buffer[..count], now);
        }
        self.take_in(core, &buffer[..count], Came { seen: now, whole: now });
    }

    /// Takes plaintext commands, and keeps what is incomplete.
    pub(crate) fn take_in(&mut self, core: &mut Core, bytes: &[u8], came: Came) {
        if !self.inbox.is_empty() {
            self.inbox.extend_from_slice(bytes);
            if self.inbox.len() > INBOX_MAX {
                return self.garbled(core);
            }
            return self.resume(core);
        }
        self.inbox_since = came.seen;
        let used = self.take(core, bytes, came.whole);
        self.keep(core, &bytes[used..], came.whole);
    }

    /// Keeps bytes that have to wait. After a TLS request nothing is plaintext any more: no
    /// injected command gets through.
    fn keep(&mut self, core: &mut Core, rest: &[u8], now: u64) {
        match self.phase {
            Phase::Handshake => self.unseal(core, rest, now),
            _ => self.inbox.extend_from_slice(rest),
        }
    }

    /// Continues with the waiting commands once the answer before them is sent.
    fn resume(&mut self, core: &mut Core) {
        if self.tls.is_some() && self.answering.is_none() {
            let now = core.stamp();
            self.answer_handshake(core, Came { seen: now, whole: now });
        }
        if self.inbox.is_empty() || self.answering.is_some() {
            return;
        }
        let inbox = std::mem::take(&mut self.inbox);
        let now = core.stamp();
        let used = self.take(core, &inbox, now);
        if used == 0 {
            self.inbox = inbox;
        } else {
            self.keep(core, &inbox[used..], now);
        }
    }

    /// Takes complete commands until one has to wait for its answer. Returns how many bytes they
    /// had.
    fn take(&mut self, core: &mut Core, bytes: &[u8], now: u64) -> usize {
        let came = Came { seen: self.inbox_since, whole: now };
        if core.settings.protocol == Protocol::PostgreSql {
            return self.take_messages(core, bytes, came);
        }
        let mut used = 0;
        while self.answering.is_none() && matches!(self.phase, Phase::Login | Phase::Commands) {
            let Some(command) = message(&bytes[used..]) else { break };
            used += command.length;
            self.on_message(core, command, came);
        }
        used
    }

    /// Starts an answer: sends it, or sets its alarm.
    pub(crate) fn answer(&mut self, core: &mut Core, reply: Reply, came: Came) {
        let due = match () {
            () if core.faults.is_plain() => came.whole,
            () if reply.kind == Kind::Greeting => core.faults.greeting_due(self.id, came.whole),
            () if reply.is_load() => core.faults.due_of_load(self.id, came.whole),
            () => core.faults.due(self.id, came.whole, 0),
        };
        let timed = due > came.whole;
        let record = Record {
            connection: self.id,
            kind: reply.kind,
            outcome: reply.outcome,
            errno: reply.errno,
            received_ns: came.seen,
            due_ns: due,
            sent_ns: due,
        };
        core.stats.owed += u64::from(reply.is_load());
        let (bytes, then) = (self.on_the_wire(core, reply.kind, reply.bytes), reply.then);
        self.answering = Some(Answering { record, bytes, sent: 0, next_ns: due, timed, then });
        if timed {
            core.timers.set(due, Alarm::Answer(self.token));
        } else {
            self.send_on(core);
        }
    }

    /// An answer as sent: encrypted ahead of time, so that the work does not delay it.
    fn on_the_wire(&mut self, core: &Core, kind: Kind, bytes: Bytes) -> Bytes {
        let Some(tls) = &mut self.tls else { return bytes };
        match bytes.get(&core.library) {
            [] => bytes,
            _ if kind == Kind::Handshake => bytes,
            clear => Bytes::Own(tls.seal(clear)),
        }
    }

    /// Sends as much as the socket and the script allow now.
    fn send_on(&mut self, core: &mut Core) {
        let Some(answering) = &mut self.answering else { return self.watch(core, false) };
        let pieces = core.faults.script.pieces;
        let pieces = pieces.filter(|pieces| pieces.login || self.phase == Phase::Commands);
        loop {
            let rest = &answering.bytes.get(&core.library)[answering.sent..];
            let piece = &rest[..pieces.map_or(rest.len(), |pieces| pieces.bytes.min(rest.len()))];
            let is_last = piece.len() == rest.len();
            if is_last {
                answering.record.due_ns = answering.next_ns;
                answering.record.sent_ns = core.stamp();
            }
            let sent = match piece {
                [] => 0,
                piece => match send(&self.socket, piece, SendFlags::NOSIGNAL) {
                    Ok(count) => count,
                    Err(Errno::AGAIN | Errno::INTR) => 0,
                    Err(_) => return self.close(core),
                },
            };
            core.stats.bytes_out += sent as u64;
            answering.sent += sent;
            if sent < piece.len() {
                return self.watch(core, true);
            }
            if is_last {
                return self.answered(core);
            }
            let every = pieces.map_or(0, |pieces| (pieces.every_us * 1000.0) as u64);
            if every > 0 {
                answering.next_ns += every;
                core.timers.set(answering.next_ns, Alarm::Answer(self.token));
                return self.watch(core, false);
            }
        }
    }

    /// The last byte was sent.
    fn answered(&mut self, core: &mut Core) {
        self.watch(core, false);
        let Some(answering) = self.answering.take() else { return };
        let Answering { record, then, timed, .. } = answering;
        if timed {
            let late = record.sent_ns.saturating_sub(record.due_ns);
            core.stats.timed += 1;
            core.stats.late_ns_sum += late;
            core.stats.late_ns_max = core.stats.late_ns_max.max(late);
        }
        core.record(record);
        if is_load(record.kind) {
            self.answered_load += 1;
            core.stats.owed -= 1;
            match record.outcome {
                Outcome::Error => core.stats.errors += 1,
                Outcome::Dropped => core.stats.dropped_answers += 1,
                Outcome::Done | Outcome::Rows => core.stats.answered += 1,
            }
            if then == Then::GoOn && core.faults.drops_after(self.answered_load) {
                return self.drop_by_script(core);
            }
        }
        match then {
            Then::GoOn => {}
            Then::Encrypt => self.begin_tls(core),
            Then::Close => self.close(core),
            Then::Drop => self.drop_by_script(core),
        }
    }

    /// Starts or stops watching for room in the socket.
    fn watch(&mut self, core: &mut Core, writes: bool) {
        if self.watches_writes != writes {
            self.watches_writes = writes;
            if core.poller.watch(&self.socket, self.token, true, writes).is_err() {
                self.close(core);
            }
        }
    }

    pub(crate) fn drop_by_script(&mut self, core: &mut Core) {
        core.stats.dropped += 1;
        self.close(core);
    }

    /// The client violates the protocol.
    pub(crate) fn garbled(&mut self, core: &mut Core) {
        core.stats.garbled += 1;
        self.close(core);
    }

    /// Closed by either side; the socket is closed when the place is reused.
    pub(crate) fn close(&mut self, core: &mut Core) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        core.stats.open -= 1;
        if let Some(cut) = self.answering.take()
            && is_load(cut.record.kind)
        {
            core.stats.owed -= 1;
            core.stats.dropped_answers += 1;
            let sent_ns = core.stamp();
            core.record(Record { outcome: Outcome::Dropped, sent_ns, ..cut.record });
        }
    }

    /// The bytes of an answer from the library, in this connection's shape.
    pub(crate) fn shared(&self, known: Known, form: crate::rows::Form) -> Bytes {
        Bytes::Shared { answer: known.answer, form, shape: self.shape }
    }
}
