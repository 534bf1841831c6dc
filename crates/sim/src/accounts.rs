//! A port's account of one class.

use crate::ledger::Count;

/// A port's account of one class, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ClassAccount {
    /// Packets that arrived, with buffer bytes.
    pub arrived: Count,
    /// Packets that were dropped, with buffer bytes.
    pub dropped: Count,
    /// Packets whose transmission has begun, with buffer bytes.
    pub started: Count,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Maximum backlog since the end of the warm-up, buffer bytes.
    pub max: u64,
    /// Integral of the backlog over time, byte · picosecond. At a port that computes departures in advance, the
    /// integral includes the time that packets in the queue are still going to wait.
    pub area: u128,
}
