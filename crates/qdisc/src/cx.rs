//! The context of a discipline's calls: random numbers, drops and marks.

use crate::Packet;
use core::fmt;
use tailback_random::Rng;

/// The reason of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue's limit would have been exceeded.
    BufferFull,
    /// The switch's shared memory left this queue no room.
    SharedMemoryFull,
    /// The input buffer of a crossbar switch was full.
    InputBufferFull,
    /// The packet was lost at random on the link.
    LinkLoss,
    /// The link went down during transmission or propagation.
    LinkDown,
    /// A control law dropped the packet before the queue was full.
    Early,
    /// The packet's flow does not respond to congestion and exceeds its limit.
    Unresponsive,
    /// A policer dropped the packet because it exceeded its profile.
    Policed,
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
            Reason::Unresponsive => "unresponsive flow",
            Reason::Policed => "policed",
        })
    }
}

/// A packet that a discipline dropped; the caller counts it.
#[derive(Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// Reason of the drop.
    pub why: Reason,
}

/// The context of a call: the port's random stream, and the only means to drop or mark a packet.
pub struct Cx<'a> {
    /// The port's random stream.
    pub rng: &'a mut Rng,
    /// Dropped packets; the caller drains them after each call.
    pub dropped: &'a mut Vec<Dropped>,
    /// Counter of marks, which each mark increments by 1.
    pub marked: &'a mut u64,
}

impl Cx<'_> {
    /// Drops a packet for the reason `why`.
    #[inline]
    pub fn drop(&mut self, packet: Packet, why: Reason) {
        self.dropped.push(Dropped { packet, why });
    }
    /// Marks an ECN-capable packet "congestion experienced". If another queue has marked it before, the mark still
    /// counts, since this queue has signalled, too.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) {
        packet.set_ce();
        *self.marked += 1;
    }
    /// Signals congestion: marks the packet and returns it if it is ECN-capable and `ecn` is set, else drops it for the
    /// reason `why`. `None`: the packet was dropped.
    #[inline]
    pub fn signal(&mut self, mut packet: Packet, ecn: bool, why: Reason) -> Option<Packet> {
        if ecn && packet.is_ect() {
            self.mark(&mut packet);
            return Some(packet);
        }
        self.drop(packet, why);
        None
    }
}
