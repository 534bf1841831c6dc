//! Entry of the event queue.

use super::key::Key;
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use tailback_units::Time;

/// Last instant of simulated time, picoseconds. Later times, such as the arrival of a packet that a queue would send
/// after the end of time, are clamped to this instant. The calendar requires that no event is at `u64::MAX`.
pub(super) const LAST_INSTANT: u64 = u64::MAX - 4;

/// An event: its time in picoseconds, and its tie-breaker ([`Key`]) as an integer.
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

    /// Returns the earlier entry, the later one, and `true` if `self` is the earlier one; compiles without a branch.
    #[inline(always)]
    pub fn in_order(self, other: Entry) -> (Entry, Entry, bool) {
        let order = |entry: Entry| u128::from(entry.time) << 64 | u128::from(entry.key);
        let self_first = order(self) < order(other);
        let time = |of_self| select_unpredictable(of_self, self.time, other.time);
        let key = |of_self| select_unpredictable(of_self, self.key, other.key);
        let entry = |of_self| Entry { time: time(of_self), key: key(of_self) };
        (entry(self_first), entry(!self_first), self_first)
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
