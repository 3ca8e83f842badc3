//! Creates the test's files, and removes them.

use super::layout::Layout;
use super::plan::FilePlan;
use crate::error::HostError;
use crate::meter::Clock;
use crate::record::{Begun, Done, End, EndReason, Phase, Record, Sample};
use crossbeam_channel::Sender;
use loadstone_measure::{LatencySummary, Nanos};
use loadstone_workload::random::{Purpose, Random};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The size of one write in bytes.
const PIECE: usize = 1 << 20;

/// Creates missing files in their full length, and reports progress each `interval`. At the end the
/// data is on disk.
pub(crate) fn prepare(
    files: &FilePlan,
    seed: u64,
    interval: Nanos,
    is_stopped: &dyn Fn() -> bool,
    records: &Sender<Record>,
) -> Result<End, HostError> {
    drop(records.send(Record::Begun(Begun { threads: 1 })));
    let mut progress = Progress {
        clock: Clock::start(),
        interval,
        told: Nanos::ZERO,
        since: Done::default(),
        total: Done::default(),
        is_stopped,
        records,
    };
    let layout = files.layout();
    let mut piece = vec![0; PIECE];
    let mut reason = EndReason::Finished;
    for file in 0..files.num as usize {
        fill(&mut piece, seed.wrapping_add(file as u64));
        let path = layout.path(file);
        let made = make(&path, layout.file_length(), &piece, &mut progress);
        let made = made.map_err(|error| HostError::File { doing: "write", path, error })?;
        if !made {
            reason = EndReason::Stopped;
            break;
        }
    }
    progress.tell();
    let seconds = progress.clock.now().seconds();
    Ok(End { reason, seconds, done: progress.total, ..End::nothing() })
}

/// Removes the files that the test would use; anything but a regular file is left.
pub(crate) fn cleanup(files: &FilePlan) -> Result<End, HostError> {
    let layout: Layout = files.layout();
    let mut end = End::nothing();
    for file in 0..files.num as usize {
        let path = layout.path(file);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if !is_file {
            continue;
        }
        if let Err(error) = fs::remove_file(&path) {
            return Err(HostError::File { doing: "remove", path, error });
        }
        end.done.events += 1;
    }
    Ok(end)
}

/// Progress, reported once an interval.
struct Progress<'a> {
    clock: Clock,
    interval: Nanos,
    told: Nanos,
    since: Done,
    total: Done,
    is_stopped: &'a dyn Fn() -> bool,
    records: &'a Sender<Record>,
}

impl Progress<'_> {
    fn wrote(&mut self, bytes: usize) {
        self.since.bytes_written += bytes as u64;
        self.since.writes += 1;
        if self.clock.now() - self.told >= self.interval {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let now = self.clock.now();
        let done = std::mem::take(&mut self.since);
        self.total.add(&done);
        drop(self.records.send(Record::Sample(Box::new(Sample {
            phase: Phase::Window,
            from_s: self.told.seconds(),
            to_s: now.seconds(),
            threads: 1,
            done,
            latency_ns: LatencySummary::default(),
            quantile_ns: None,
            waiting: None,
            in_flight: None,
            per_thread: Vec::new(),
            hlog: Vec::new(),
        }))));
        self.told = now;
    }
}

/// `false` if it was stopped halfway. A file that is long enough is left as it is.
fn make(path: &Path, length: u64, piece: &[u8], progress: &mut Progress<'_>) -> io::Result<bool> {
    if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == length) {
        return Ok(true);
    }
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    let mut left = length;
    while left > 0 {
        if (progress.is_stopped)() {
            return Ok(false);
        }
        let count = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        file.write_all(piece.get(..count).unwrap_or_default())?;
        progress.wrote(count);
        left -= count as u64;
    }
    file.sync_all()?;
    progress.since.events += 1;
    progress.since.syncs += 1;
    Ok(true)
}

/// Fills bytes with data that no disk can compress.
pub(super) fn fill(bytes: &mut [u8], seed: u64) {
    let mut random = Random::new(seed, Purpose::Values, &[]);
    for chunk in bytes.chunks_mut(size_of::<u64>()) {
        let word = random.bits().to_le_bytes();
        chunk.copy_from_slice(word.get(..chunk.len()).unwrap_or(&word));
    }
}
