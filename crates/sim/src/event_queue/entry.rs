//! Entry of the event queue.

use super::key::Key;
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use tailback_units::Time;

/// Last instant of simulated time, picoseconds. Later times are clamped to it, such as the arrival of a packet that a
/// queue would send after the end of time. The bucket of `u64::MAX` must stay empty.
const LAST_INSTANT: u64 = u64::MAX - 4;

/// An event: time in picoseconds, and the tie-breaker ([`Key`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub time: u64,
    pub key: u32,
}

impl Entry {
    #[inline]
    pub fn new(time: Time, key: Key) -> Entry {
        Entry { time: time.0.min(LAST_INSTANT), key: key.0 }
    }

    /// Returns the earlier entry, the later one, and `true` if the earlier one is `self`; without a branch.
    #[inline(always)]
    pub fn in_order(self, other: Entry) -> (Entry, Entry, bool) {
        let whole = |entry: Entry| u128::from(entry.time) << 64 | u128::from(entry.key);
        let first = whole(self) < whole(other);
        let time = |first| select_unpredictable(first, self.time, other.time);
        let key = |first| select_unpredictable(first, self.key, other.key);
        let of = |first| Entry { time: time(first), key: key(first) };
        (of(first), of(!first), first)
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline(always)]
    fn lt(&self, other: &Entry) -> bool {
        self.time < other.time || (self.time == other.time && self.key < other.key)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.time, self.key).cmp(&(other.time, other.key))
    }
}
