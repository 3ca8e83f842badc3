//! Files as memory: words are copied from and to their pages, msync(2) writes them out.

use super::blocking::{was_read, was_written};
use super::checksum::{seal, verify};
use super::files::Files;
use super::io::{Io, SYNCED};
use super::layout::Span;
use super::plan::{FilePlan, FileTestMode};
use super::requests::Request;
use crate::error::HostError;
use crate::meter::Meter;
use crate::pages::Pages;
use loadstone_measure::Nanos;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD: usize = size_of::<AtomicU64>();

pub(super) struct Mapped {
    maps: Vec<Pages>,
    sync_each_write: bool,
    checksums: bool,
}

/// One thread's access to them.
pub(super) struct Mapping<'a> {
    of: &'a Mapped,
    files: &'a Files,
    /// The bytes of a block, for its checksum.
    block: Vec<u8>,
}

impl Mapped {
    /// Maps all files completely.
    pub(super) fn new(
        files: &Files,
        mode: FileTestMode,
        plan: &FilePlan,
    ) -> Result<Self, HostError> {
        let length = usize::try_from(files.file_length()).unwrap_or(usize::MAX);
        let mut maps = Vec::new();
        for file in 0..files.count() {
            if mode == FileTestMode::SeqWr {
                files.lengthen(file)?;
            }
            let map = Pages::of_file(files.fd(file)?, length, mode.writes());
            maps.push(map.map_err(|error| files.failed("map", file, error))?);
        }
        Ok(Self { maps, sync_each_write: plan.fsync_all, checksums: plan.checksums })
    }

    pub(super) fn sync(&self, files: &Files, file: usize) -> Result<(), HostError> {
        let map = self.maps.get(file).ok_or(HostError::Bug)?;
        map.sync().map_err(|error| files.failed("synchronise", file, error))
    }

    pub(super) fn of<'a>(&'a self, files: &'a Files) -> Mapping<'a> {
        Mapping { of: self, files, block: Vec::new() }
    }

    fn words(&self, span: Span) -> Result<&[AtomicU64], HostError> {
        let first = span.offset as usize / WORD;
        let words = self.maps.get(span.file).map(Pages::words);
        words.and_then(|words| words.get(first..first + span.length / WORD)).ok_or(HostError::Bug)
    }
}

impl Mapping<'_> {
    fn read(&mut self, span: Span) -> Result<(), HostError> {
        let words = self.of.words(span)?;
        if !self.of.checksums {
            for word in words {
                black_box(word.load(Ordering::Relaxed));
            }
            return Ok(());
        }
        self.block.clear();
        for word in words {
            self.block.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        verify(self.files, span, &self.block)
    }

    fn write(&mut self, span: Span, from: Nanos) -> Result<(), HostError> {
        let words = self.of.words(span)?;
        let values = (from.0..).take(words.len());
        if !self.of.checksums {
            values.zip(words).for_each(|(value, word)| word.store(value, Ordering::Relaxed));
            return Ok(());
        }
        self.block.clear();
        values.for_each(|value| self.block.extend_from_slice(&value.to_ne_bytes()));
        seal(&mut self.block, span.offset);
        for (bytes, word) in self.block.as_chunks().0.iter().zip(words) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Io for Mapping<'_> {
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError> {
        let done = match request {
            Request::Read(span) => {
                self.read(span)?;
                was_read(span)
            }
            Request::Write(span) => {
                self.write(span, from)?;
                let mut done = was_written(span);
                if self.of.sync_each_write {
                    self.of.sync(self.files, span.file)?;
                    done.syncs = 1;
                }
                done
            }
            Request::Sync(file) => {
                self.of.sync(self.files, file)?;
                SYNCED
            }
        };
        meter.event(from, &done);
        Ok(())
    }
}
