//! The limits of a discipline's queue, and its link.

use tailback_units::Rate;

/// Limits of a queue, and the rate of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Limit of waiting buffer bytes; `u64::MAX` is unbounded.
    pub bytes: u64,
    /// Limit of waiting packets; `u64::MAX` is unbounded.
    pub packets: u64,
    /// Rate of the link that the queue feeds.
    pub rate: Rate,
}

impl Site {
    /// Returns `true` if a queue of `packets` packets and `bytes` bytes has no room for a packet of `size` bytes.
    #[inline]
    pub fn is_full(&self, packets: u64, bytes: u64, size: u16) -> bool {
        bytes + u64::from(size) > self.bytes || packets >= self.packets
    }
}

impl Default for Site {
    /// Returns a site without limits, at a link of 1 Gbit/s.
    fn default() -> Site {
        Site { bytes: u64::MAX, packets: u64::MAX, rate: Rate(1_000_000_000) }
    }
}
