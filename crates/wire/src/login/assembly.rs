//! Assembles complete packets from bytes that arrive in pieces. Used for the login, where speed
//! does not matter.

use crate::WireError;
use crate::frame::{HEADER, Header};

/// The start of a packet.
#[derive(Default)]
pub(super) struct Assembly {
    pending: Vec<u8>,
}

impl Assembly {
    /// The next packet's number and payload. `None`: all of `rest` was taken and more is needed.
    pub(super) fn next_packet(
        &mut self,
        rest: &mut &[u8],
    ) -> Result<Option<(u8, Vec<u8>)>, WireError> {
        if !self.fill(HEADER, rest) {
            return Ok(None);
        }
        let Some((header, _)) = self.pending.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::parse(*header);
        if !self.fill(HEADER + header.whole_length()?, rest) {
            return Ok(None);
        }
        let mut packet = std::mem::take(&mut self.pending);
        packet.drain(..HEADER);
        Ok(Some((header.sequence, packet)))
    }

    /// Fills `pending` up to `wanted` bytes; returns whether that many are available.
    fn fill(&mut self, wanted: usize, rest: &mut &[u8]) -> bool {
        let missing = wanted.saturating_sub(self.pending.len());
        let (taken, tail) = rest.split_at(missing.min(rest.len()));
        self.pending.extend_from_slice(taken);
        *rest = tail;
        taken.len() == missing
    }
}
