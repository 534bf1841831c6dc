//! Hints to the processor: what will be needed soon.
//!
//! With thousands of flows what an event touches lies in no near cache, and a hop would spend most
//! of its time waiting for it. The agenda knows some events ahead what comes, so memory can be asked
//! for in time. A hint changes no result.

#![allow(unsafe_code, reason = "an intrinsic function of the processor")]

/// Asks for the cache line of `at`.
#[inline(always)]
pub(crate) fn prefetch<T>(at: &T) {
    lines::<T, 1>(at);
}

/// Asks for the first `N` cache lines from `at` on; the address is all that is used.
#[inline(always)]
pub(crate) fn lines<T, const N: usize>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..N {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of every x86-64 and takes any address, mapped or not.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(64 * line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Whether a condition holds that seldom does: what follows if it does is laid out apart, so that what follows as a
/// rule lies together and keeps its registers.
#[inline(always)]
pub(crate) fn seldom(condition: bool) -> bool {
    #[inline]
    #[cold]
    fn apart() {}
    if condition {
        apart();
    }
    condition
}
