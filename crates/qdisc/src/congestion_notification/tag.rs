//! The rate-limited tag in the packet record: the number of the congestion point that last lowered the rate of the
//! frame's limiter, and the Solicit bit.

use crate::Packet;

/// Rate-limited tag of a frame that has left a rate limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of the congestion point that last lowered the limiter's rate, 1 to [`Tag::MAX_POINTS`].
    pub point: u16,
    /// Solicit bit: `true` if the limiter's rate is below Rsolicit, so that it requests positive feedback.
    pub solicit: bool,
}

impl Tag {
    /// Largest number of a congestion point: a tag has nine bits for it, and 0 means no tag.
    pub const MAX_POINTS: usize = 0x1ff;
}

impl Packet {
    /// Returns the rate-limited tag. `None`: the packet has no tag. Valid only in a network with tags: elsewhere
    /// the same bits hold the code point.
    #[inline]
    pub fn tag(&self) -> Option<Tag> {
        let point = u16::from(self.code) | self.tag_high_bit();
        (point != 0).then(|| Tag { point, solicit: self.has_spare_colour() })
    }
    /// Sets the tag, which replaces an earlier one; `tag.point` is 1 to [`Tag::MAX_POINTS`]. The number overwrites the
    /// DS code point and the MPLS traffic class, and the Solicit bit the colour.
    #[inline]
    pub fn set_tag(&mut self, tag: Tag) {
        debug_assert!(usize::from(tag.point) <= Tag::MAX_POINTS, "{tag:?}");
        self.code = tag.point as u8;
        self.set_tag_high_bit(tag.point > u16::from(u8::MAX));
        self.set_spare_colour(tag.solicit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Colour, Traits};
    use tailback_units::Time;

    #[test]
    fn a_tag_leaves_flow_class_and_lengths_unchanged_and_the_colour_reads_as_green() {
        let mut packet = Packet::new(4_000_000, Traits::data(3, true), Time(7), 9, 5);
        packet.set_lengths(1500, 1538);
        assert_eq!(packet.tag(), None);
        for tag in [(255, true), (256, false), (511, true), (1, false)].map(|(point, solicit)| Tag { point, solicit }) {
            packet.set_tag(tag);
            assert_eq!(packet.tag(), Some(tag));
            assert_eq!((packet.size, packet.wire()), (1500, 1538));
            let fields = (packet.flow(), packet.class(), packet.measured(), packet.colour());
            assert_eq!(fields, (4_000_000, 3, true, Colour::Green));
        }
    }
}
