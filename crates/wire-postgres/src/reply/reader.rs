//! The reply reader: from the bytes of one connection to replies.
//!
//! This is the hottest code of the load generator. Complete messages are read in place in the
//! caller's read buffer; rows are skipped by their length, even if they arrive in pieces. Only a
//! message whose content matters and that did not arrive completely is copied, into `pending`.

use super::columns::Columns;
use super::exchange::Unit;
use super::progress::Progress;
use super::rows::{Kept, KeptResults, KeptRows, Part};
use crate::frame::{HEADER, Header, MAX_WHOLE_MESSAGE};
use crate::message::server::{
    COMMAND_COMPLETE, ERROR_RESPONSE, NOTICE_RESPONSE, PORTAL_SUSPENDED, ROW_DESCRIPTION,
};
use crate::{Exchange, Reply, ResultSet, Row, WireError};

/// What `pending` may keep between replies.
const KEPT_CAPACITY: usize = 64;

/// Reads the replies of one connection.
///
/// After an error neither the connection nor its reader can be used any more.
#[derive(Debug)]
pub struct ReplyReader {
    progress: Progress,
    /// What to keep of the message being skipped, if anything.
    keeping: Option<Part>,
    /// Bytes of the current message that are still to be skipped.
    skip_left: u32,
    /// The start of an incomplete message, with its header. Usually empty.
    pending: Vec<u8>,
    kept: Option<Box<Kept>>,
}

impl ReplyReader {
    /// For a connection that has logged in, with the state of its [`Session`](crate::Session).
    pub fn new(status: u16) -> Self {
        Self {
            progress: Progress::new(status),
            keeping: None,
            skip_left: 0,
            pending: Vec::new(),
            kept: None,
        }
    }

    /// A command was sent that ends with a Sync, or is a query; its reply comes after those that
    /// are due already.
    pub fn expect(&mut self, exchange: Exchange) {
        self.expect_unit(Unit::synced(exchange));
    }

    pub(crate) fn expect_unit(&mut self, unit: Unit) {
        if self.progress.is_idle()
            && let Some(results) = self.kept_results()
        {
            results.clear();
        }
        self.progress.expect(unit);
    }

    /// Whether a request for rows to copy is passed on. Otherwise it is an error: nobody would send
    /// them.
    pub fn allow_copy_in(&mut self, allowed: bool) {
        self.progress.allow_copy_in(allowed);
    }

    pub(crate) fn needs_sync_after_copy(&self) -> bool {
        self.progress.needs_sync_after_copy()
    }

    /// Keeps the rows that arrive, until [`take_rows`](Self::take_rows). More than `limit_bytes` of
    /// them is an error. Each piece of what is copied out counts as a row of one value.
    pub fn keep_rows(&mut self, limit_bytes: usize) {
        self.kept.get_or_insert_default().rows = Some(KeptRows::new(limit_bytes));
    }

    /// The rows kept since [`keep_rows`](Self::keep_rows), which must be called again to keep more.
    pub fn take_rows(&mut self) -> Vec<Row> {
        let rows = self.kept.as_mut().and_then(|kept| kept.rows.take());
        // Without anything to keep, columns need not be read.
        self.kept.take_if(|kept| kept.results.is_none());
        rows.map(KeptRows::into_rows).unwrap_or_default()
    }

    /// From now on keeps the results of each reply as they arrive, until a command is expected
    /// while none is due. More than `limit_bytes` of rows is an error.
    pub fn keep_results(&mut self, limit_bytes: usize) {
        self.kept.get_or_insert_default().results = Some(KeptResults::new(limit_bytes));
    }

    /// The results with rows of the last reply. Empty unless they are kept.
    pub fn results(&self) -> &[ResultSet] {
        let results = self.kept.as_ref().and_then(|kept| kept.results.as_ref());
        results.map(KeptResults::results).unwrap_or_default()
    }

    /// Whether no reply is outstanding.
    pub fn is_idle(&self) -> bool {
        self.progress.is_idle()
    }

    /// The state of the transaction, as the server said it last: see [`status`](crate::status).
    pub fn status(&self) -> u16 {
        self.progress.ready()
    }

