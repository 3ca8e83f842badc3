//! Connections: how they are opened, what travels on them, and how they end.
//!
//! [`Connection`] is an open one: its stream to the server, the answers that are owed, and the statements
//! that the server has prepared on it.

pub mod client;
mod endpoint;
mod failures;
mod family;
mod handles;
mod loss;
mod numbers;
mod opening;
mod outbox;
mod poller;
mod pulse;
mod received;
mod sources;
mod stop;
mod stream;
mod tls;
mod transport;

pub(crate) use endpoint::Endpoint;
pub(crate) use family::{Conversation, Extended, ProtocolError, conflict, verdict};
pub use family::{ServerFamily, ed25519_answer, parsec_answer};
pub(crate) use handles::Handle;
pub(crate) use loss::{Loss, ends_connection};
pub use numbers::connections_to;
pub(crate) use opening::{Advance, Opened, Opening};
pub(crate) use poller::{Interest, Poller, Ready};
pub(crate) use received::Received;

use handles::Handles;
use loadstone_protocol::{Expect, Reply};
use loadstone_workload::StatementRef;
use numbers::Numbered;
use rustix::fd::BorrowedFd;
use socket2::SockRef;
use std::io;
use stream::Stream;

/// What is read of one connection before others have their turn, in bytes after decompression.
pub(crate) const BYTES_A_TURN: usize = 256 * 1024;

pub(crate) struct Connection {
    stream: Stream,
    pub(crate) conversation: Conversation,
    /// What the poller watches for.
    pub(crate) interest: Interest,
    /// The server has closed its side. The poller reports that once, and what came before it may
    /// take several turns to read.
    pub(crate) has_ended: bool,
    /// Its turn was over before all was read: another one is due.
    is_queued: bool,
    handles: Handles,
    _number: Option<Box<Numbered>>,
}

impl Connection {
    fn new(
        stream: Stream,
        conversation: Conversation,
        interest: Interest,
        number: Option<Box<Numbered>>,
    ) -> Self {
        Self {
            stream,
            conversation,
            interest,
            has_ended: false,
            is_queued: false,
            handles: Handles::default(),
            _number: number,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.fd()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.stream.is_compressed()
    }

    pub(crate) fn handle(&mut self, statement: StatementRef) -> Option<Handle> {
        self.handles.of(statement)
    }

    pub(crate) fn remember(&mut self, statement: StatementRef, handle: Handle) {
        self.handles.remember(statement, handle);
    }

    /// Forgets how statements are sent: each is prepared again when it is next needed.
    pub(crate) fn forget_handles(&mut self) {
        self.handles.forget();
    }

    /// Sends a whole command, whose answer will be of the kind `expected`. Returns its size on the
    /// wire, in bytes.
    pub(crate) fn send(&mut self, command: &[u8], expected: Expect) -> io::Result<usize> {
        self.conversation.expect(expected);
        self.send_expected(command)
    }

    /// Sends a whole command, whose answer the conversation already expects. Returns its size on the
    /// wire, in bytes.
    pub(crate) fn send_expected(&mut self, command: &[u8]) -> io::Result<usize> {
        self.stream.send_command(command)
    }

    /// Sends what belongs to the command before it.
    pub(crate) fn send_more(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.send(bytes)
    }

    /// Whether the socket has not taken everything yet.
    pub(crate) fn has_unsent(&self) -> bool {
        self.stream.waits_for_room()
    }

    /// How many bytes are kept for the socket.
    pub(crate) fn unsent(&self) -> usize {
        self.stream.unsent()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    /// Notes what the poller has reported. Returns whether it is this connection's turn to be read: one
    /// that has a rest to read is read once in each round of the loop, however often data arrives.
    pub(crate) fn begins_turn(&mut self, ready: Ready) -> bool {
        self.has_ended |= ready.ended;
        if ready.is_rest != self.is_queued {
            return false;
        }
        self.is_queued = false;
        true
    }

    /// The turn is over, and others are next. There is more to read.
    pub(crate) fn leaves_rest(&mut self) {
        self.is_queued = true;
    }

    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        self.stream.receive(buffer)
    }

    /// Takes what was received: see [`Conversation::feed`].
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Reply>), ProtocolError> {
        self.conversation.feed(bytes)
    }

    /// What the socket must be watched for now.
    pub(crate) fn wanted_interest(&self) -> Interest {
        if self.has_unsent() { Interest::ReadAndWrite } else { Interest::Arrival }
    }

    /// Says goodbye, so that the server does not count an aborted client. Best effort: the
    /// connection is closed right after it.
    pub(crate) fn quit(mut self) {
        self.say_goodbye();
    }

    /// Says goodbye. `Some`: the server, if it has heard that, closes the connection, which is over TCP, and this side
    /// should wait for that. `None`: it is closed.
    pub(crate) fn leave(mut self) -> Option<Self> {
        self.say_goodbye();
        let address = SockRef::from(&self.fd()).local_addr();
        let is_tcp = address.is_ok_and(|address| !address.is_unix());
        (is_tcp && !self.has_ended && !self.has_unsent()).then_some(self)
    }

    fn say_goodbye(&mut self) {
        let mut out = Vec::new();
        self.conversation.write_quit(&mut out);
        drop(self.stream.send_command(&out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use transport::Transport;

    fn connection() -> Connection {
        let (socket, _) = UnixStream::pair().expect("a pair of sockets");
        let stream = Stream::new(Transport::new(socket));
        Connection::new(stream, Conversation::after_a_login(), Interest::Arrival, None)
    }

    #[test]
    fn a_connection_with_a_rest_has_one_turn_in_each_round_and_keeps_its_end_in_mind() {
        let event = |ended| Ready { token: 0, writable: false, ended, is_rest: false };
        let rest = Ready { is_rest: true, ..event(false) };
        let mut one = connection();
        assert!(one.begins_turn(event(false)));
        one.leaves_rest();
        assert!(!one.begins_turn(event(true)), "it is in the queue already");
        assert!(one.begins_turn(rest));
        assert!(one.has_ended, "that is reported once");
        assert!(!one.begins_turn(rest), "the rest of a connection that this one replaced");
    }
}
