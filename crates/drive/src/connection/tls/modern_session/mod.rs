//! One connection's TLS by rustls, which decrypts each record where the socket's bytes lie: a connection has no buffer
//! of its own while it rests, and one call brings all records that have arrived.

mod pass;
#[cfg(test)]
mod tests;
mod waiting;

use super::alpn::Alpn;
use super::identity::end_point;
use super::refusals::judged;
use super::socket::Socket;
use crate::connection::received::Received;
use openssl::x509::X509;
use pass::Pass;
use rustix::fd::BorrowedFd;
use rustls::Error;
use rustls::client::UnbufferedClientConnection;
use std::io::{self, Read, Write};
use std::ops::Range;
use waiting::Waiting;

/// Bytes. The longest plaintext of a record (RFC 8446, 5.1): what a pass decrypts finds room before the records.
const RECORD: usize = 16 * 1024;

/// Bytes that one read of a handshake takes: a server's flight is a few kilobytes.
const FLIGHT: usize = 4 * 1024;

/// The TLS of one connection.
pub(crate) struct ModernSession {
    session: UnbufferedClientConnection,
    /// Received bytes that are no whole record yet.
    partial: Vec<u8>,
    /// Decrypted bytes that did not fit, or that came with the end of the handshake.
    plain: Waiting,
    /// Encrypted bytes that the socket has not taken.
    unsent: Waiting,
    /// The server has said that nothing follows.
    has_closed: bool,
    alpn: Option<Alpn>,
}

impl ModernSession {
    pub(super) fn new(session: UnbufferedClientConnection, alpn: Option<Alpn>) -> Self {
        Self {
            session,
            partial: Vec::new(),
            plain: Waiting::default(),
            unsent: Waiting::default(),
            has_closed: false,
            alpn,
        }
    }

    pub(super) fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        let mut flight = [0; FLIGHT];
        loop {
            let passed = self.pass_partial(None);
            // An alert tells the server why; it matters only if it can be sent.
            let flushed = self.flush(socket);
            passed.map_err(invalid).map_err(judged)?;
            flushed?;
            if !self.session.is_handshaking() {
                break;
            }
            match Socket::new(socket).read(&mut flight) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.partial.extend(flight.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.alpn.map_or(Ok(()), |alpn| alpn.check(self.session.alpn_protocol()))?;
        Ok(true)
    }

    /// All complete records are decrypted, and a partial one waits for its rest. So there is more to read only if it
    /// did not fit into `buffer`, or if the socket was not read empty.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> io::Result<Received> {
        if !self.plain.is_empty() {
            let count = self.plain.take_into(buffer);
            return Ok(Received::Bytes { count, wire: count, more: true });
        }
        while !self.has_closed {
            let start = RECORD.min(buffer.len() / 2);
            let first = start + self.partial.len();
            let mut below = Socket::new(socket);
            let read = match buffer.get_mut(first..).filter(|room| !room.is_empty()) {
                Some(room) => below.read(room),
                None => Err(too_long()),
            };
            let count = match read {
                Ok(0) => return Ok(Received::End),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Received::Nothing);
                }
                Err(error) => return Err(error),
            };
            let emptied = below.emptied;
            buffer.get_mut(start..first).unwrap_or_default().copy_from_slice(&self.partial);
            let count = self.decrypt(buffer, start..first + count, socket)?;
            if count > 0 {
                let more = !emptied || self.has_closed || !self.plain.is_empty();
                return Ok(Received::Bytes { count, wire: count, more });
            }
        }
        Ok(Received::End)
    }

    /// Decrypts the records at `place` of the buffer to its beginning, and keeps a partial one. Returns the number of
    /// decrypted bytes there.
    fn decrypt(
        &mut self,
        buffer: &mut [u8],
        place: Range<usize>,
        socket: BorrowedFd<'_>,
    ) -> io::Result<usize> {
        let mut pass = Pass::new(&mut self.plain, &mut self.unsent, &mut self.has_closed);
        let buffer = buffer.get_mut(..place.end).unwrap_or_default();
        let passed = pass.run(&mut self.session, buffer, place.start, None);
        let (used, count) = (pass.used, pass.written);
        // As in the handshake.
        let flushed = self.flush(socket);
        passed.map_err(invalid)?;
        flushed?;
        // Of just its length, as most connections wait for the rest of a record now and then.
        self.partial = buffer.get(used..).unwrap_or_default().to_vec();
        Ok(count)
    }

    /// At most one record is kept, so longer data is sent in pieces.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        for piece in bytes.chunks(RECORD) {
            self.flush(socket)?;
            if !self.unsent.is_empty() {
                return Ok(sent);
            }
            self.pass_partial(Some(piece)).map_err(invalid)?;
            sent += piece.len();
        }
        self.flush(socket)?;
        Ok(sent)
    }

    /// Lets rustls work on what is kept of received bytes, and encrypt `clear` where that is given.
    fn pass_partial(&mut self, clear: Option<&[u8]>) -> Result<(), Error> {
        let mut pass = Pass::new(&mut self.plain, &mut self.unsent, &mut self.has_closed);
        let passed = pass.run(&mut self.session, &mut self.partial, 0, clear);
        if pass.used > 0 {
            self.partial = self.partial.get(pass.used..).unwrap_or_default().to_vec();
        }
        passed
    }

    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match Socket::new(socket).write(self.unsent.rest()) {
                Ok(count) => self.unsent.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn wants_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(super) fn end_point(&self) -> Option<Vec<u8>> {
        let certificate = self.session.peer_certificates()?.first()?;
        end_point(X509::from_der(certificate).ok()?.as_ref())
    }

    pub(super) fn cipher(&self) -> Option<String> {
        let version = self.session.protocol_version()?.as_str()?.replace('_', ".");
        let suite = self.session.negotiated_cipher_suite()?.suite();
        let suite = suite.as_str()?.replace("TLS13_", "TLS_");
        Some(format!("{version} {suite}"))
    }
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn too_long() -> io::Error {
    invalid(Error::General(
        "the server's TLS message is longer than any that it may send".to_owned(),
    ))
}
