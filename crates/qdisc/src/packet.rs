//! The packet record: 32 bytes, moved and never copied.

use tailback_units::Time;

/// A packet. Neither `Copy` nor `Clone`: it is in exactly one place, a queue, a line or a hand.
///
/// Who takes one by value owns it and must pass it on or count it as delivered or dropped; the
/// engine checks at the end of a run that none has vanished.
#[derive(Debug)]
#[must_use = "a packet that is not passed on is lost uncounted"]
// What any allocator gives unasked. Two whole packets in each cache line would need 32, but blocks of a larger alignment
// cannot serve again once they are freed with some allocators (glibc's): lines that grow and shrink took twice the memory.
#[repr(align(16))]
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
    /// Bytes that the wire counts beyond `size` (low 7 bits), and a bit of what [`Packet::exp`] is told by.
    beyond: u8,
    /// Its code point (low 6 bits): the DS field's upper six (RFC 2474). The other two are of [`Packet::exp`].
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
/// Where `beyond` holds the bytes that the wire counts beyond `size`.
const BEYOND: u8 = 0x7f;
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
    pub const MAX_BEYOND: u32 = 0x7f;
    /// Bytes of an entry of an MPLS label stack (RFC 3032).
    pub const LABEL: u16 = 4;
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
    /// The same packet for another part of a network that is simulated in parts: while it is on a line from one
    /// part to the other both know it, the one as sent and the other as about to arrive. Nothing else has a use
    /// for this.
    pub fn as_seen_from_the_other_end(&self) -> Packet {
        Packet { ..*self }
    }
    /// Sets what a buffer counts and what the wire counts, in bytes: the latter is larger by at most
    /// [`Packet::MAX_BEYOND`].
    #[inline]
    pub fn set_lengths(&mut self, size: u32, wire: u32) {
        debug_assert!(wire <= u32::from(u16::MAX) && wire - size <= Packet::MAX_BEYOND, "{size} and {wire} bytes");
        self.size = size as u16;
        self.beyond = self.beyond & !BEYOND | (wire - size) as u8;
    }
    /// Gives it a label stack of another depth: `from` entries become `to`, in buffers and on the wire. A
    /// frame that was padded stays so.
    #[inline]
    pub fn relabel(&mut self, from: u8, to: u8) {
        self.size = self.size + Packet::LABEL * u16::from(to) - Packet::LABEL * u16::from(from);
    }
    /// Bytes that the wire counts.
    #[inline]
    pub fn wire(&self) -> u16 {
        self.size + u16::from(self.beyond & BEYOND)
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
    /// Moves it into another class, 0 (highest) to 7.
    #[inline]
    pub fn set_class(&mut self, class: u8) {
        self.flow_traits = self.flow_traits & !(u32::from(CLASS) << 24) | u32::from(class & CLASS) << 24;
    }
    /// Its DSCP, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.code & 0x3f
    }
    /// The upper three bits of its DSCP: IP precedence, 0 to 7 (RFC 791).
    #[inline]
    pub fn precedence(&self) -> u8 {
        self.dscp() >> 3
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
    pub fn set_ce(&mut self) {
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
            0b01 => Colour::Yellow,
            0b10 => Colour::Red,
            _ => Colour::Green,
        }
    }
    /// What a label switch reads: the three bits of a label's traffic class field (RFC 5462; EXP before).
    /// Without anything said, a copy of the precedence, as imposition makes it.
    #[inline]
    pub fn exp(&self) -> u8 {
        self.code >> 3 & 0b111 ^ (self.code >> 6 | (self.beyond & !BEYOND) >> 5)
    }
    /// Sets the traffic class field, 0 to 7. It is kept by its difference from the precedence.
    #[inline]
    pub fn set_exp(&mut self, exp: u8) {
        let difference = (exp ^ self.code >> 3) & 0b111;
        self.code = self.code & 0x3f | difference << 6;
        self.beyond = self.beyond & BEYOND | (difference & 0b100) << 5;
    }
    /// What a rate-limited tag has above the code point's byte: 256 or 0.
    #[inline]
    pub(crate) fn tag_high_bit(&self) -> u16 {
        u16::from(self.beyond & !BEYOND) << 1
    }
    /// Sets it.
    #[inline]
    pub(crate) fn set_tag_high_bit(&mut self, high: bool) {
        self.beyond = self.beyond & BEYOND | if high { !BEYOND } else { 0 };
    }
    /// Makes it longer, in buffers and on the wire. A frame that was padded stays so.
    #[inline]
    pub fn grow(&mut self, bytes: u16) {
        self.size = self.size.saturating_add(bytes);
    }
    /// Whether its colour is the one of the four values of two bits that is none.
    #[inline]
    pub(crate) fn has_spare_colour(&self) -> bool {
        self.flow_traits >> Packet::COLOUR_SHIFT & 0b11 == 0b11
    }
    /// Sets its colour to that value, or to green.
    #[inline]
    pub(crate) fn set_spare_colour(&mut self, spare: bool) {
        let bits = 0b11 << Packet::COLOUR_SHIFT;
        self.flow_traits = self.flow_traits & !bits | if spare { bits } else { 0 };
    }
    /// Gives it a colour.
    #[inline]
    pub fn set_colour(&mut self, colour: Colour) {
        self.flow_traits = self.flow_traits & !(0b11 << Packet::COLOUR_SHIFT) | (colour as u32) << Packet::COLOUR_SHIFT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_class_field_shares_its_bytes_with_code_point_and_length_and_disturbs_neither() {
        for code in 0..64 {
            for exp in 0..8 {
                for beyond in [0, 38, Packet::MAX_BEYOND] {
                    let mut packet = Packet::new(7, Traits::data(2, true), Time::ZERO, 1, 3);
                    packet.code = code;
                    packet.set_lengths(1500, 1500 + beyond);
                    assert_eq!(packet.exp(), code >> 3, "at first a copy of the precedence");
                    packet.set_exp(exp);
                    assert_eq!((packet.exp(), packet.code & 0x3f), (exp, code));
                    packet.relabel(0, 2);
                    assert_eq!((u32::from(packet.wire()), packet.size), (1508 + beyond, 1508));
                    packet.relabel(2, 0);
                    packet.set_lengths(100, 100 + beyond);
                    assert_eq!((packet.exp(), u32::from(packet.wire())), (exp, 100 + beyond));
                    packet.set_exp(code >> 3);
                    assert_eq!(packet.code, code);
                }
            }
        }
    }
}
