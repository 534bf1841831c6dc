//! Counts from which the width of the buckets is chosen.

/// Counts since the width of the buckets was last chosen or reviewed.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// Events in the buckets that became current.
    pub(super) events: usize,
    /// Events that had the time of another event of their bucket when they were inserted; also events that did not fit
    /// into the list, most of which are such ties.
    pub(super) ties: usize,
    /// Buckets that became current.
    pub(super) buckets: usize,
    /// Events that were scheduled into the overflow heap of the current narrow bucket, except events at the time of the
    /// heap's first event.
    pub(super) spilled: usize,
    /// Events requested from wide buckets, including those that were scheduled while their bucket was current.
    pub(super) popped: usize,
}
