//! Memory by the page: aligned for I/O that bypasses the cache, from the pool of huge pages, or
//! mapped from a file.
#![expect(unsafe_code, reason = "mmap(2) gives addresses; here alone they become slices")]

use rustix::fd::BorrowedFd;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, mmap_anonymous, msync, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

/// The default size of a huge page in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// A mapping that this value alone owns.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<c_void>,
    mapped: usize,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and is not bound to a thread.
unsafe impl Send for Pages {}
// SAFETY: through a shared reference it can only be reached as atomic words.
unsafe impl Sync for Pages {}

impl Pages {
    /// This many bytes, all zero.
    pub(crate) fn new(length: usize, huge: bool) -> io::Result<Self> {
        let (mapped, pool) = match huge {
            true => (length.next_multiple_of(HUGE_PAGE), MapFlags::HUGETLB),
            false => (length, MapFlags::empty()),
        };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        let start =
            unsafe { mmap_anonymous(null_mut(), mapped, access, MapFlags::PRIVATE | pool) }?;
        Self::owning(start, mapped, length)
    }

    /// The first bytes of a file, mapped as shared memory. Truncating the file in the meantime ends
    /// the process, as mmap(2) implies.
    pub(crate) fn of_file(file: BorrowedFd<'_>, length: usize, writes: bool) -> io::Result<Self> {
        let access = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        let start = unsafe { mmap(null_mut(), length, access, MapFlags::SHARED, file, 0) }?;
        Self::owning(start, length, length)
    }

    fn owning(start: *mut c_void, mapped: usize, length: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, mapped, length })
    }

    /// The memory as words, which any number of threads may read and write.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.length / size_of::<AtomicU64>();
        // SAFETY: the mapping is page-aligned, that long, and lives as long as this value. Words of
        // a file may change at any time, which atomic words allow.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), words) }
    }

    /// The memory as bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is that long, and nobody else borrows it in the meantime.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.length) }
    }

    /// The start address, for the kernel to write to while nobody borrows the memory.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Flushes the changed pages of a file to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping.
        Ok(unsafe { msync(self.start.as_ptr(), self.length, MsyncFlags::SYNC) }?)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and nobody borrows it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own can be given back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn words_and_bytes_are_the_same_memory() {
        let mut pages = Pages::new(4096 + 8, false).expect("two pages");
        assert_eq!(pages.words().len(), 513);
        pages.words()[512].store(0x0102_0304, Ordering::Relaxed);
        assert_eq!(pages.bytes_mut()[4096..4100], [4, 3, 2, 1]);
        assert_eq!(pages.address() % 4096, 0);
    }
}
