//! The packet record: 32 bytes, moved and never copied.

use tailback_units::Time;

/// A packet. Neither `Copy` nor `Clone`: it is in exactly one place, a queue, a line or a hand.
///
/// Who takes one by value owns it and must pass it on or count it as delivered or dropped; the
/// engine checks at the end of a run that none has vanished.
#[derive(Debug)]
#[must_use = "a packet that is not passed on is lost uncounted"]
// Not across two cache lines.
#[repr(align(32))]
pub struct Packet {
    /// The holder's instant: when it was enqueued while it waits in a queue, when it will arrive
    /// while it is on a line.
    pub at: Time,
    /// When the source handed it to the network; in an acknowledgement, the transport's own word.
    pub born: Time,
    /// Index of its flow (low 22 bits), its colour (2 bits) and its traits (high 8 bits).
    flow_traits: u32,
    /// Sequence number within its flow; for a control frame the handle of its notice, for an
    /// acknowledgement the next number expected.
    pub seq: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Bytes that a buffer counts.
    pub size: u16,
    /// Bytes that the wire counts beyond `size`.
    beyond: u8,
    /// Its code point: the DS field's upper six bits (RFC 2474), or what a network reads in their place.
    pub code: u8,
    /// Node that it goes to.
    pub dst: u16,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// Traits of a packet: its class, its ECN codepoint and three marks, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traits(u8);

const CLASS: u8 = 0b0000_0111;
const MEASURED: u8 = 0b0000_1000;
const CONTROL: u8 = 0b0001_0000;
const ECN: u8 = 0b0110_0000;
const ECHO: u8 = 0b1000_0000;
/// Where the ECN codepoint begins.
const ECN_SHIFT: u32 = 5;

/// The ECN codepoint of a packet (RFC 3168 section 5), by its two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: it can only be dropped.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, of a low-latency transport (L4S, RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// Drop precedence of a packet within its class, as a meter has marked it (RFC 2597, RFC 2697).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Colour {
    /// Within its profile: dropped last. Also what no meter has looked at.
    #[default]
    Green = 0,
    /// Above the committed rate.
    Yellow = 1,
    /// Above the peak rate: dropped first.
    Red = 2,
}

impl Traits {
    /// Those of a data packet of `class` (0 to 7), measured or only carried.
    pub fn data(class: u8, measured: bool) -> Traits {
        Traits((class & CLASS) | if measured { MEASURED } else { 0 })
    }
    /// Those of a link-local control frame.
    pub fn control() -> Traits {
        Traits(CONTROL)
    }
    /// The same with an ECN codepoint.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Traits {
        Traits(self.0 & !ECN | (ecn as u8) << ECN_SHIFT)
    }
    /// The same with or without the transport's echo: CWR on data, ECE on an acknowledgement.
    #[inline]
    pub fn with_echo(self, echo: bool) -> Traits {
        Traits(self.0 & !ECHO | if echo { ECHO } else { 0 })
    }
}

impl Packet {
    /// Number of flows that can be told apart; a transport's flow takes two, one for each direction.
    pub const MAX_FLOWS: u32 = 1 << 22;
    /// Most bytes by which the wire may count more than a buffer.
    pub const MAX_BEYOND: u32 = u8::MAX as u32;
    /// Where the colour begins.
    const COLOUR_SHIFT: u32 = 22;

    /// A packet of `flow` (below [`Packet::MAX_FLOWS`]) with nothing else set but its traits.
    #[inline]
    pub fn new(flow: u32, traits: Traits, born: Time, seq: u32, dst: u16) -> Packet {
        debug_assert!(flow < Packet::MAX_FLOWS);
        Packet {
            at: born,
            born,
            flow_traits: flow | u32::from(traits.0) << 24,
            seq,
            payload: 0,
            size: 0,
            beyond: 0,
            code: 0,
            dst,
        }
    }
    /// Sets what a buffer counts and what the wire counts, in bytes: the latter is larger by at most
    /// [`Packet::MAX_BEYOND`].
    #[inline]
    pub fn set_lengths(&mut self, size: u32, wire: u32) {
        debug_assert!(wire <= u32::from(u16::MAX) && wire - size <= Packet::MAX_BEYOND, "{size} and {wire} bytes");
        self.size = size as u16;
        self.beyond = (wire - size) as u8;
    }
    /// Bytes that the wire counts.
    #[inline]
    pub fn wire(&self) -> u16 {
        self.size + u16::from(self.beyond)
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
    /// Its ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match (self.flow_traits >> 24) as u8 & ECN {
            0b0000_0000 => Ecn::NotEct,
            0b0010_0000 => Ecn::Ect1,
            0b0100_0000 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// Whether a queue may mark it rather than drop it.
    #[inline]
    pub fn is_ect(&self) -> bool {
        (self.flow_traits >> 24) as u8 & ECN != 0
    }
    /// Sets "congestion experienced". Disciplines mark through [`crate::Cx::mark`], which counts.
    #[inline]
    pub(crate) fn set_ce(&mut self) {
        debug_assert!(self.is_ect(), "only ECN-capable packets are marked");
        self.flow_traits |= u32::from(ECN) << 24;
    }
    /// The transport's echo: CWR on data, ECE on an acknowledgement (RFC 3168 section 6.1).
    #[inline]
    pub fn echo(&self) -> bool {
        (self.flow_traits >> 24) as u8 & ECHO != 0
    }
    /// Its colour.
    #[inline]
    pub fn colour(&self) -> Colour {
        match self.flow_traits >> Packet::COLOUR_SHIFT & 0b11 {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        }
    }
    /// Gives it a colour.
    #[inline]
    pub fn set_colour(&mut self, colour: Colour) {
        self.flow_traits = self.flow_traits & !(0b11 << Packet::COLOUR_SHIFT) | (colour as u32) << Packet::COLOUR_SHIFT;
    }
}
