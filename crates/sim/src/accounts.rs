//! A port's account of one class.

use crate::ledger::Count;

/// One class's account at a port, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ClassAccount {
    pub arrived: Count,
    pub dropped: Count,
    /// Packets whose transmission has begun.
    pub started: Count,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Most buffer bytes waiting since the end of the warm-up.
    pub max: u64,
    /// Integral of the buffer bytes waiting over time, byte · picosecond. At a port that sends ahead it
    /// includes the future of those that wait.
    pub area: u128,
}
