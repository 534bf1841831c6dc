//! Counts from which the width of the buckets is chosen.

/// Counts since the width of the buckets was last chosen.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// Events in the buckets that became current.
    pub(super) events: usize,
    /// Events that, when inserted, had the time of another event of their bucket, and events beyond the list's
    /// capacity, most of which are such ties.
    pub(super) ties: usize,
    /// Buckets that became current.
    pub(super) buckets: usize,
    /// Events that went to the overflow heap of a narrow bucket, except events at the time of the heap's first event.
    pub(super) spilled: usize,
    /// Events removed from wide buckets, including those that were scheduled while their bucket was current.
    pub(super) popped: usize,
}
