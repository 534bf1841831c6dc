//! What a host knows of its own line and of the way to a peer without measuring it, and what packets
//! can tell of the queues that they have passed.

use tailback_units::{Dur, Rate, Time};

/// The line of a sending host and the idle way to its peer, for controls that begin at line rate or
/// count in bandwidth-delay products. Whoever builds the network sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Rate of the host's link.
    pub rate: Rate,
    /// Bytes of a full segment on the wire, all headers included, at least 1.
    pub wire: u32,
    /// Links on the way to the peer, at least 1.
    pub hops: u32,
    /// Round-trip time of a full segment and its acknowledgement when all queues are empty.
    pub base_rtt: Dur,
}

impl Default for Line {
    /// A segment of 1538 B on 10 Gbit/s, over one switch and back in 10 us: for senders without a network.
    fn default() -> Line {
        Line { rate: Rate::mbit(10_000), wire: 1538, hops: 2, base_rtt: Dur::from_us(10) }
    }
}

impl Line {
    /// Segments per second at a rate in bit/s.
    pub(crate) fn segments(&self, rate: f64) -> f64 {
        rate / (8.0 * f64::from(self.wire))
    }
    /// Segments that the idle way holds at line rate: the bandwidth-delay product.
    pub(crate) fn product(&self) -> f64 {
        self.segments(self.rate.0 as f64) * self.base_rtt.as_secs()
    }
}

/// What a switch writes into a packet that leaves it (in-band telemetry; Li and others, SIGCOMM 2019,
/// section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Which port it is: tells a change of the way.
    pub port: u32,
    /// Buffer bytes that wait behind the packet.
    pub queue: u32,
    /// When its transmission began.
    pub at: Time,
    /// How long the transmitter has been sending since the start, by then: between two packets the sent
    /// bytes in units of the link's rate.
    pub busy: Dur,
    /// The link's rate.
    pub rate: Rate,
}
