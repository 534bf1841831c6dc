//! Counts by which the width of the buckets is chosen.

/// Counts since the width of the buckets was chosen.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// Events of the buckets that became current.
    pub(super) events: usize,
    /// Those of them at the same time as another event of their bucket.
    pub(super) ties: usize,
    /// Buckets that became current.
    pub(super) buckets: usize,
    /// Events that went to the overflow heap of a narrow bucket, but for those at the time of the heap's first event.
    pub(super) spilled: usize,
    /// Events taken out of wide buckets, including those scheduled within their bucket.
    pub(super) popped: usize,
}
