//! The engine's allocator: the C library's, with blocks that move when they shrink.

#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes. glibc's limit of blocks that are mapped apart, which `own_process.py` keeps.
const LARGE: usize = 128 * 1024;

/// The C library's allocator with one difference: a block that shrinks a lot moves.
///
/// glibc leaves it in place. A TLS session's buffer grows to a record (16 KB) and shrinks to 4 KB
/// at each longer answer: each session left a hole of 12 KB, too short for any next record, so that
/// 2,000 users held 20 MB that nobody used.
#[derive(Debug)]
pub struct Allocator;

/// Bytes; a shorter block leaves no relevant hole.
const MOVES: usize = 8 * 1024;

// SAFETY: `System` does all the work; `realloc` is made of its `alloc` and `dealloc`, as the
// trait's provided method is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what `System` requires.
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
        // A block apart from all others leaves no hole: the system takes its end back.
        if size > before / 2 || !(MOVES..LARGE).contains(&before) {
            // SAFETY: as above.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that `size` is not zero and that `block` has `layout`; the
        // new block has `size` bytes of its own, and the old one has more.
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

    /// The contents of a block of this many bytes after a change of size, and whether it moved.
    fn resized(before: usize, after: usize) -> (Vec<u8>, bool) {
        let layout = Layout::from_size_align(before, 16).expect("a layout");
        // SAFETY: neither size is zero, all bytes read were written, and each block is freed once.
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
