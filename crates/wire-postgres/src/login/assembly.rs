//! Assembles complete messages from bytes that arrive in pieces. Used for the login, where speed
//! does not matter.

use crate::WireError;
use crate::frame::{HEADER, Header};
use crate::message::server::ERROR_RESPONSE;

/// The longest error that a server of protocol 3 sends before the login is over; servers that
/// cannot start a process send one of protocol 2, a text up to a NUL in place of length and fields.
const LONGEST_ERROR: u32 = 30_000;
/// The most that is held of such a text.
const LONGEST_OLD_ERROR: usize = 4096;

/// A complete message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// One of protocol 3.
    Of3 { kind: u8, body: Vec<u8> },
    /// An error of protocol 2: its text.
    OldError { text: Vec<u8> },
}

/// The start of a message.
#[derive(Default)]
pub(super) struct Assembly {
    pending: Vec<u8>,
}

impl Assembly {
    /// The next message. `None`: all of `rest` was taken and more is needed. `is_first`: the server
    /// may not have spoken this protocol yet.
    pub(super) fn next_message(
        &mut self,
        rest: &mut &[u8],
        is_first: bool,
    ) -> Result<Option<Message>, WireError> {
        if !self.fill(HEADER, rest) {
            return Ok(None);
        }
        let Some((&head, _)) = self.pending.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        if is_first && is_old_error(head) {
            return Ok(self.old_error(rest));
        }
        let header = Header::parse(head)?;
        if !self.fill(HEADER + header.whole_length()?, rest) {
            return Ok(None);
        }
        let mut body = std::mem::take(&mut self.pending);
        body.drain(..HEADER);
        Ok(Some(Message::Of3 { kind: header.kind, body }))
    }

    fn old_error(&mut self, rest: &mut &[u8]) -> Option<Message> {
        while !self.pending.ends_with(&[0]) && self.pending.len() < LONGEST_OLD_ERROR {
            let (byte, behind) = rest.split_first()?;
            self.pending.push(*byte);
            *rest = behind;
        }
        let mut text = std::mem::take(&mut self.pending);
        text.remove(0);
        text.retain(|&byte| byte != 0);
        Some(Message::OldError { text })
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

fn is_old_error([kind, a, b, c, d]: [u8; HEADER]) -> bool {
    kind == ERROR_RESPONSE && u32::from_be_bytes([a, b, c, d]) > LONGEST_ERROR
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server says that cannot start a process for the connection.
    const OLD: &[u8] = b"Ecould not fork new process for connection: out of memory\n\0";

    fn assembled(bytes: &[u8], piece: usize) -> Vec<Message> {
        let (mut assembly, mut messages) = (Assembly::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            let mut rest = piece;
            while !rest.is_empty() {
                let is_first = messages.is_empty();
                messages.extend(assembly.next_message(&mut rest, is_first).unwrap());
            }
        }
        messages
    }

    #[test]
    fn messages_are_the_same_in_any_pieces() {
        let two = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
        for piece in 1..=two.len() {
            let messages = assembled(two, piece);
            let of3 = |kind, body: &[u8]| Message::Of3 { kind, body: body.to_vec() };
            assert_eq!(messages, [of3(b'R', &[0; 4]), of3(b'Z', b"I")]);
        }
        for piece in 1..=OLD.len() {
            let text = OLD[1..OLD.len() - 1].to_vec();
            assert_eq!(assembled(OLD, piece), [Message::OldError { text }]);
        }
    }

    #[test]
    fn an_old_error_without_an_end_is_cut_off() {
        let endless = [b"E".as_slice(), &[b'x'; 10_000]].concat();
        let messages = assembled(&endless[..LONGEST_OLD_ERROR], 100);
        assert_eq!(messages, [Message::OldError { text: vec![b'x'; LONGEST_OLD_ERROR - 1] }]);
    }
}
