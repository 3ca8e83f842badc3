//! The state of an incoming reply, and how each packet changes it.

use super::eof::parse_eof;
use super::local_infile::parse_file_name;
use super::ok::OkPacket;
use super::prepare_ok::parse_prepare_ok;
use super::result_head::{ResultHead, parse_column_count};
use super::{EOF, ERR, OK, parse_error};
use crate::frame::{Header, MAX_PACKET_PAYLOAD};
use crate::{Capabilities, Completion, Compression, Expect, Prepared, Reply, WireError, status};

/// The first byte of a packet that asks for a local file.
const LOCAL_INFILE: u8 = 0xfb;

/// A command of 1 GiB, the most a server accepts, has 65 packets; the reply's numbers follow on
/// from them.
const MOST_COMMAND_PACKETS: u8 = 65;

/// The position of the next packet in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is outstanding. Next: `Head`, when a command is sent.
    Idle,
    /// The first packet of a reply. Next: `Idle`, `Columns`, `ColumnsEnd`, `Rows`,
    /// `AfterInfile`, `MoreHead`, `PreparedParams`, `PreparedColumns`.
    Head,
    /// The first packet of a further result of the same reply. Next: as for `Head`.
    MoreHead,
    /// The caller sends a file; the statement's OK follows. Next: as for `Head`.
    AfterInfile,
    /// Definitions of a result set's columns. Next: `ColumnsEnd`, or `Rows` if EOF is deprecated.
    Columns { left: u16 },
    /// The EOF between definitions and rows. Next: `Rows`.
    ColumnsEnd,
    /// A row or the end of the rows. Next: `RowGoesOn`, `MoreHead`, `Idle`.
    Rows,
    /// A further packet of a row of 16 MiB or more. Next: `Rows`.
    RowGoesOn,
    /// Definitions of a statement's parameters. Next: `PreparedParamsEnd`, `PreparedColumns`,
    /// `Idle`.
    PreparedParams { left: u16 },
    /// The EOF after them. Next: `PreparedColumns`, `Idle`.
    PreparedParamsEnd,
    /// Definitions of a statement's columns. Next: `PreparedColumnsEnd`, `Idle`.
    PreparedColumns { left: u16 },
    /// The EOF after them. Next: `Idle`.
    PreparedColumnsEnd,
}

/// What a skipped packet, whose content does not matter for the reply, is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A column's definition.
    Definition,
    TextRow,
    BinaryRow,
}

/// The incoming reply. It sees headers and complete packets; the reader handles how the bytes
/// arrive.
#[derive(Debug)]
pub(super) struct Progress {
    phase: Phase,
    expect: Expect,
    sequence: u8,
    deprecate_eof: bool,
    /// Whether a column count says if definitions follow.
    caches_metadata: bool,
    /// Whether packets are checked by their numbers.
    numbered: bool,
    local_infile: bool,
    prepared: Prepared,
    totals: Completion,
}

impl Progress {
    pub(super) fn new(capabilities: Capabilities) -> Self {
        Self {
            phase: Phase::Idle,
            expect: Expect::Query,
            sequence: 0,
            deprecate_eof: capabilities.contains(Capabilities::DEPRECATE_EOF),
            caches_metadata: capabilities.contains(Capabilities::CACHE_METADATA),
            // Not with compression, where the outer packets are numbered: whenever a server
            // flushes, it continues the inner numbers from theirs.
            numbered: !Compression::ALL
                .iter()
                .any(|compression| capabilities.contains(compression.capability())),
            local_infile: false,
            prepared: Prepared::default(),
            totals: Completion::default(),
        }
    }

    pub(super) fn expect(&mut self, kind: Expect) {
        debug_assert!(self.is_idle(), "the reply before is not complete");
        self.phase = Phase::Head;
        self.expect = kind;
        self.sequence = 1;
        self.totals = Completion::default();
    }

