//! The options of the file test, and their checks.

use super::layout::Layout;
use crate::error::PlanError;
use loadstone_workload::Distribution;
use loadstone_workload::distribution::Sampler;
use serde::Deserialize;
use std::path::PathBuf;

pub(super) const PLACE: usize = size_of::<u64>();
pub(super) const SUM: usize = size_of::<u32>();
/// What a block holds in addition to its data, in bytes.
pub(super) const SEAL: usize = PLACE + SUM;

/// Options of the test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePlan {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The number of files.
    pub num: u32,
    /// The size of a request in bytes.
    pub block_size: u64,
    /// The size of all files together in bytes.
    pub total_size: u64,
    /// The access pattern; `None` only if files are prepared or removed.
    pub mode: Option<FileTestMode>,
    /// How requests are made.
    pub io_mode: IoMode,
    /// With [`IoMode::Async`]: the most pending requests of a thread.
    pub async_backlog: u32,
    /// How files are opened.
    pub extra_flags: Vec<OpenFlag>,
    /// All files are synchronised after this many requests; 0: never.
    pub fsync_freq: u64,
    /// Each write is synchronised; then `fsync_freq` has no effect.
    pub fsync_all: bool,
    /// All files are synchronised at the test's end.
    pub fsync_end: bool,
    /// How files are synchronised.
    pub fsync_mode: SyncMode,
    /// The most sequential requests merged into one; 0 and 1: none are merged.
    pub merged_requests: u64,
    /// In `rndrw`, the ratio of reads to writes.
    pub rw_ratio: f64,
    /// In random modes, the distribution of the blocks.
    pub distribution: Distribution,
    /// Written blocks get checksums, and read blocks are checked against them.
    #[serde(default)]
    pub checksums: bool,
}

/// The access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileTestMode {
    /// New files are written from start to end.
    SeqWr,
    /// Files are overwritten from start to end.
    SeqRewr,
    /// Files are read from start to end.
    SeqRd,
    /// Random blocks are read.
    RndRd,
    /// Random blocks are written.
    RndWr,
    /// Random blocks are read and written.
    RndRw,
}

/// How requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoMode {
    /// pread(2) and pwrite(2).
    Sync,
    /// The kernel's own asynchronous I/O, io_submit(2).
    Async,
    /// Files are mapped into memory: mmap(2) and msync(2).
    Mmap,
}

/// Flags for opening files, apart from those for reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenFlag {
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    Dsync,
    /// O_DIRECT.
    Direct,
}

/// How files are synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
}

impl FileTestMode {
    /// Whether files are modified.
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::SeqRd | Self::RndRd)
    }

    pub(super) fn is_random(self) -> bool {
        matches!(self, Self::RndRd | Self::RndWr | Self::RndRw)
    }
}

/// The alignment that O_DIRECT requires on every device.
const SECTOR: u64 = 512;

impl FilePlan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        PlanError::unless((1..=1_000_000).contains(&self.num), "num", "1 to 1000000")?;
        PlanError::unless((1..=1 << 30).contains(&self.block_size), "block_size", "1 to 2^30")?;
        let file = self.total_size / u64::from(self.num);
        PlanError::unless(
            file >= self.block_size && self.total_size <= 1 << 50,
            "total_size",
            "at least one block in each file, and at most 2^50",
        )?;
        PlanError::unless(
            !self.extra_flags.contains(&OpenFlag::Direct) || self.block_size.is_multiple_of(SECTOR),
            "block_size",
            "with the flag direct in steps of 512",
        )?;
        PlanError::unless(
            self.io_mode != IoMode::Mmap || self.block_size.is_multiple_of(8),
            "block_size",
            "with mmap in steps of 8",
        )?;
        PlanError::unless(
            (1..=65_536).contains(&self.async_backlog),
            "async_backlog",
            "1 to 65536",
        )?;
        PlanError::unless(
            !self.checksums || self.block_size > SEAL as u64,
            "block_size",
            "with checksums at least 13",
        )?;
        PlanError::unless(self.merged_requests <= 1 << 20, "merged_requests", "0 to 2^20")?;
        PlanError::unless((0.0..=1e9).contains(&self.rw_ratio), "rw_ratio", "0 to 1000000000")?;
        self.sampler().map(drop)
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::new(&self.folder, self.num, self.block_size, self.total_size)
    }

    pub(super) fn sampler(&self) -> Result<Sampler, PlanError> {
        let blocks = self.layout().blocks();
        self.distribution.sampler(blocks).map_err(|error| PlanError::new(error.to_string()))
    }
}
