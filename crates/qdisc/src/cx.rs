//! What a discipline may do besides keeping packets: draw at random and drop.

use crate::Packet;
use core::fmt;
use tailback_random::Rng;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue's limit would have been exceeded.
    BufferFull,
    /// The switch's shared memory left this queue no room.
    SharedMemoryFull,
    /// The input buffer of a crossbar switch was full.
    InputBufferFull,
    /// Lost at random on the link.
    LinkLoss,
    /// The link went down while it was on it.
    LinkDown,
    /// A law dropped it before the queue was full.
    Early,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::BufferFull => "buffer full",
            Reason::SharedMemoryFull => "shared memory full",
            Reason::InputBufferFull => "input buffer full",
            Reason::LinkLoss => "link loss",
            Reason::LinkDown => "link down",
            Reason::Early => "early drop",
        })
    }
}

/// A packet that a discipline dropped, for its caller to count.
#[derive(Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// Why.
    pub why: Reason,
}

/// The context of a call: the port's random stream and the way in which packets die.
pub struct Cx<'a> {
    /// The port's own stream.
    pub rng: &'a mut Rng,
    /// Filled by the discipline, emptied by its caller after each call.
    pub dropped: &'a mut Vec<Dropped>,
}

impl Cx<'_> {
    /// Drops a packet.
    #[inline]
    pub fn drop(&mut self, packet: Packet, why: Reason) {
        self.dropped.push(Dropped { packet, why });
    }
}
