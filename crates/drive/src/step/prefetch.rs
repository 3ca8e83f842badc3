//! Has memory brought into the processor's caches before it is needed.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the standard library has no safe call for the instruction")
)]

/// Asks for all of a value. The processor does that while it goes on with something else.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn prefetch<T: ?Sized>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    /// Bytes that come together.
    const LINE: usize = 64;
    let start = std::ptr::from_ref(value).cast::<i8>();
    let before = start.addr() % LINE;
    let first = start.wrapping_sub(before);
    for offset in (0..before + size_of_val(value)).step_by(LINE) {
        // SAFETY: each x86_64 has the instruction (SSE). It is a hint that reads and writes nothing the program could
        // see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset)) };
    }
}

/// Elsewhere there is no stable way to ask.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn prefetch<T: ?Sized>(_value: &T) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_and_place_can_be_asked_for() {
        let bytes: Vec<u8> = (0..=255).collect();
        for start in [0, 1, 63, 64, 255] {
            prefetch(&bytes[start..]);
        }
        prefetch(&bytes[256..]);
        prefetch(&());
        assert!(bytes.iter().copied().eq(0..=255), "it changes nothing");
    }
}
