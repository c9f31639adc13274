//! Asking for memory before it is needed.
//!
//! In a large fabric an event meets several cache misses, each of which waits for the one before: a port, the packet that it
//! delivers, the table that says where the packet goes, the port that it leaves by. A run knows its next events, so it can ask
//! for what they need while it handles others.

use std::ops::Range;

/// Asks for the cache lines of something that will be needed soon. Changes nothing but how soon it is at hand; does nothing on
/// processors where there is no stable way to ask.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one instruction for each line")]
pub fn prefetch<T>(item: &T) {
    prefetch_lines(item, 0..size_of::<T>().div_ceil(64));
}

/// Asks for some of its lines of 64 bytes, numbered from 0.
#[inline(always)]
pub fn prefetch_lines<T>(item: &T, lines: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(item).cast::<i8>();
        for line in lines {
            // SAFETY: a prefetch reads nothing that the program can see, and never faults, whatever the address.
            #[expect(unsafe_code, reason = "the instruction has no safe wrapper")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(line * 64));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, lines);
}
