//! The packet record: 32 bytes, moved and never copied.

use tailback_units::Time;

/// A packet. Neither `Copy` nor `Clone`: it is in exactly one place, a queue, a line or a hand.
///
/// Who takes one by value owns it and must pass it on or count it as delivered or dropped; the
/// engine checks at the end of a run that none has vanished.
#[derive(Debug)]
#[must_use = "a packet that is not passed on is lost uncounted"]
pub struct Packet {
    /// The holder's instant: when it was enqueued while it waits in a queue, when it will arrive
    /// while it is on a line.
    pub at: Time,
    /// When the source handed it to the network.
    pub born: Time,
    /// Index of its flow (low 24 bits) and its traits (high 8 bits).
    flow_traits: u32,
    /// Sequence number within its flow; for a control frame the handle of its notice.
    pub seq: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Bytes that a buffer counts.
    pub size: u16,
    /// Bytes that the wire counts.
    pub wire: u16,
    /// Node that it goes to.
    pub dst: u16,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// Traits of a packet: its class and three marks, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traits(u8);

const CLASS: u8 = 0b0000_0111;
const MEASURED: u8 = 0b0000_1000;
const CONTROL: u8 = 0b0001_0000;

impl Traits {
    /// Those of a data packet of `class` (0 to 7), measured or only carried.
    pub fn data(class: u8, measured: bool) -> Traits {
        Traits((class & CLASS) | if measured { MEASURED } else { 0 })
    }
    /// Those of a link-local control frame.
    pub fn control() -> Traits {
        Traits(CONTROL)
    }
}

impl Packet {
    /// Number of flows that can be told apart.
    pub const MAX_FLOWS: u32 = 1 << 24;

    /// A packet of `flow` (below [`Packet::MAX_FLOWS`]) with nothing else set but its traits.
    #[inline]
    pub fn new(flow: u32, traits: Traits, born: Time, seq: u32, dst: u16) -> Packet {
        debug_assert!(flow < Packet::MAX_FLOWS);
        Packet { at: born, born, flow_traits: flow | u32::from(traits.0) << 24, seq, payload: 0, size: 0, wire: 0, dst }
    }
    /// Index of its flow.
    #[inline]
    pub fn flow(&self) -> u32 {
        self.flow_traits & (Packet::MAX_FLOWS - 1)
    }
    /// Its class, 0 (highest) to 7.
    #[inline]
    pub fn class(&self) -> u8 {
        (self.flow_traits >> 24) as u8 & CLASS
    }
    /// Whether it was born after the warm-up and so counts in the results.
    #[inline]
    pub fn measured(&self) -> bool {
        (self.flow_traits >> 24) as u8 & MEASURED != 0
    }
    /// Whether it is a link-local control frame.
    #[inline]
    pub fn is_control(&self) -> bool {
        (self.flow_traits >> 24) as u8 & CONTROL != 0
    }
}
