//! The process's allocator: glibc's, with fixed limits for large blocks, and blocks that move when they shrink.

#![expect(unsafe_code, reason = "mallopt(3) and an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;

/// Bytes. glibc begins with as much.
const LARGE: c_int = 128 * 1024;

/// Bytes that a thread's memory keeps free at its end: the buffers of TLS sessions come and go there,
/// and each page that was given back costs a fault.
const KEPT: c_int = 1024 * 1024;

/// Blocks of 128 KiB and more go back to the system as soon as they are freed, and so does the free
/// end of a thread's memory once it is a megabyte. Holds for the whole process, from now on.
///
/// glibc begins so, but raises both limits as soon as a larger block is freed. From then on the
/// histograms of each second (270 KB) lie among the users' sessions, which take pieces of the holes
/// that those leave: memory grew with each storm of reconnects though no more of it was in use. See
/// docs/decisions/0024.
pub fn keep_large_blocks_apart() {
    for (limit, bytes) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: mallopt(3) stores a number under the allocator's lock; no block moves by it.
        let taken = unsafe { libc::mallopt(limit, bytes) };
        debug_assert_eq!(taken, 1, "glibc takes these limits");
    }
}

/// The C library's allocator, but for one thing: a block that becomes much smaller moves.
///
/// glibc leaves it where it is. A TLS session's buffer grows to a record (16 KB) and shrinks to 4 KB at
/// each longer answer: each session left 12 KB behind it that were too short for the next record, of
/// anybody, so that 2,000 users held 20 MB which nobody used.
#[derive(Debug)]
pub struct Allocator;

/// Bytes; what is shorter leaves no hole that matters.
const MOVES: usize = 8 * 1024;

// SAFETY: all is done by `System`; `realloc` is made of its `alloc` and `dealloc`, as that which the
// trait provides is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that `System` wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; each block comes from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let before = layout.size();
        // What is apart from all others leaves no hole: the system takes its end back.
        if size > before / 2 || !(MOVES..LARGE as usize).contains(&before) {
            // SAFETY: as above.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that `size` is not nought and that `block` has `layout`; the new
        // block has `size` bytes of its own, and the old one has more.
        unsafe {
            let smaller = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !smaller.is_null() {
                smaller.copy_from_nonoverlapping(block, size);
                System.dealloc(block, layout);
            }
            smaller
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a block of so many bytes holds after it has got another size, and whether it has moved.
    fn resized(before: usize, after: usize) -> (Vec<u8>, bool) {
        let layout = Layout::from_size_align(before, 16).expect("a layout");
        // SAFETY: neither size is nought, all that is read was written, and each block is freed once.
        unsafe {
            let block = Allocator.alloc(layout);
            (0..before).for_each(|at| block.add(at).write((at / 7) as u8));
            let address = block as usize;
            let block = Allocator.realloc(block, layout, after);
            let kept = before.min(after);
            let bytes = std::slice::from_raw_parts(block, kept).to_vec();
            let moved = block as usize != address;
            Allocator.dealloc(block, Layout::from_size_align(after, 16).expect("a layout"));
            (bytes, moved)
        }
    }

    #[test]
    fn a_block_that_becomes_much_smaller_moves_and_no_other() {
        for (before, after, moves) in
            [(16_389, 4_096, true), (8_192, 4_096, true), (8_192, 5_000, false), (4_096, 64, false)]
        {
            let (bytes, moved) = resized(before, after);
            assert_eq!(moved, moves, "{before} to {after}");
            assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == (at / 7) as u8));
        }
    }

    #[test]
    fn a_block_that_grows_keeps_what_it_holds() {
        for (before, after) in [(4_096, 16_389), (100_000, 400_000), (400_000, 4_096)] {
            let (bytes, _) = resized(before, after);
            assert_eq!(bytes.len(), before.min(after));
            assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == (at / 7) as u8));
        }
    }
}
