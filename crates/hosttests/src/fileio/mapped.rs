//! Files as memory: words are copied from and to their pages, msync(2) writes them out.

use super::blocking::{was_read, was_written};
use super::files::Files;
use super::layout::Span;
use super::requests::Request;
use super::{FileTestMode, Io, SYNCED};
use crate::error::HostError;
use crate::meter::Meter;
use crate::pages::Pages;
use loadstone_measure::Nanos;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD: usize = size_of::<AtomicU64>();

pub(super) struct Mapped {
    maps: Vec<Pages>,
    paths: Vec<PathBuf>,
    sync_each_write: bool,
}

impl Mapped {
    /// All files, each as a whole.
    pub(super) fn new(
        files: &Files,
        mode: FileTestMode,
        sync_each_write: bool,
    ) -> Result<Self, HostError> {
        let length = usize::try_from(files.file_length()).unwrap_or(usize::MAX);
        let (mut maps, mut paths) = (Vec::new(), Vec::new());
        for file in 0..files.count() {
            if mode == FileTestMode::SeqWr {
                files.lengthen(file)?;
            }
            let map = Pages::of_file(files.fd(file)?, length, mode.writes());
            maps.push(map.map_err(|error| files.failed("map", file, error))?);
            paths.push(files.path(file));
        }
        Ok(Self { maps, paths, sync_each_write })
    }

    pub(super) fn sync(&self, file: usize) -> Result<(), HostError> {
        let map = self.maps.get(file).ok_or(HostError::Bug)?;
        map.sync().map_err(|error| self.failed(file, error))
    }

    fn words(&self, span: Span) -> Result<&[AtomicU64], HostError> {
        let first = span.offset as usize / WORD;
        let words = self.maps.get(span.file).map(Pages::words);
        words.and_then(|words| words.get(first..first + span.length / WORD)).ok_or(HostError::Bug)
    }

    fn failed(&self, file: usize, error: io::Error) -> HostError {
        let path = self.paths.get(file).cloned().unwrap_or_default();
        HostError::File { doing: "synchronise", path, error }
    }
}

impl Io for &Mapped {
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError> {
        let done = match request {
            Request::Read(span) => {
                for word in self.words(span)? {
                    black_box(word.load(Ordering::Relaxed));
                }
                was_read(span)
            }
            Request::Write(span) => {
                for (value, word) in (from.0..).zip(self.words(span)?) {
                    word.store(value, Ordering::Relaxed);
                }
                let mut done = was_written(span);
                if self.sync_each_write {
                    self.sync(span.file)?;
                    done.syncs = 1;
                }
                done
            }
            Request::Sync(file) => {
                self.sync(file)?;
                SYNCED
            }
        };
        meter.event(from, &done);
        Ok(())
    }
}
