//! Files, read, written and synchronised.

mod aio;
mod blocking;
mod checksum;
mod files;
mod layout;
mod mapped;
mod preparing;
mod requests;

pub(crate) use preparing::{cleanup, prepare};

use crate::error::{HostError, PlanError};
use crate::meter::Meter;
use crate::record::Done;
use crate::work::{Next, Test, Work};
use aio::Queue;
use blocking::Blocking;
use files::Files;
use layout::Layout;
use loadstone_measure::Nanos;
use loadstone_workload::Distribution;
use loadstone_workload::distribution::Sampler;
use loadstone_workload::random::{Purpose, Random};
use mapped::Mapped;
use requests::{Request, Requests};
use serde::Deserialize;
use std::path::PathBuf;

/// Options of the test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePlan {
    /// Where the files are.
    pub folder: PathBuf,
    /// How many.
    pub num: u32,
    /// Bytes of a request.
    pub block_size: u64,
    /// Bytes of all files together.
    pub total_size: u64,
    /// What is done; `None` only where files are made or removed.
    pub mode: Option<FileTestMode>,
    /// How requests are made.
    pub io_mode: IoMode,
    /// With [`IoMode::Async`]: how many requests of a thread are under way at most.
    pub async_backlog: u32,
    /// How files are opened.
    pub extra_flags: Vec<OpenFlag>,
    /// All files are synchronised after so many requests; 0: never.
    pub fsync_freq: u64,
    /// Each write is synchronised; then `fsync_freq` does nothing.
    pub fsync_all: bool,
    /// All files are synchronised at the test's end.
    pub fsync_end: bool,
    /// How files are synchronised.
    pub fsync_mode: SyncMode,
    /// Sequential requests are put together, so many at most; 0 and 1: none are.
    pub merged_requests: u64,
    /// In `rndrw`, reads by writes.
    pub rw_ratio: f64,
    /// In random modes, which places are taken.
    pub distribution: Distribution,
    /// What is written has checksums, and what is read is checked by them.
    #[serde(default)]
    pub checksums: bool,
}

/// What is done to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileTestMode {
    /// New files are written from begin to end.
    SeqWr,
    /// Files are written over from begin to end.
    SeqRewr,
    /// Files are read from begin to end.
    SeqRd,
    /// Blocks anywhere are read.
    RndRd,
    /// Blocks anywhere are written.
    RndWr,
    /// Blocks anywhere are read and written.
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
    /// Files are memory: mmap(2) and msync(2).
    Mmap,
}

/// How files are opened, beside reading and writing.
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
    /// Whether files are changed.
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::SeqRd | Self::RndRd)
    }

    fn is_random(self) -> bool {
        matches!(self, Self::RndRd | Self::RndWr | Self::RndRw)
    }
}

/// What O_DIRECT wants on every device there is.
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
            !self.checksums || self.block_size > checksum::SEAL as u64,
            "block_size",
            "with checksums at least 13",
        )?;
        PlanError::unless(self.merged_requests <= 1 << 20, "merged_requests", "0 to 2^20")?;
        PlanError::unless((0.0..=1e9).contains(&self.rw_ratio), "rw_ratio", "0 to 1000000000")?;
        self.sampler().map(drop)
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.folder, self.num, self.block_size, self.total_size)
    }

    fn sampler(&self) -> Result<Sampler, PlanError> {
        let blocks = self.layout().blocks();
        self.distribution.sampler(blocks).map_err(|error| PlanError::new(error.to_string()))
    }
}

/// The files, open, and what is to be done with them.
pub(crate) struct FileIo {
    plan: FilePlan,
    mode: FileTestMode,
    seed: u64,
    files: Files,
    maps: Option<Mapped>,
    requests: Requests,
}

impl FileIo {
    /// Opens what was prepared.
    pub(crate) fn open(plan: &FilePlan, seed: u64) -> Result<Self, HostError> {
        let mode = plan.mode.ok_or(HostError::Bug)?;
        let files = Files::open(plan, mode)?;
        let maps = match plan.io_mode {
            IoMode::Mmap => Some(Mapped::new(&files, mode, plan)?),
            IoMode::Sync | IoMode::Async => None,
        };
        let requests = Requests::new(plan, mode);
        Ok(Self { plan: plan.clone(), mode, seed, files, maps, requests })
    }
}

impl Test for FileIo {
    fn work(&self, thread: u32) -> Result<Box<dyn Work + '_>, HostError> {
        let io: Box<dyn Io + '_> = match (&self.maps, self.plan.io_mode) {
            (Some(maps), _) => Box::new(maps.of(&self.files)),
            (None, IoMode::Async) => Box::new(Queue::new(&self.plan, &self.files)?),
            (None, _) => Box::new(Blocking::new(&self.plan, &self.files)?),
        };
        let random = Random::new(self.seed, Purpose::Keys, &[u64::from(thread)]);
        let sampler = self.plan.sampler().map_err(|_| HostError::Bug)?;
        Ok(Box::new(Thread { test: self, io, random, sampler }))
    }
}

impl FileIo {
    /// What was written is on the disk at the end; each thread sees to it.
    fn sync_all(&self, meter: &mut Meter) -> Result<(), HostError> {
        if !self.plan.fsync_end || self.plan.fsync_all || !self.mode.writes() {
            return Ok(());
        }
        for file in 0..self.plan.num as usize {
            match &self.maps {
                Some(maps) => maps.sync(&self.files, file)?,
                None => self.files.sync(file)?,
            }
            meter.beside(&SYNCED);
        }
        Ok(())
    }
}

/// A file was synchronised.
const SYNCED: Done =
    Done { events: 0, reads: 0, writes: 0, syncs: 1, bytes_read: 0, bytes_written: 0 };

/// A way to make requests, one thread's.
trait Io {
    /// Makes the request that is due, or begins, at `from`; it is counted when it has ended.
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError>;

    /// Waits for requests that are under way.
    fn finish(&mut self, _meter: &mut Meter) -> Result<(), HostError> {
        Ok(())
    }
}

struct Thread<'a> {
    test: &'a FileIo,
    io: Box<dyn Io + 'a>,
    random: Random,
    sampler: Sampler,
}

impl Work for Thread<'_> {
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError> {
        let Self { test, io, random, sampler } = self;
        let request = test.requests.next(|| sampler.draw(random) - 1);
        io.make(request, from, meter).map(|()| Next::Event)
    }

    fn finish(&mut self, meter: &mut Meter) -> Result<(), HostError> {
        self.io.finish(meter)?;
        self.test.sync_all(meter)
    }
}
