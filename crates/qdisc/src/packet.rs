//! The packet record of 32 bytes. Packets are moved; they are copied only between the partitions of a run.

pub use tailback_diffserv::Ecn;
use tailback_units::Time;

/// A packet. Neither `Copy` nor `Clone`: it is in exactly one place, a queue, a link or a local variable.
///
/// A function that takes a packet by value owns it and must pass it on or count it as delivered or dropped; the
/// engine checks at the end of a run that no packet has vanished.
#[derive(Debug)]
#[must_use = "a packet that is not passed on is lost uncounted"]
// Every allocator aligns to 16 bytes anyway. An alignment of 32 would keep each packet in one cache line, but some
// allocators (glibc's) do not reuse freed blocks of a larger alignment: queues that grow and shrink took twice the
// memory.
#[repr(align(16))]
pub struct Packet {
    /// Time of enqueueing while the packet waits in a queue; time of arrival while it is on a link.
    pub at: Time,
    /// Time at which the source passed the packet to the network; in an acknowledgement, a value that the transport
    /// defines.
    pub born: Time,
    /// Index of the flow (low 22 bits), colour (2 bits) and traits (high 8 bits).
    flow_traits: u32,
    /// Sequence number within its flow; in a control frame, the handle of its message; in an acknowledgement, the next
    /// sequence number expected.
    pub seq: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Buffer bytes: those that the packet occupies in a queue.
    pub size: u16,
    /// Wire bytes minus `size` (low 7 bits), and one bit of [`Packet::exp`] or of a rate-limited tag.
    beyond: u8,
    /// Low 6 bits: code point, the upper six bits of the DS field (RFC 2474). High 2 bits: part of [`Packet::exp`].
    pub code: u8,
    /// Index of the destination node.
    pub dst: u16,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// Traits of a packet in one byte: class, ECN codepoint and three flags (measured, control frame, echo).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traits(u8);

/// Bits of the class in [`Traits`].
const CLASS: u8 = 0b0000_0111;
/// Flag of packets that count in the results.
const MEASURED: u8 = 0b0000_1000;
/// Flag of link-local control frames.
const CONTROL: u8 = 0b0001_0000;
/// Bits of the ECN codepoint.
const ECN: u8 = 0b0110_0000;
/// Flag of the transport's echo.
const ECHO: u8 = 0b1000_0000;
/// Bits of `beyond` that hold wire bytes minus `size`.
const BEYOND: u8 = 0x7f;
/// Lowest bit of the ECN codepoint.
const ECN_SHIFT: u32 = 5;

/// Drop precedence of a packet within its class, as a meter has marked it (RFC 2597, RFC 2697).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Colour {
    /// Within the profile: dropped last. Also the colour of packets without a meter.
    #[default]
    Green = 0,
    /// Beyond the committed burst size (RFC 2697) or the committed rate (RFC 2698), and not red.
    Yellow = 1,
    /// Beyond the excess burst size (RFC 2697) or the peak rate (RFC 2698): dropped first.
    Red = 2,
}

impl Traits {
    /// Returns the traits of a data packet of `class` (0 to 7). `measured` is `false` for packets of the warm-up.
    pub fn data(class: u8, measured: bool) -> Traits {
        Traits((class & CLASS) | if measured { MEASURED } else { 0 })
    }
    /// Returns the traits of a link-local control frame.
    pub fn control() -> Traits {
        Traits(CONTROL)
    }
    /// Returns the same traits with an ECN codepoint.
    #[inline]
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Traits {
        Traits(self.0 & !ECN | (ecn as u8) << ECN_SHIFT)
    }
    /// Returns the same traits with or without the transport's echo: CWR on data, ECE on an acknowledgement.
    #[inline]
    #[must_use]
    pub fn with_echo(self, echo: bool) -> Traits {
        Traits(self.0 & !ECHO | if echo { ECHO } else { 0 })
    }
}

