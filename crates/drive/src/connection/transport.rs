//! A socket that never blocks, encrypted or not.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;
use std::io::{self, Read, Write};

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// `count` bytes, from `wire` bytes off the socket; `more` when others may be waiting already.
    Bytes { count: usize, wire: usize, more: bool },
    /// Nothing for now.
    Nothing,
    /// The server has closed the connection.
    End,
}

/// The connection's socket, with TLS where it is encrypted.
pub(crate) struct Transport {
    socket: OwnedFd,
    tls: Option<Box<Tls>>,
}

/// TLS, and what is known of the socket below it.
struct Tls {
    session: ClientConnection,
    /// The last read did not fill the buffer: the socket is empty, and new data raises a new event.
    emptied: bool,
}

impl Transport {
    pub(crate) fn new(socket: impl Into<OwnedFd>) -> Self {
        Self { socket: socket.into(), tls: None }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Puts TLS on the socket; [`Self::handshake`] runs the handshake.
    pub(crate) fn encrypt(&mut self, tls: ClientConnection) {
        self.tls = Some(Box::new(Tls { session: tls, emptied: false }));
    }

    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        match &mut self.tls {
            None => receive_plain(self.socket.as_fd(), buffer),
            Some(tls) => receive_encrypted(self.socket.as_fd(), tls, buffer),
        }
    }

    /// Sends what the socket accepts now. Returns how many of `bytes` the caller no longer needs to
    /// keep; with TLS some of them may still be held as records, as `wants_write` shows.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => send_plain(self.socket.as_fd(), bytes),
            Some(tls) => send_encrypted(self.socket.as_fd(), &mut tls.session, bytes),
        }
    }

    /// Sends records that TLS still keeps.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => flush_records(self.socket.as_fd(), &mut tls.session),
        }
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.session.wants_write())
    }

    /// Goes on with the TLS handshake. `true` when it is finished.
    pub(crate) fn handshake(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.session.is_handshaking() {
            flush_records(self.socket.as_fd(), &mut tls.session)?;
            if tls.session.is_handshaking() && !take_records(self.socket.as_fd(), tls)? {
                return Ok(false);
            }
        }
        flush_records(self.socket.as_fd(), &mut tls.session)?;
        Ok(true)
    }

    /// Protocol version and cipher, once the handshake is finished.
    pub(crate) fn cipher(&self) -> Option<String> {
        let tls = &self.tls.as_ref()?.session;
        let version = tls.protocol_version()?.as_str()?.replace('_', ".");
        let suite = tls.negotiated_cipher_suite()?.suite();
        let suite = suite.as_str()?.replace("TLS13_", "TLS_");
        Some(format!("{version} {suite}"))
    }
}

/// rustls decrypts all complete records, and a partial record waits for its rest. So there is more
/// to read only if it did not fit into `buffer`, or if the socket was not read empty.
fn receive_encrypted(
    socket: BorrowedFd<'_>,
    tls: &mut Tls,
    buffer: &mut [u8],
) -> io::Result<Received> {
    loop {
        match tls.session.reader().read(buffer) {
            Ok(0) => return Ok(Received::End),
            Ok(count) => {
                let more = count == buffer.len() || !tls.emptied;
                return Ok(Received::Bytes { count, wire: count, more });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The peer closed the socket without a closing alert: MySQL servers do.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Received::End);
            }
            Err(error) => return Err(error),
        }
        if !take_records(socket, tls)? {
            return Ok(Received::Nothing);
        }
    }
}

/// TLS holds at most some tens of kilobytes of records, so longer data is sent in pieces.
fn send_encrypted(
    socket: BorrowedFd<'_>,
    tls: &mut ClientConnection,
    bytes: &[u8],
) -> io::Result<usize> {
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        let taken = tls.writer().write(rest)?;
        flush_records(socket, tls)?;
        sent += taken;
        if taken == 0 && tls.wants_write() {
            break;
        }
    }
    Ok(sent)
}

/// Reads from the socket and decrypts. `false` when the socket had nothing.
fn take_records(socket: BorrowedFd<'_>, tls: &mut Tls) -> io::Result<bool> {
    let mut below = Socket { fd: socket, emptied: false };
    let read = tls.session.read_tls(&mut below);
    tls.emptied = below.emptied;
    match read {
        Ok(0) if tls.session.is_handshaking() => return Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
        Err(error) => return Err(error),
    }
    if let Err(error) = tls.session.process_new_packets() {
        // The alert tells the server why; it matters only if it can be sent.
        drop(flush_records(socket, &mut tls.session));
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    Ok(true)
}

fn flush_records(socket: BorrowedFd<'_>, tls: &mut ClientConnection) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(&mut Socket { fd: socket, emptied: false }) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn receive_plain(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let room = buffer.len();
    match retry_on_intr(|| recv(socket, &mut *buffer, RecvFlags::empty())) {
        Ok((0, _)) => Ok(Received::End),
        // A read that leaves room has taken all there was: epoll(7), question 9.
        Ok((count, _)) => Ok(Received::Bytes { count, wire: count, more: count == room }),
        Err(Errno::AGAIN) => Ok(Received::Nothing),
        Err(error) => Err(error.into()),
    }
}

fn send_plain(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(count) => Ok(count),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Treats a signal that interrupts a wait like a wait without a result.
fn again_if_interrupted(errno: Errno) -> Errno {
    if errno == Errno::INTR { Errno::AGAIN } else { errno }
}

/// A socket with the `Read` and `Write` traits that rustls needs.
struct Socket<'a> {
    fd: BorrowedFd<'a>,
    /// The last read emptied the socket.
    emptied: bool,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len();
        let (count, _) = retry_on_intr(|| recv(self.fd, &mut *buffer, RecvFlags::empty()))?;
        // As in `receive_plain`; the end has to be seen by a read of its own.
        self.emptied = (1..room).contains(&count);
        Ok(count)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.fd, bytes, SendFlags::NOSIGNAL).map_err(again_if_interrupted)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
