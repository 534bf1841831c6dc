//! An event as the agenda keeps it.

use super::Key;
use std::cmp::Ordering;
use tailback_units::Time;

/// The last instant at which something happens: what is later, such as the arrival of what a queue
/// would send after the end of time, counts as then. The very last slot of time means "no slots".
const LAST: u64 = u64::MAX - 4;

/// An event: when, and which among equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub time: u64,
    pub key: u32,
}

impl Entry {
    #[inline]
    pub fn new(time: Time, key: Key) -> Entry {
        Entry { time: time.0.min(LAST), key: key.0 }
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
