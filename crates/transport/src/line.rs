//! The host's link and the idle path to a peer, and the telemetry that switches write into packets.

use tailback_units::{Dur, Rate, Time};

/// The link of a sending host and the idle path to its peer, for congestion controls that start at line rate or compute
/// bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Rate of the host's link.
    pub rate: Rate,
    /// Bytes of a full segment on the wire, all headers included, at least 1.
    pub wire: u32,
    /// Number of links of the path to the peer, at least 1.
    pub hops: u32,
    /// Round-trip time of a full segment and its acknowledgement when all queues are empty.
    pub base_rtt: Dur,
}

impl Default for Line {
    /// Returns a link of 10 Gbit/s, segments of 1538 B, one switch and a round-trip time of 10 us, for senders without
    /// a network.
    fn default() -> Line {
        Line { rate: Rate::mbit(10_000), wire: 1538, hops: 2, base_rtt: Dur::from_us(10) }
    }
}

impl Line {
    /// Returns the segments per second at a rate in bit/s.
    pub(crate) fn segments(&self, rate: f64) -> f64 {
        rate / (8.0 * f64::from(self.wire))
    }
    /// Returns the bandwidth-delay product of the host's link and the idle path, segments.
    pub(crate) fn product(&self) -> f64 {
        self.segments(self.rate.0 as f64) * self.base_rtt.as_secs()
    }
}

/// Telemetry that a switch writes into a packet at its departure (in-band network telemetry; Li and others, SIGCOMM
/// 2019, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Number of the port, unique in the network. If it differs from that of an earlier packet, the path has changed.
    pub port: u32,
    /// Backlog of the port when the packet leaves, bytes of buffer.
    pub queue: u32,
    /// Start of the packet's transmission.
    pub at: Time,
    /// Time for which the transmitter has been busy since the start of the run. Its increase between two packets, times
    /// the rate, is the number of bits sent.
    pub busy: Dur,
    /// The link's rate.
    pub rate: Rate,
}
