//! What travels: segments one way, acknowledgements the other.

use tailback_units::Time;

/// The ECN codepoint of a segment (RFC 3168 section 5; ECT(1) after RFC 9331).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, low-latency.
    Ect1,
    /// ECN-capable.
    Ect0,
}

/// A segment to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; the first segment of data is 0. A SYN has none and carries `u32::MAX`.
    pub seq: u32,
    /// Payload bytes, 1 to the segment size; 0 in a SYN.
    pub payload: u16,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168 section 6.1.2); on a SYN: ECE and CWR, "I can do ECN".
    pub cwr: bool,
    /// Whether it has been transmitted before.
    pub retransmission: bool,
    /// Whether the sender marks it as within its service; none leaves that to the network.
    pub marked: Option<bool>,
}

/// Segments `start` to `end - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// The first.
    pub start: u32,
    /// The one after the last.
    pub end: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected in order.
    pub next: u32,
    /// Echo of congestion experienced; on a SYN-ACK: "I can do ECN, too".
    pub ece: bool,
    /// Whether it answers a SYN.
    pub syn: bool,
    /// When the segment that caused it was sent (the echoed timestamp of RFC 7323).
    pub echo: Time,
    /// Selective acknowledgement, the block with the newest arrival first (RFC 2018); empty blocks
    /// have `start == end`. A first block at or below `next`, or inside the second, is a duplicate
    /// report (RFC 2883).
    pub sack: [Block; 3],
}

impl Ack {
    /// Whether it carries any block.
    pub fn has_sack(&self) -> bool {
        self.sack[0].start != self.sack[0].end
    }
}
