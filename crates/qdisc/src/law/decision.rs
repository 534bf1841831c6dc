//! The queue length that a law receives, and its decision about an arriving packet.

/// The waiting packets of a queue, without the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Buffer bytes.
    pub bytes: u64,
}

/// A law's decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is admitted.
    Pass,
    /// The packet is chosen to signal congestion: marked if possible, else dropped.
    Early,
    /// A packet is dropped, even if it is ECN-capable: the arriving one, or the discipline's victim.
    Forced,
}
