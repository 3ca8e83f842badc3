//! The file test: threads that read, write and synchronise files.

mod aio;
mod blocking;
mod checksum;
mod files;
mod io;
mod layout;
mod mapped;
mod plan;
mod preparing;
mod requests;

pub use plan::{FilePlan, FileTestMode, IoMode, OpenFlag, SyncMode};
pub(crate) use preparing::{cleanup, prepare};

use crate::error::HostError;
use crate::meter::Meter;
use crate::work::{Next, Test, Work};
use aio::Queue;
use blocking::Blocking;
use files::Files;
use io::{Io, SYNCED};
use loadstone_measure::Nanos;
use loadstone_workload::distribution::Sampler;
use loadstone_workload::random::{Purpose, Random};
use mapped::Mapped;
use requests::Requests;

/// The open files, and what is to be done with them.
pub(crate) struct FileIo {
    plan: FilePlan,
    mode: FileTestMode,
    seed: u64,
    files: Files,
    maps: Option<Mapped>,
    requests: Requests,
}

impl FileIo {
    /// Opens the prepared files.
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
    /// At the end each thread makes sure that everything written is on disk.
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
