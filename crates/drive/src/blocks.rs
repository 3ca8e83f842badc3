//! What the C library does with large blocks of memory.

#![expect(unsafe_code, reason = "no crate of this workspace wraps mallopt(3)")]

use std::ffi::c_int;

/// Bytes. glibc begins with as much.
const LARGE: c_int = 128 * 1024;

/// Blocks of 128 KiB and more go back to the system as soon as they are freed, and so does the free
/// end of a thread's memory once it is as long. Holds for the whole process, from now on.
///
/// glibc begins so, but raises both limits as soon as a larger block is freed. From then on the
/// histograms of each second (270 KB) lie among the users' sessions, which take pieces of the holes
/// that those leave: memory grew with each storm of reconnects though no more of it was in use. See
/// docs/decisions/0024.
pub fn keep_large_blocks_apart() {
    for limit in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: mallopt(3) stores a number under the allocator's lock; no block moves by it.
        let taken = unsafe { libc::mallopt(limit, LARGE) };
        debug_assert_eq!(taken, 1, "glibc takes these limits");
    }
}
