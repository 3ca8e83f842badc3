//! The reply reader: from the bytes of one connection to replies.
//!
//! This is the hottest code of the load generator. Complete packets are read in place in the
//! caller's read buffer; rows and column definitions are skipped by their length, even if they
//! arrive in pieces. Only a packet whose content matters and that did not arrive completely is
//! copied, into `pending`.

use super::progress::{Part, Progress};
use super::rows::{KeptResults, KeptRows};
use crate::frame::{HEADER, Header};
use crate::{Capabilities, Expect, Reply, ResultSet, Row, WireError};

/// What `pending` may keep between replies.
const KEPT_CAPACITY: usize = 64;

/// Reads the replies of one connection.
///
/// After an error neither the connection nor its reader can be used any more.
#[derive(Debug)]
pub struct ReplyReader {
    progress: Progress,
    /// What to keep of the packet being skipped, if anything.
    keeping: Option<Part>,
    /// Bytes of the current packet that are still to be skipped.
    skip_left: u32,
    /// The start of an incomplete packet, with its header. Usually empty.
    pending: Vec<u8>,
    kept: Option<Box<KeptRows>>,
    results: Option<Box<KeptResults>>,
}

impl ReplyReader {
    /// For a connection that negotiated `capabilities`, from the login's
    /// [`Session`](crate::Session).
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            progress: Progress::new(capabilities),
            keeping: None,
            skip_left: 0,
            pending: Vec::new(),
            kept: None,
            results: None,
        }
    }

    /// A command was sent; its reply comes next. With several commands under way, call this for
    /// each when the reply before it is complete.
    pub fn expect(&mut self, kind: Expect) {
        if let Some(results) = &mut self.results {
            results.clear();
        }
        self.progress.expect(kind);
    }

    /// Whether a request for a local file is passed on. Otherwise it is an error: a hostile server
    /// could ask for any file.
    pub fn allow_local_infile(&mut self, allowed: bool) {
        self.progress.allow_local_infile(allowed);
    }

    /// Keeps the rows of the text result sets that arrive, until [`take_rows`](Self::take_rows).
    /// More than `limit_bytes` of them is an error. Binary rows, those of [`Expect::Execute`], are
    /// only counted.
    pub fn keep_rows(&mut self, limit_bytes: usize) {
        self.kept = Some(Box::new(KeptRows::new(limit_bytes)));
    }

    /// The rows kept since [`keep_rows`](Self::keep_rows), which must be called again to keep more.
    pub fn take_rows(&mut self) -> Vec<Row> {
        self.kept.take().map(|kept| kept.into_rows()).unwrap_or_default()
    }

    /// From now on keeps the results of each reply as they arrive, until the next command is
    /// expected. More than `limit_bytes` of rows is an error. Binary rows are only counted.
    pub fn keep_results(&mut self, limit_bytes: usize) {
        self.results = Some(Box::new(KeptResults::new(limit_bytes)));
    }

    /// Like [`keep_results`](Self::keep_results), but binary rows are kept too, with the types of
    /// their columns: for reading the [`values`](ResultSet::values).
    pub fn keep_values(&mut self, limit_bytes: usize) {
        self.results = Some(Box::new(KeptResults::new(limit_bytes).with_binary_rows()));
    }

    /// The results with rows of the last reply. Empty unless they are kept.
    pub fn results(&self) -> &[ResultSet] {
        self.results.as_ref().map(|kept| kept.results()).unwrap_or_default()
    }

    /// Whether no reply is outstanding.
    pub fn is_idle(&self) -> bool {
        self.progress.is_idle()
    }

    /// The number of the next packet: where
    /// [`write_local_infile_data`](crate::write_local_infile_data) starts.
    pub fn next_sequence(&self) -> u8 {
        self.progress.next_sequence()
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
                self.feed_packet(&mut rest)?
            } else {
                self.feed_pending(&mut rest)?
            };
            if reply.is_some() {
                return Ok((bytes.len() - rest.len(), reply));
            }
        }
        Ok((bytes.len(), None))
    }

    /// Processes a packet that starts at `rest`, in place.
    #[inline]
    fn feed_packet(&mut self, rest: &mut &[u8]) -> Result<Option<Reply>, WireError> {
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else {
            return Ok(self.set_aside(rest));
        };
        let header = Header::parse(*header);
        // The byte after an empty packet belongs to the next one.
        match body.first().filter(|_| header.length > 0) {
            Some(&first) if self.progress.is_skipped(header, first) => {
                self.begin_skipped(header, first)?;
                *rest = self.skip(body)?;
                Ok(None)
            }
            None if header.length > 0 => Ok(self.set_aside(rest)),
            _ => match body.split_at_checked(header.whole_length()?) {
                Some((payload, tail)) => {
                    *rest = tail;
                    self.whole_packet(header, payload)
                }
                None => Ok(self.set_aside(rest)),
            },
        }
    }

    /// Keeps an incomplete packet until the rest arrives.
    #[cold]
    fn set_aside(&mut self, rest: &mut &[u8]) -> Option<Reply> {
        self.pending.extend_from_slice(rest);
        *rest = &[];
        None
    }

    /// Processes the packet that starts in `pending`.
    #[cold]
    fn feed_pending(&mut self, rest: &mut &[u8]) -> Result<Option<Reply>, WireError> {
        if !self.fill_pending(HEADER, rest) {
            return Ok(None);
        }
        let Some((header, _)) = self.pending.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::parse(*header);
        if header.length > 0 && !self.fill_pending(HEADER + 1, rest) {
            return Ok(None);
        }
        if let Some(&first) = self.pending.get(HEADER)
            && self.progress.is_skipped(header, first)
        {
            self.begin_skipped(header, first)?;
            self.release_pending(Vec::new());
            self.skip(&[first])?;
            return Ok(None);
        }
        if !self.fill_pending(HEADER + header.whole_length()?, rest) {
            return Ok(None);
        }
        let packet = std::mem::take(&mut self.pending);
        let reply = self.whole_packet(header, packet.get(HEADER..).unwrap_or_default());
        self.release_pending(packet);
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

    /// Starts a packet whose content is skipped.
    #[inline]
    fn begin_skipped(&mut self, header: Header, first: u8) -> Result<(), WireError> {
        self.keeping = match (&self.kept, &self.results) {
            (None, None) => None,
            _ => self.begin_kept(),
        };
        self.progress.begin_skipped(header, first)?;
        self.skip_left = header.length;
        Ok(())
    }

    /// If results are kept: what to keep of the packet that starts.
    #[cold]
    fn begin_kept(&mut self) -> Option<Part> {
        let part = self.progress.part();
        let mut wanted = part == Part::TextRow;
        if let Some(results) = &mut self.results {
            if self.progress.is_between_rows() {
                results.count_row();
            }
            wanted |= results.has_binary_rows() && self.progress.is_execution();
        }
        wanted.then_some(part)
    }

    #[inline]
    fn whole_packet(&mut self, header: Header, payload: &[u8]) -> Result<Option<Reply>, WireError> {
        let completes_row = payload.is_empty() && self.progress.row_goes_on();
        let reply = self.progress.whole_packet(header, payload)?;
        if completes_row && let Some(kept) = &mut self.kept {
            kept.finish_row()?;
        }
        if let Some(results) = &mut self.results
            && let Some(columns) = self.progress.announced_columns()
        {
            results.begin(columns)?;
        }
        Ok(reply)
    }

    /// Skips what has arrived of the current packet; returns the rest of `bytes`.
    #[inline]
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], WireError> {
        let length = (self.skip_left as usize).min(bytes.len());
        let (skipped, rest) = bytes.split_at(length);
        self.skip_left -= length as u32;
        if let Some(part) = self.keeping {
            self.keep(part, skipped)?;
        }
        Ok(rest)
    }

    #[cold]
    fn keep(&mut self, part: Part, bytes: &[u8]) -> Result<(), WireError> {
        let packet_ends = self.skip_left == 0;
        if packet_ends {
            self.keeping = None;
        }
        if let Some(results) = &mut self.results {
            match part {
                Part::Definition => results.append_definition(bytes, packet_ends)?,
                Part::TextRow | Part::BinaryRow => results.append(bytes)?,
            }
        }
        if let Some(kept) = &mut self.kept
            && part == Part::TextRow
        {
            kept.append(bytes)?;
            if packet_ends && !self.progress.row_goes_on() {
                kept.finish_row()?;
            }
        }
        Ok(())
    }
}
