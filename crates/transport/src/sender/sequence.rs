//! Sequence space of a sender: positions in the numbered segments.

use crate::seq::{before, later};

/// Positions in the sequence space; segment numbers wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// First segment not acknowledged.
    pub una: u32,
    /// Next segment to transmit; before `max` while the sender retransmits from `una` on.
    pub nxt: u32,
    /// First segment never transmitted.
    pub max: u32,
    /// Recovery point: recovery ends when all segments before it are acknowledged.
    pub recover: u32,
    /// Value of `max` when the window was last full.
    pub full_at: u32,
    /// The round trip ends when this segment is acknowledged.
    pub round_end: u32,
    /// Number of segments offered and not yet transmitted.
    pub unsent: u64,
}

impl Sequence {
    /// Returns the positions of a connection whose first segment is `start`, and that has sent none.
    pub fn starting_at(start: u32) -> Sequence {
        // One before the first segment, so that the first loss starts a recovery.
        let before_first = start.wrapping_sub(1);
        Sequence {
            una: start,
            nxt: start,
            max: start,
            recover: before_first,
            full_at: before_first,
            round_end: start,
            unsent: 0,
        }
    }

    /// Returns the number of segments sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.max.wrapping_sub(self.una)
    }

    /// Returns the number of segments from `una` up to, but not including, `nxt`.
    #[inline]
    pub fn used(&self) -> u32 {
        self.nxt.wrapping_sub(self.una)
    }

    /// Returns `true` if no segment is outstanding.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.una == self.max
    }

    /// Returns `true` if there is a new segment before `limit`.
    #[inline]
    pub fn has_new(&self, limit: u32) -> bool {
        self.unsent > 0 && before(self.max, limit)
    }

    /// Advances past the next new segment, which is transmitted.
    #[inline]
    pub fn take_new(&mut self) {
        self.unsent -= 1;
        self.max = self.max.wrapping_add(1);
        self.nxt = self.max;
    }

    /// Processes a cumulative acknowledgement of all segments before `next`; returns `true` if the recovery point is
    /// reached.
    #[inline]
    pub fn advance(&mut self, next: u32) -> bool {
        self.una = next;
        self.nxt = later(self.nxt, next);
        let reached = !before(next, self.recover);
        // Older positions are raised to the last acknowledged segment, so that they never are 2^31 or more behind and
        // comparisons survive the wrap of segment numbers.
        let last = next.wrapping_sub(1);
        self.recover = later(self.recover, last);
        self.full_at = later(self.full_at, last);
        reached
    }
}
