//! A socket that never blocks, with the `Read` and `Write` traits that TLS needs.

use rustix::fd::BorrowedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{self, Read, Write};

/// The socket below a TLS session.
pub(super) struct Socket<'a> {
    fd: BorrowedFd<'a>,
    /// The last read emptied the socket.
    pub(super) emptied: bool,
}

impl<'a> Socket<'a> {
    pub(super) fn new(fd: BorrowedFd<'a>) -> Self {
        Self { fd, emptied: false }
    }
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len();
        let (count, _) = retry_on_intr(|| recv(self.fd, &mut *buffer, RecvFlags::empty()))?;
        // A read that leaves room has taken all there was: epoll(7), question 9. The end has to be
        // seen by a read of its own.
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

/// Treats a signal that interrupts a wait like a wait without a result.
fn again_if_interrupted(errno: Errno) -> Errno {
    if errno == Errno::INTR { Errno::AGAIN } else { errno }
}