    pub(super) fn allow_local_infile(&mut self, allowed: bool) {
        self.local_infile = allowed;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub(super) fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// What the next skipped packet is part of.
    #[inline]
    pub(super) fn part(&self) -> Part {
        match (self.phase, self.expect) {
            (Phase::Rows | Phase::RowGoesOn, Expect::Execute) => Part::BinaryRow,
            (Phase::Rows | Phase::RowGoesOn, _) => Part::TextRow,
            _ => Part::Definition,
        }
    }

    /// Whether the next packet, unless it ends the result, is a row.
    #[inline]
    pub(super) fn is_between_rows(&self) -> bool {
        self.phase == Phase::Rows
    }

    /// Whether the reply answers an execution: its rows are binary.
    #[inline]
    pub(super) fn is_execution(&self) -> bool {
        self.expect == Expect::Execute
    }

    /// The number of columns of a result of which nothing else has arrived.
    #[inline]
    pub(super) fn announced_columns(&self) -> Option<u16> {
        match self.phase {
            Phase::Columns { left } => Some(left),
            _ => None,
        }
    }

    /// Whether the received row continues in the next packet.
    pub(super) fn row_goes_on(&self) -> bool {
        self.phase == Phase::RowGoesOn
    }

    /// Whether the packet's content can be skipped. In the first packet of a row 0xfe and 0xff do
    /// not start a row: a value of 16 MiB starts with 0xfe too, but then the packet is full.
    #[inline]
    pub(super) fn is_skipped(&self, header: Header, first: u8) -> bool {
        match self.phase {
            Phase::Rows => {
                first < EOF || (first == EOF && header.length as usize == MAX_PACKET_PAYLOAD)
            }
            Phase::RowGoesOn => true,
            Phase::Columns { .. } => first != ERR,
            _ => false,
        }
    }

    /// Records a packet whose content is skipped.
    #[inline]
    pub(super) fn begin_skipped(&mut self, header: Header, first: u8) -> Result<(), WireError> {
        self.check_sequence(header)?;
        match self.phase {
            Phase::Rows => self.begin_row(header, first),
            Phase::RowGoesOn => {
                self.row_packet(header);
                Ok(())
            }
            Phase::Columns { left } => {
                header.whole_length()?;
                self.phase = match left {
                    2.. => Phase::Columns { left: left - 1 },
                    _ if self.deprecate_eof => Phase::Rows,
                    _ => Phase::ColumnsEnd,
                };
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn begin_row(&mut self, header: Header, first: u8) -> Result<(), WireError> {
        if self.expect == Expect::Execute && first != OK {
            return Err(WireError::UnexpectedPacket {
                expected: "a binary row",
                first_byte: first,
            });
        }
        self.totals.rows += 1;
        self.row_packet(header);
        Ok(())
    }

    #[inline]
    fn row_packet(&mut self, header: Header) {
        let is_full = header.length as usize == MAX_PACKET_PAYLOAD;
        self.phase = if is_full { Phase::RowGoesOn } else { Phase::Rows };
    }

    /// Processes a packet whose content matters.
    #[inline]
    pub(super) fn whole_packet(
        &mut self,
        header: Header,
        payload: &[u8],
    ) -> Result<Option<Reply>, WireError> {
        let Some(&first) = payload.first() else {
            return self.empty_packet(header);
        };
        if first == ERR {
            return self.error_packet(header, payload).map(Some);
        }
        if self.phase == Phase::Idle {
            return Err(WireError::Unasked);
        }
        self.check_sequence(header)?;
        match self.phase {
            Phase::Head | Phase::MoreHead | Phase::AfterInfile => self.head(payload, first),
            Phase::Rows => self.end_of_rows(payload),
            _ => self.between(payload, first),
        }
    }

    /// Numbers are consecutive within a reply. The first depends on how many packets the command
    /// had, and after a file on how many the file had.
    #[inline]
    fn check_sequence(&mut self, header: Header) -> Result<(), WireError> {
        if !self.is_in_sequence(header) {
            let (expected, got) = (self.sequence, header.sequence);
            return Err(WireError::OutOfSequence { expected, got });
        }
        self.sequence = header.sequence.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn is_in_sequence(&self, header: Header) -> bool {
        header.sequence == self.sequence
            || !self.numbered
            || match self.phase {
                Phase::Head => (1..=MOST_COMMAND_PACKETS).contains(&header.sequence),
                Phase::AfterInfile => true,
                _ => false,
            }
    }

    /// An error ends the reply. One that answers nothing is the server's last message before it
    /// closes the connection.
    #[cold]
    fn error_packet(&mut self, header: Header, payload: &[u8]) -> Result<Reply, WireError> {
        let error = parse_error(payload)?;
        if self.phase == Phase::Idle || !self.is_in_sequence(header) {
            return Err(WireError::Server(error));
        }
        self.phase = Phase::Idle;
        Ok(Reply::Failed(Box::new(error)))
    }

    /// Only a row that exactly fills its packets has an empty one, at its end.
    #[cold]
    fn empty_packet(&mut self, header: Header) -> Result<Option<Reply>, WireError> {
        match self.phase {
            Phase::Idle => Err(WireError::Unasked),
            Phase::RowGoesOn => self.begin_skipped(header, OK).map(|()| None),
            _ => Err(WireError::EmptyPacket { expected: "a reply" }),
        }
    }

    /// Processes the first packet of a result.
    #[inline]
    fn head(&mut self, payload: &[u8], first: u8) -> Result<Option<Reply>, WireError> {
        match (first, self.expect) {
            (_, Expect::Prepare) => self.prepare_ok(payload),
            (OK, _) => Ok(self.end_of_result(OkPacket::parse(payload)?)),
            (LOCAL_INFILE, _) => self.local_infile_request(payload).map(Some),
            (EOF, _) => Err(WireError::UnexpectedPacket { expected: "a reply", first_byte: EOF }),
            _ => {
                self.begin_result_set(parse_column_count(payload, self.caches_metadata)?);
                Ok(None)
            }
        }
    }

    #[inline]
    fn begin_result_set(&mut self, head: ResultHead) {
        self.totals.has_result_set = true;
        self.phase = match head.columns {
            left if head.definitions_follow => Phase::Columns { left },
            _ if self.deprecate_eof => Phase::Rows,
            _ => Phase::ColumnsEnd,
        };
    }

    #[cold]
    fn local_infile_request(&mut self, payload: &[u8]) -> Result<Reply, WireError> {
        let name = parse_file_name(payload)?;
        if !self.local_infile {
            return Err(WireError::UnexpectedLocalInfile { name });
        }
        self.phase = Phase::AfterInfile;
        Ok(Reply::WantsFile { name })
    }

    /// Processes the end of the rows: an OK with the first byte of EOF, or an EOF.
    #[inline]
    fn end_of_rows(&mut self, payload: &[u8]) -> Result<Option<Reply>, WireError> {
        let end = if self.deprecate_eof { OkPacket::parse(payload)? } else { parse_eof(payload)? };
        Ok(self.end_of_result(end))
    }

    #[inline]
    fn end_of_result(&mut self, ok: OkPacket) -> Option<Reply> {
        let totals = &mut self.totals;
        totals.affected_rows = totals.affected_rows.saturating_add(ok.affected_rows);
        totals.warnings = totals.warnings.saturating_add(ok.warnings);
        totals.status = ok.status;
        if ok.last_insert_id != 0 {
            totals.last_insert_id = ok.last_insert_id;
        }
        if ok.status & status::MORE_RESULTS_EXISTS != 0 {
            self.phase = Phase::MoreHead;
            return None;
        }
        self.phase = Phase::Idle;
        Some(Reply::Done(*totals))
    }

    fn prepare_ok(&mut self, payload: &[u8]) -> Result<Option<Reply>, WireError> {
        self.prepared = parse_prepare_ok(payload)?;
        Ok(match self.prepared.params {
            0 => self.prepared_params_end(),
            left => {
                self.phase = Phase::PreparedParams { left };
                None
            }
        })
    }

    /// Processes the packets between the first and the last of a reply that are not skipped: EOFs,
    /// and the definitions after a prepare, which is rare enough to read them completely.
    fn between(&mut self, payload: &[u8], first: u8) -> Result<Option<Reply>, WireError> {
        match self.phase {
            Phase::ColumnsEnd => {
                parse_eof(payload)?;
                self.phase = Phase::Rows;
                Ok(None)
            }
            Phase::PreparedParams { left } => Ok(self.prepared_param(left)),
            Phase::PreparedColumns { left } => Ok(self.prepared_column(left)),
            Phase::PreparedParamsEnd => {
                parse_eof(payload)?;
                Ok(self.prepared_params_end())
            }
            Phase::PreparedColumnsEnd => {
                parse_eof(payload)?;
                Ok(self.prepared_end())
            }
            _ => Err(WireError::UnexpectedPacket { expected: "a definition", first_byte: first }),
        }
    }

    fn prepared_param(&mut self, left: u16) -> Option<Reply> {
        match left {
            2.. => self.phase = Phase::PreparedParams { left: left - 1 },
            _ if self.deprecate_eof => return self.prepared_params_end(),
            _ => self.phase = Phase::PreparedParamsEnd,
        }
        None
    }

    fn prepared_params_end(&mut self) -> Option<Reply> {
        match self.prepared.columns {
            0 => self.prepared_end(),
            left => {
                self.phase = Phase::PreparedColumns { left };
                None
            }
        }
    }

    fn prepared_column(&mut self, left: u16) -> Option<Reply> {
        match left {
            2.. => self.phase = Phase::PreparedColumns { left: left - 1 },
            _ if self.deprecate_eof => return self.prepared_end(),
            _ => self.phase = Phase::PreparedColumnsEnd,
        }
        None
    }

    fn prepared_end(&mut self) -> Option<Reply> {
        self.phase = Phase::Idle;
        Some(Reply::Prepared(self.prepared))
    }
}
