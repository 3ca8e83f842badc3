//! Blocking file requests: pread(2) and pwrite(2).

use super::checksum::{seal, verify};
use super::files::Files;
use super::io::{Io, SYNCED};
use super::layout::Span;
use super::plan::FilePlan;
use super::requests::Request;
use crate::error::HostError;
use crate::meter::Meter;
use crate::pages::Pages;
use crate::record::Done;
use loadstone_measure::Nanos;
use rustix::io::{pread, pwrite, retry_on_intr};
use std::io;

pub(super) struct Blocking<'a> {
    files: &'a Files,
    buffer: Pages,
    sync_each_write: bool,
    checksums: bool,
}

impl<'a> Blocking<'a> {
    pub(super) fn new(plan: &FilePlan, files: &'a Files) -> Result<Self, HostError> {
        Ok(Self {
            files,
            buffer: buffer_for(plan)?,
            sync_each_write: plan.fsync_all,
            checksums: plan.checksums,
        })
    }

    /// A regular file returns all requested bytes, unless it has ended.
    fn read(&mut self, span: Span) -> Result<(), HostError> {
        let fd = self.files.fd(span.file)?;
        let buffer = self.buffer.bytes_mut().get_mut(..span.length).ok_or(HostError::Bug)?;
        let read = retry_on_intr(|| pread(fd, &mut *buffer, span.offset));
        complete("read", self.files, span, read.map_err(Into::into))?;
        if self.checksums { verify(self.files, span, buffer) } else { Ok(()) }
    }

    fn write(&mut self, span: Span) -> Result<(), HostError> {
        let fd = self.files.fd(span.file)?;
        let buffer = self.buffer.bytes_mut().get_mut(..span.length).ok_or(HostError::Bug)?;
        if self.checksums {
            seal(buffer, span.offset);
        }
        let written = retry_on_intr(|| pwrite(fd, &*buffer, span.offset));
        complete("write", self.files, span, written.map_err(Into::into))
    }
}

impl Io for Blocking<'_> {
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError> {
        let done = match request {
            Request::Read(span) => {
                self.read(span)?;
                was_read(span)
            }
            Request::Write(span) => {
                self.write(span)?;
                let mut done = was_written(span);
                if self.sync_each_write {
                    self.files.sync(span.file)?;
                    done.syncs = 1;
                }
                done
            }
            Request::Sync(file) => {
                self.files.sync(file)?;
                SYNCED
            }
        };
        meter.event(from, &done);
        Ok(())
    }
}

/// A buffer for the longest request, aligned for O_DIRECT, filled with data that no disk can
/// compress.
pub(super) fn buffer_for(plan: &FilePlan) -> Result<Pages, HostError> {
    let most = plan.layout().span(0, plan.merged_requests.max(1)).length;
    let mut buffer =
        Pages::new(most, false).map_err(HostError::system("get the memory for a request"))?;
    super::preparing::fill(buffer.bytes_mut(), 0);
    Ok(buffer)
}

/// Whether the request transferred all its bytes.
pub(super) fn complete(
    doing: &'static str,
    files: &Files,
    span: Span,
    moved: io::Result<usize>,
) -> Result<(), HostError> {
    match moved {
        Ok(moved) if moved == span.length => Ok(()),
        Ok(_) if doing == "read" => {
            Err(files.failed(doing, span.file, io::Error::other("the file has become shorter")))
        }
        Ok(_) => Err(files.failed(doing, span.file, io::Error::other("the disk is full"))),
        Err(error) => Err(files.failed(doing, span.file, error)),
    }
}

pub(super) fn was_read(span: Span) -> Done {
    Done { reads: 1, bytes_read: span.length as u64, ..Done::default() }
}

pub(super) fn was_written(span: Span) -> Done {
    Done { writes: 1, bytes_written: span.length as u64, ..Done::default() }
}
