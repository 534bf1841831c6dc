//! The rate-limited tag in the packet record: which congestion point last slowed a frame's limiter.

use crate::Packet;

/// What a frame carries that has left a rate limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The congestion point that last lowered the limiter's rate, 1 to 255.
    pub point: u8,
    /// The Solicit bit: the limiter is so slow that it asks to be told to go faster.
    pub solicit: bool,
}

impl Tag {
    /// Congestion points that can be told apart.
    pub const MAX_POINTS: usize = u8::MAX as usize;
}

impl Packet {
    /// Its rate-limited tag, if it has one.
    #[inline]
    pub fn tag(&self) -> Option<Tag> {
        (self.code != 0).then(|| Tag { point: self.code, solicit: self.has_spare_colour() })
    }
    /// Gives it a tag, in place of one that it may have. In a network with tags the code point is
    /// the tag's, and nothing else gives colours.
    #[inline]
    pub fn set_tag(&mut self, tag: Tag) {
        self.code = tag.point;
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
        assert_eq!(p.tag(), None);
        for tag in [Tag { point: 255, solicit: true }, Tag { point: 1, solicit: false }] {
            p.set_tag(tag);
            assert_eq!(p.tag(), Some(tag));
            assert_eq!((p.flow(), p.class(), p.measured(), p.colour()), (4_000_000, 3, true, Colour::Green));
        }
    }
}
