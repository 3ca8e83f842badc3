//! The outbox of a connection: bytes that the socket has not taken yet. It is nearly always empty.

use super::transport::Transport;
use std::io;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes the socket has not taken.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends `bytes`, after what is kept already; keeps what the socket does not take.
    pub(crate) fn send(&mut self, transport: &mut Transport, bytes: &[u8]) -> io::Result<()> {
        if !self.is_empty() {
            self.bytes.extend_from_slice(bytes);
            return self.flush(transport);
        }
        let count = transport.send(bytes)?;
        if let Some(rest) = bytes.get(count..).filter(|rest| !rest.is_empty()) {
            self.bytes.extend_from_slice(rest);
        }
        Ok(())
    }

    /// Sends what is kept.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> io::Result<()> {
        transport.flush()?;
        if self.is_empty() {
            return Ok(());
        }
        self.sent += transport.send(self.bytes.get(self.sent..).unwrap_or_default())?;
        if self.sent >= self.bytes.len() {
            *self = Self::default();
        }
        Ok(())
    }

    /// Whether the socket must be watched for room.
    pub(crate) fn waits_for_room(&self, transport: &Transport) -> bool {
        !self.is_empty() || transport.wants_write()
    }
}