impl Packet {
    /// Number of distinct flow indices; a flow with a transport takes two, one for each direction.
    pub const MAX_FLOWS: u32 = 1 << 22;
    /// Upper bound of wire bytes minus buffer bytes.
    pub const MAX_BEYOND: u32 = 0x7f;
    /// Bytes of an entry of an MPLS label stack (RFC 3032).
    pub const LABEL: u16 = 4;
    /// Lowest bit of the colour.
    const COLOUR_SHIFT: u32 = 22;

    /// Returns a packet of `flow` (below [`Packet::MAX_FLOWS`]) to the node `dst`, with length 0 and no payload.
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
    /// Returns a copy of the packet for another partition, for partitioned runs only: while the packet is on a link
    /// between two partitions, one holds it as sent and the other as arriving.
    pub fn as_seen_from_the_other_end(&self) -> Packet {
        Packet { ..*self }
    }
    /// Sets buffer bytes (`size`) and wire bytes (`wire`), at most 65535: `wire` exceeds `size` by 0 to
    /// [`Packet::MAX_BEYOND`].
    #[inline]
    pub fn set_lengths(&mut self, size: u32, wire: u32) {
        debug_assert!(u16::try_from(wire).is_ok() && wire - size <= Packet::MAX_BEYOND, "{size} and {wire} bytes");
        self.size = size as u16;
        self.beyond = self.beyond & !BEYOND | (wire - size) as u8;
    }
    /// Changes the packet's length, in buffers and on the wire, for a label stack of `to` entries instead of `from`.
    /// Padding to a minimum length is not computed anew.
    #[inline]
    pub fn relabel(&mut self, from: u8, to: u8) {
        self.size = self.size + Packet::LABEL * u16::from(to) - Packet::LABEL * u16::from(from);
    }
    /// Returns the wire bytes: those that the packet occupies on a link.
    #[inline]
    pub fn wire(&self) -> u16 {
        self.size + u16::from(self.beyond & BEYOND)
    }
    /// Returns the index of the packet's flow.
    #[inline]
    pub fn flow(&self) -> u32 {
        self.flow_traits & (Packet::MAX_FLOWS - 1)
    }
    /// Returns the packet's class, 0 (highest) to 7.
    #[inline]
    pub fn class(&self) -> u8 {
        (self.flow_traits >> 24) as u8 & CLASS
    }
    /// Returns `true` if the packet was generated after the warm-up and so counts in the results.
    #[inline]
    pub fn measured(&self) -> bool {
        (self.flow_traits >> 24) as u8 & MEASURED != 0
    }
    /// Returns `true` if the packet is a link-local control frame.
    #[inline]
    pub fn is_control(&self) -> bool {
        (self.flow_traits >> 24) as u8 & CONTROL != 0
    }
    /// Sets the packet's class, 0 (highest) to 7.
    #[inline]
    pub fn set_class(&mut self, class: u8) {
        self.flow_traits = self.flow_traits & !(u32::from(CLASS) << 24) | u32::from(class & CLASS) << 24;
    }
    /// Returns the packet's DSCP, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.code & 0x3f
    }
    /// Returns the packet's IP precedence, the upper three bits of the DSCP, 0 to 7 (RFC 791).
    #[inline]
    pub fn precedence(&self) -> u8 {
        self.dscp() >> 3
    }
    /// Returns the packet's ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match (self.flow_traits >> 24) as u8 & ECN {
            0b0000_0000 => Ecn::NotEct,
            0b0010_0000 => Ecn::Ect1,
            0b0100_0000 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// Returns `true` if the packet is ECN-capable: a queue may mark it instead of dropping it.
    #[inline]
    pub fn is_ect(&self) -> bool {
        (self.flow_traits >> 24) as u8 & ECN != 0
    }
    /// Marks the packet, which must be ECN-capable (debug builds panic), "congestion experienced". Disciplines use
    /// [`crate::Cx::mark`] instead, which counts the mark.
    #[inline]
    pub fn set_ce(&mut self) {
        debug_assert!(self.is_ect(), "only ECN-capable packets are marked");
        self.flow_traits |= u32::from(ECN) << 24;
    }
    /// Returns the transport's echo: CWR on data, ECE on an acknowledgement (RFC 3168 section 6.1).
    #[inline]
    pub fn echo(&self) -> bool {
        (self.flow_traits >> 24) as u8 & ECHO != 0
    }
    /// Returns the packet's colour.
    #[inline]
    pub fn colour(&self) -> Colour {
        match self.flow_traits >> Packet::COLOUR_SHIFT & 0b11 {
            0b01 => Colour::Yellow,
            0b10 => Colour::Red,
            _ => Colour::Green,
        }
    }
    /// Returns the traffic class field of the packet's MPLS label (RFC 5462, formerly EXP), 0 to 7. Until it is set,
    /// the field equals the IP precedence, as at label imposition.
    #[inline]
    pub fn exp(&self) -> u8 {
        self.code >> 3 & 0b111 ^ (self.code >> 6 | (self.beyond & !BEYOND) >> 5)
    }
    /// Sets the traffic class field, 0 to 7. The packet holds its XOR with the precedence: a later change of the code
    /// point changes the field, too.
    #[inline]
    pub fn set_exp(&mut self, exp: u8) {
        let difference = (exp ^ self.code >> 3) & 0b111;
        self.code = self.code & 0x3f | difference << 6;
        self.beyond = self.beyond & BEYOND | (difference & 0b100) << 5;
    }
    /// Returns the value of bit 8 of a rate-limited tag, 256 or 0. The lower bits of the tag are in `code`.
    #[inline]
    pub(crate) fn tag_high_bit(&self) -> u16 {
        u16::from(self.beyond & !BEYOND) << 1
    }
    /// Sets bit 8 of a rate-limited tag.
    #[inline]
    pub(crate) fn set_tag_high_bit(&mut self, high: bool) {
        self.beyond = self.beyond & BEYOND | if high { !BEYOND } else { 0 };
    }
    /// Adds `bytes` to the packet's length, in buffers and on the wire; buffer bytes saturate at 65535. Padding to a
    /// minimum length is not computed anew.
    #[inline]
    pub fn grow(&mut self, bytes: u16) {
        self.size = self.size.saturating_add(bytes);
    }
    /// Returns `true` if the packet's colour bits hold the fourth value, which is not a colour.
    #[inline]
    pub(crate) fn has_spare_colour(&self) -> bool {
        self.flow_traits >> Packet::COLOUR_SHIFT & 0b11 == 0b11
    }
    /// Sets the packet's colour bits to the fourth value, or to green.
    #[inline]
    pub(crate) fn set_spare_colour(&mut self, spare: bool) {
        let bits = 0b11 << Packet::COLOUR_SHIFT;
        self.flow_traits = self.flow_traits & !bits | if spare { bits } else { 0 };
    }
    /// Sets the packet's colour.
    #[inline]
    pub fn set_colour(&mut self, colour: Colour) {
        self.flow_traits = self.flow_traits & !(0b11 << Packet::COLOUR_SHIFT) | (colour as u32) << Packet::COLOUR_SHIFT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_class_field_shares_bytes_with_code_point_and_length_without_changing_them() {
        for code in 0..64 {
            for exp in 0..8 {
                for beyond in [0, 38, Packet::MAX_BEYOND] {
                    let mut packet = Packet::new(7, Traits::data(2, true), Time::ZERO, 1, 3);
                    packet.code = code;
                    packet.set_lengths(1500, 1500 + beyond);
                    assert_eq!(packet.exp(), code >> 3, "at first a copy of the precedence");
                    packet.set_exp(exp);
                    assert_eq!((packet.exp(), packet.code & 0x3f), (exp, code));
                    // Two labels of 4 B are added and removed.
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
