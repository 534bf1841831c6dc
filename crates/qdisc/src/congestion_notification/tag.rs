//! The rate-limited tag in the packet record: the congestion point that last slowed the frame's
//! limiter.

use crate::Packet;

/// Rate-limited tag of a frame that has left a rate limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The congestion point that last lowered the limiter's rate, 1 to [`Tag::MAX_POINTS`].
    pub point: u16,
    /// Solicit bit: the slow limiter requests positive feedback.
    pub solicit: bool,
}

impl Tag {
    /// Number of distinct congestion points in tags: the packet record has nine free bits.
    pub const MAX_POINTS: usize = 0x1ff;
}

impl Packet {
    /// Returns the rate-limited tag. `None`: the packet has no tag.
    #[inline]
    pub fn tag(&self) -> Option<Tag> {
        let point = u16::from(self.code) | self.tag_high_bit();
        (point != 0).then(|| Tag { point, solicit: self.has_spare_colour() })
    }
    /// Sets the tag, which replaces an earlier one. In a network with tags the tag occupies the code point and a
    /// bit of the traffic class field, and nothing else sets colours.
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
    fn a_tag_leaves_flow_class_and_colour_as_they_are() {
        let mut p = Packet::new(4_000_000, Traits::data(3, true), Time(7), 9, 5);
        p.set_lengths(1500, 1538);
        assert_eq!(p.tag(), None);
        for tag in [(255, true), (256, false), (511, true), (1, false)].map(|(point, solicit)| Tag { point, solicit }) {
            p.set_tag(tag);
            assert_eq!(p.tag(), Some(tag));
            assert_eq!((p.size, p.wire()), (1500, 1538));
            assert_eq!((p.flow(), p.class(), p.measured(), p.colour()), (4_000_000, 3, true, Colour::Green));
        }
    }
}