    /// Feeds bytes from the socket. Returns how many bytes were used, and the reply if it is
    /// complete. `None`: all bytes were used and more are needed.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Reply>), WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let reply = if self.skip_left > 0 {
                rest = self.skip(rest)?;
                None
            } else if self.pending.is_empty() {
                self.feed_message(&mut rest)?
            } else {
                self.feed_pending(&mut rest)?
            };
            if reply.is_some() {
                return Ok((bytes.len() - rest.len(), reply));
            }
        }
        Ok((bytes.len(), None))
    }

    /// Processes a message that starts at `rest`, in place.
    #[inline]
    fn feed_message(&mut self, rest: &mut &[u8]) -> Result<Option<Reply>, WireError> {
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else {
            return Ok(self.set_aside(rest));
        };
        let header = Header::parse(*header)?;
        if self.is_skipped(header) {
            self.begin_skipped(header)?;
            *rest = if header.length == 0 { body } else { self.skip(body)? };
            return Ok(None);
        }
        match body.split_at_checked(held_length(header)?) {
            Some((held, tail)) => {
                *rest = tail;
                self.whole_message(header, held)
            }
            None => Ok(self.set_aside(rest)),
        }
    }

    /// Keeps an incomplete message until the rest arrives.
    #[cold]
    fn set_aside(&mut self, rest: &mut &[u8]) -> Option<Reply> {
        self.pending.extend_from_slice(rest);
        *rest = &[];
        None
    }

    /// Processes the message that starts in `pending`.
    #[cold]
    fn feed_pending(&mut self, rest: &mut &[u8]) -> Result<Option<Reply>, WireError> {
        if !self.fill_pending(HEADER, rest) {
            return Ok(None);
        }
        let Some((&head, _)) = self.pending.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::parse(head)?;
        // A body that has been kept so far is kept on, whatever the caller wants of it by now.
        if self.pending.len() == HEADER && self.is_skipped(header) {
            self.begin_skipped(header)?;
            self.release_pending(Vec::new());
            return Ok(None);
        }
        if !self.fill_pending(HEADER + held_length(header)?, rest) {
            return Ok(None);
        }
        let message = std::mem::take(&mut self.pending);
        let reply = self.whole_message(header, message.get(HEADER..).unwrap_or_default());
        self.release_pending(message);
        reply
    }

    /// Fills `pending` up to `wanted` bytes; returns whether that many are available.
    fn fill_pending(&mut self, wanted: usize, rest: &mut &[u8]) -> bool {
        let missing = wanted.saturating_sub(self.pending.len());
        let (taken, tail) = rest.split_at(missing.min(rest.len()));
        self.pending.extend_from_slice(taken);
        *rest = tail;
        taken.len() == missing
    }

    fn release_pending(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.pending = if buffer.capacity() > KEPT_CAPACITY { Vec::new() } else { buffer };
    }

    #[inline]
    fn is_skipped(&self, header: Header) -> bool {
        self.progress.is_skipped(header.kind, self.kept.is_some())
    }

    /// Starts a message whose content is skipped.
    #[inline]
    fn begin_skipped(&mut self, header: Header) -> Result<(), WireError> {
        let part = self.progress.begin_skipped(header.kind)?;
        self.skip_left = header.length;
        if self.kept.is_some() {
            self.keeping = part;
            if header.length == 0 {
                self.keep(&[])?;
            }
        }
        Ok(())
    }

    /// Skips what has arrived of the current message; returns the rest of `bytes`.
    #[inline]
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], WireError> {
        let length = (self.skip_left as usize).min(bytes.len());
        let (skipped, rest) = bytes.split_at(length);
        self.skip_left -= length as u32;
        if self.keeping.is_some() {
            self.keep(skipped)?;
        }
        Ok(rest)
    }

    #[cold]
    fn keep(&mut self, piece: &[u8]) -> Result<(), WireError> {
        let Some(part) = self.keeping else { return Ok(()) };
        let is_last = self.skip_left == 0;
        if is_last {
            self.keeping = None;
        }
        match &mut self.kept {
            Some(kept) => kept.append(part, piece, is_last),
            None => Ok(()),
        }
    }

    #[inline]
    fn whole_message(&mut self, header: Header, held: &[u8]) -> Result<Option<Reply>, WireError> {
        // What is beyond the limit of an error's text.
        self.skip_left = header.length.saturating_sub(held.len() as u32);
        if header.kind == ROW_DESCRIPTION {
            return self.row_description(held);
        }
        let reply = self.progress.whole_message(header.kind, held)?;
        if let Some(results) = self.kept_results()
            && matches!(header.kind, COMMAND_COMPLETE | PORTAL_SUSPENDED | ERROR_RESPONSE)
        {
            results.end();
        }
        Ok(reply)
    }

    fn row_description(&mut self, body: &[u8]) -> Result<Option<Reply>, WireError> {
        let is_result = !self.progress.is_preparing();
        let reply = self.progress.row_description(Columns::parse_count(body)?)?;
        if is_result && let Some(results) = self.kept_results() {
            results.begin(Columns::parse(body)?)?;
        }
        Ok(reply)
    }

    #[inline]
    fn kept_results(&mut self) -> Option<&mut KeptResults> {
        self.kept.as_mut().and_then(|kept| kept.results.as_mut())
    }
}

/// How much of a message is held. An error may quote a value of any length, and its code comes
/// first.
#[inline]
fn held_length(header: Header) -> Result<usize, WireError> {
    match header.kind {
        ERROR_RESPONSE | NOTICE_RESPONSE => Ok((header.length as usize).min(MAX_WHOLE_MESSAGE)),
        _ => header.whole_length(),
    }
}
