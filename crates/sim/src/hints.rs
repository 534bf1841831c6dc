//! Hints to the processor: prefetches, and unlikely branches.
//!
//! With thousands of flows, the state that an event touches is not in the cache, and cache misses would take most of
//! the time of a hop. The event queue knows upcoming events, so their state can be prefetched. A hint changes no
//! result.

#![allow(unsafe_code, reason = "an intrinsic function of the processor")]

/// Prefetches the cache line of `at`.
#[inline(always)]
pub(crate) fn prefetch<T>(at: &T) {
    prefetch_lines::<T, 1>(at);
}

/// Prefetches `N` cache lines of 64 bytes from `at` on. The address need not be valid: a prefetch reads no value.
#[inline(always)]
pub(crate) fn prefetch_lines<T, const N: usize>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..N {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of every x86-64 and takes any address, mapped or not.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(64 * line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Returns `condition`, which is expected to be `false`: the compiler moves the code for `true` out of the likely path,
/// which is then contiguous and saves fewer registers.
#[inline(always)]
pub(crate) fn unlikely(condition: bool) -> bool {
    #[inline]
    #[cold]
    fn cold() {}
    if condition {
        cold();
    }
    condition
}
