//! Segments and acknowledgements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::Ecn;
use tailback_units::{Dur, Time};

/// Form of the receiver's echo of the mark "congestion experienced" (CE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnEcho {
    /// In each acknowledgement until a segment with CWR arrives (RFC 3168 section 6.1.3).
    #[default]
    Classic,
    /// In the acknowledgements of marked segments only (RFC 8257 section 3.2).
    Accurate,
}

/// A segment to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Segment number; the first segment of data is 0. A SYN carries `u32::MAX`.
    pub seq: u32,
    /// Payload bytes, 1 to the segment size; 0 in a SYN.
    pub payload: u16,
    /// ECN code point.
    pub ecn: Ecn,
    /// Flag CWR, congestion window reduced (RFC 3168 section 6.1.2); on a SYN both ECE and CWR: the sender
    /// is ECN-capable.
    pub cwr: bool,
    /// `true` if the segment has been transmitted before.
    pub retransmission: bool,
    /// `true` if the sender marks the segment for the better service, `false` if not. `None`: the sender does not mark,
    /// and the network may.
    pub marked: Option<bool>,
}

/// Consecutive segments from `start` to `end - 1`; empty if `start == end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// Number of the first segment.
    pub start: u32,
    /// Number of the segment after the last one.
    pub end: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of the next segment expected in order.
    pub next: u32,
    /// Flag ECE: echo of congestion experienced; on a SYN-ACK: the receiver is ECN-capable.
    pub ece: bool,
    /// `true` if the acknowledgement is a SYN-ACK.
    pub syn: bool,
    /// Time at which the segment that caused the acknowledgement was sent (the echoed timestamp of RFC 7323).
    pub echo: Time,
    /// One-way delay of the last segment that arrived, from its transmission to its arrival (RFC 6817 section 2.3).
    /// Zero: the receiver does not measure it ([`Needs::delay`](crate::cc::Needs::delay)).
    pub delay: Dur,
    /// Number of segments from `next` on that the receive window allows (RFC 9293 section 3.8.6); [`Ack::UNLIMITED`]: the
    /// acknowledgement has no window, and the last one holds.
    pub window: u32,
    /// Selective acknowledgement, the block with the newest arrival first (RFC 2018); empty blocks have `start == end`.
    /// If the first block is below `next` or inside the second block, it reports a duplicate (RFC 2883).
    pub sack: [Block; 3],
}

impl Ack {
    /// Value of `window` in acknowledgements without a window.
    pub const UNLIMITED: u32 = u32::MAX;

    /// Returns `true` if the acknowledgement carries a block.
    pub fn has_sack(&self) -> bool {
        self.sack[0].start != self.sack[0].end
    }
}
