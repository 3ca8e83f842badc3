//! The open files of the test, and how they are synchronised.

use super::layout::Layout;
use super::plan::{FilePlan, FileTestMode, OpenFlag, SyncMode};
use crate::error::HostError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fdatasync, fstat, fsync, ftruncate, open};
use std::io;
use std::path::PathBuf;

/// Readable and writable by the owner.
const RIGHTS: Mode = Mode::RUSR.union(Mode::WUSR);

pub(super) struct Files {
    layout: Layout,
    open: Vec<OwnedFd>,
    sync_mode: SyncMode,
}

impl Files {
    /// Opens the prepared files; `seqwr` creates new ones.
    pub(super) fn open(plan: &FilePlan, mode: FileTestMode) -> Result<Self, HostError> {
        let layout = plan.layout();
        let flags = flags_of(plan, mode);
        let mut files = Self { layout, open: Vec::new(), sync_mode: plan.fsync_mode };
        for file in 0..plan.num as usize {
            let path = files.layout.path(file);
            let opened = open(&path, flags, RIGHTS).map_err(|errno| HostError::File {
                doing: "open",
                path,
                error: errno.into(),
            })?;
            files.open.push(opened);
            if mode != FileTestMode::SeqWr {
                files.check_length(file)?;
            }
        }
        Ok(files)
    }

    fn check_length(&self, file: usize) -> Result<(), HostError> {
        let stat = fstat(self.fd(file)?).map_err(|errno| self.failed("look at", file, errno))?;
        let (length, expected) = (stat.st_size as u64, self.layout.file_length());
        if length < expected {
            return Err(HostError::Short { path: self.layout.path(file), length, expected });
        }
        Ok(())
    }

    /// Gives a new file its full length.
    pub(super) fn lengthen(&self, file: usize) -> Result<(), HostError> {
        ftruncate(self.fd(file)?, self.file_length())
            .map_err(|errno| self.failed("lengthen", file, errno))
    }

    pub(super) fn path(&self, file: usize) -> PathBuf {
        self.layout.path(file)
    }

    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    pub(super) fn file_length(&self) -> u64 {
        self.layout.file_length()
    }

    pub(super) fn fd(&self, file: usize) -> Result<BorrowedFd<'_>, HostError> {
        self.open.get(file).map(AsFd::as_fd).ok_or(HostError::Bug)
    }

    /// Flushes the file's data to its disk.
    pub(super) fn sync(&self, file: usize) -> Result<(), HostError> {
        let fd = self.fd(file)?;
        match self.sync_mode {
            SyncMode::Fsync => fsync(fd),
            SyncMode::Fdatasync => fdatasync(fd),
        }
        .map_err(|errno| self.failed("synchronise", file, errno))
    }

    pub(super) fn failed(
        &self,
        doing: &'static str,
        file: usize,
        error: impl Into<io::Error>,
    ) -> HostError {
        HostError::File { doing, path: self.layout.path(file), error: error.into() }
    }
}

fn flags_of(plan: &FilePlan, mode: FileTestMode) -> OFlags {
    let mut flags = OFlags::CLOEXEC;
    flags |= if mode.writes() { OFlags::RDWR } else { OFlags::RDONLY };
    if mode == FileTestMode::SeqWr {
        flags |= OFlags::CREATE | OFlags::TRUNC;
    }
    for flag in &plan.extra_flags {
        flags |= match flag {
            OpenFlag::Sync => OFlags::SYNC,
            OpenFlag::Dsync => OFlags::DSYNC,
            OpenFlag::Direct => OFlags::DIRECT,
        };
    }
    flags
}
