//! The timestamps of every answer: what the server did, whatever its script said.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// COM_STMT_EXECUTE.
    Execute = 0,
    /// COM_QUERY with a load statement.
    Query = 1,
    /// COM_QUERY with anything else: questions, settings.
    Administration = 2,
    /// COM_STMT_PREPARE.
    Prepare = 3,
    /// A greeting, or a refusal in its place.
    Greeting = 4,
    /// The result of a login.
    Login = 5,
    /// Any other command that is answered.
    Other = 6,
    /// The answer to a step of the TLS handshake.
    Handshake = 7,
}

/// How a command was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// With OK.
    Done = 0,
    /// With rows.
    Rows = 1,
    /// With an error.
    Error = 2,
    /// Not at all: the connection was closed.
    Dropped = 3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Query => "query",
            Self::Administration => "administration",
            Self::Prepare => "prepare",
            Self::Greeting => "greeting",
            Self::Login => "login",
            Self::Other => "other",
            Self::Handshake => "handshake",
        }
    }
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rows => "rows",
            Self::Error => "error",
            Self::Dropped => "dropped",
        }
    }
}

/// One answer. Times are CLOCK_MONOTONIC in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The connection's number, from 1 in order of arrival.
    pub connection: u32,
    /// The kind of the command.
    pub kind: Kind,
    /// How it was answered.
    pub outcome: Outcome,
    /// The error code, or 0.
    pub errno: u16,
    /// When the command's first byte was read.
    pub received_ns: u64,
    /// When the script wanted the answer to be sent.
    pub due_ns: u64,
    /// Just before the call that sent its last byte.
    pub sent_ns: u64,
}

/// The start of the binary form; the number of bytes of a record follows as `int<4>`, and zeros up
/// to 32 bytes.
pub const MAGIC: &[u8; 8] = b"NULLLOG1";
/// The size in bytes of a record in the binary form, and of its header.
pub const RECORD_BYTES: usize = 32;

/// Records in chunks, so that none is ever copied on growth.
#[derive(Debug, Default)]
pub struct Log {
    chunks: Vec<Vec<Record>>,
    kept: usize,
    kept_max: usize,
    lost: u64,
}

const CHUNK: usize = 1 << 14;

impl Log {
    pub(crate) fn new(kept_max: usize) -> Self {
        Self { kept_max, ..Self::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.kept_max > 0
    }

    pub(crate) fn push(&mut self, record: Record) {
        if self.kept >= self.kept_max {
            self.lost += u64::from(self.is_on());
            return;
        }
        if self.kept.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(record);
            self.kept += 1;
        }
    }

    /// All records, in the order of their last bytes.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.chunks.iter().flatten()
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// The number of records that found no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// As text, one line per record below a header line.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "connection,kind,outcome,errno,received_ns,due_ns,sent_ns")?;
        for one in self.records() {
            let (kind, outcome) = (one.kind.name(), one.outcome.name());
            write!(out, "{},{kind},{outcome},{},", one.connection, one.errno)?;
            writeln!(out, "{},{},{}", one.received_ns, one.due_ns, one.sent_ns)?;
        }
        out.flush()
    }

    /// As fixed records, little-endian: connection `int<4>`, kind and outcome `int<1>`, errno
    /// `int<2>`, then the three times `int<8>`.
    pub fn write_binary(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = [0; RECORD_BYTES];
        head[..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
        out.write_all(&head)?;
        for one in self.records() {
            out.write_all(&one.connection.to_le_bytes())?;
            out.write_all(&[one.kind as u8, one.outcome as u8])?;
            out.write_all(&one.errno.to_le_bytes())?;
            for time in [one.received_ns, one.due_ns, one.sent_ns] {
                out.write_all(&time.to_le_bytes())?;
            }
        }
        out.flush()
    }
}

/// Where a log is written at the end. The file is opened at the start, so that a failure is
/// reported then, and not when all is over.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    csv: bool,
}

impl LogFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let csv = path.extension().is_some_and(|extension| extension == "csv");
        Ok(Self { file: File::create(path)?, csv })
    }

    /// Writes the whole log, in the form that the file's name implies.
    pub(crate) fn write(self, log: &Log) -> io::Result<()> {
        let mut out = BufWriter::new(self.file);
        if self.csv { log.write_csv(&mut out) } else { log.write_binary(&mut out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sent_ns: u64) -> Record {
        let (kind, outcome) = (Kind::Execute, Outcome::Rows);
        Record { connection: 3, kind, outcome, errno: 0, received_ns: 1, due_ns: 2, sent_ns }
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut log = Log::new(CHUNK + 5);
        (0..CHUNK as u64 + 8).for_each(|at| log.push(record(at)));
        assert_eq!((log.len(), log.lost()), (CHUNK + 5, 3));
        assert_eq!(log.records().last().map(|one| one.sent_ns), Some(CHUNK as u64 + 4));
        let mut off = Log::new(0);
        off.push(record(1));
        assert_eq!((off.len(), off.lost()), (0, 0));
    }

    #[test]
    fn both_forms_hold_every_field() {
        let mut log = Log::new(10);
        log.push(record(9));
        let (mut text, mut bytes) = (Vec::new(), Vec::new());
        log.write_csv(&mut text).unwrap();
        log.write_binary(&mut bytes).unwrap();
        assert!(text.ends_with(b"\n3,execute,rows,0,1,2,9\n"));
        assert_eq!(bytes.len(), 2 * RECORD_BYTES);
        assert_eq!(bytes[32..40], [3, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(bytes[56..], 9_u64.to_le_bytes());
    }
}
