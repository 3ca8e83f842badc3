//! Bytes that wait to be taken. There are nearly always none, and then they take no memory.

#[derive(Debug, Default)]
pub(super) struct Waiting {
    bytes: Vec<u8>,
    taken: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    /// The first `count` bytes are taken.
    pub(super) fn advance(&mut self, count: usize) {
        self.taken += count;
        if self.taken >= self.bytes.len() {
            *self = Self::default();
        }
    }

    /// Copies as many as there is room for. Returns their number.
    pub(super) fn take_into(&mut self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.rest().len());
        for (to, from) in room.iter_mut().zip(self.rest()) {
            *to = *from;
        }
        self.advance(count);
        count
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends what `write` writes into `room` bytes, which is nothing if it fails.
    pub(super) fn append_with<E>(
        &mut self,
        room: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let before = self.bytes.len();
        self.bytes.resize(before + room, 0);
        let written = write(self.bytes.get_mut(before..).unwrap_or_default());
        self.bytes.truncate(before + written.as_ref().map_or(0, |count| *count));
        written.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_in_pieces_leaves_nothing_behind() {
        let mut waiting = Waiting::default();
        waiting.append(b"abcde");
        let mut room = [0; 2];
        assert_eq!((waiting.take_into(&mut room), &room), (2, b"ab"));
        waiting.append(b"f");
        waiting.advance(1);
        assert_eq!(waiting.rest(), b"def");
        assert_eq!(waiting.take_into(&mut [0; 9]), 3);
        assert!(waiting.is_empty() && waiting.bytes.capacity() == 0);
    }

    #[test]
    fn a_write_that_fails_appends_nothing() {
        let mut waiting = Waiting::default();
        let failed = waiting.append_with(4, |room| {
            room.fill(b'x');
            Err("no")
        });
        assert_eq!((failed, waiting.rest()), (Err("no"), &b""[..]));
        let written = waiting.append_with(4, |room| {
            room[..3].copy_from_slice(b"abc");
            Ok::<_, &str>(3)
        });
        assert_eq!((written, waiting.rest()), (Ok(()), &b"abc"[..]));
    }
}
