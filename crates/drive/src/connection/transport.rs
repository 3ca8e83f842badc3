//! A socket that never blocks, encrypted or not.

use super::received::Received;
use super::tls::TlsSession;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;

/// The connection's socket, with TLS where it is encrypted.
pub(crate) struct Transport {
    socket: OwnedFd,
    tls: Option<TlsSession>,
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
    pub(crate) fn encrypt(&mut self, tls: TlsSession) {
        self.tls = Some(tls);
    }

    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        match &mut self.tls {
            None => receive_plain(self.socket.as_fd(), buffer),
            Some(tls) => tls.receive(self.socket.as_fd(), buffer),
        }
    }

    /// Sends what the socket accepts now. Returns how many of `bytes` the caller no longer needs to
    /// keep; with TLS some of them may still be held as records, as `wants_write` shows.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => send_plain(self.socket.as_fd(), bytes),
            Some(tls) => tls.send(self.socket.as_fd(), bytes),
        }
    }

    /// Sends records that TLS still keeps.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(self.socket.as_fd()),
        }
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(TlsSession::wants_write)
    }

    /// Goes on with the TLS handshake. `true` when it is finished.
    pub(crate) fn handshake(&mut self) -> io::Result<bool> {
        match &mut self.tls {
            None => Ok(true),
            Some(tls) => tls.handshake(self.socket.as_fd()),
        }
    }

    /// What a login can be bound to, once the handshake is finished.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        self.tls.as_ref()?.end_point()
    }

    /// Protocol version and cipher, once the handshake is finished.
    pub(crate) fn cipher(&self) -> Option<String> {
        self.tls.as_ref()?.cipher()
    }
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
