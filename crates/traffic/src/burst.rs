//! Bursts of a source.

use tailback_units::Time;

/// Upper bound of a burst, 2^40 bytes. It limits Pareto sizes without truncation, so that byte counters stay far from
/// overflow.
pub const MAX_BURST: u64 = 1 << 40;

/// Payload that a source passes to its host at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Time, never earlier than that of the burst before.
    pub at: Time,
    /// Payload in bytes, 1 to [`MAX_BURST`], or [`Burst::ENDLESS`].
    pub bytes: u64,
}

impl Burst {
    /// Unlimited payload: the transport always has data to send.
    pub const ENDLESS: u64 = u64::MAX;
    /// Value of [`crate::Source::next_or_none`] for a source without further bursts.
    pub const NONE: Burst = Burst { at: Time::NEVER, bytes: 0 };
}

/// Returns a burst of `bytes` at `at`; `None`: `at` has saturated at the end of [`Time`], so that the source is silent.
#[inline]
pub(crate) fn burst(at: Time, bytes: u64) -> Option<Burst> {
    (at < Time::NEVER).then_some(Burst { at, bytes })
}
