//! The end of what the application writes.

use super::Sender;

/// No finite offer has so many segments: what is left of an endless one stays above.
const ENDLESS: u64 = u64::MAX / 2;

impl Sender {
    /// The segment after the last one offered; none when an offer was without end.
    pub fn end(&self) -> Option<u32> {
        (self.left < ENDLESS).then(|| self.max.wrapping_add(self.left as u32))
    }

    /// The application stops: what it has offered and was not yet transmitted is given up, what was
    /// is repeated until it is acknowledged. A later offer goes on from there.
    pub fn close(&mut self) {
        self.left = 0;
        let transmitted = self.transmitted_once();
        let Some(rare) = &mut self.rare else { return };
        while rare.short.back().is_some_and(|(segment, _)| *segment >= transmitted) {
            rare.short.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Sender, Tcp};
    use std::sync::Arc;
    use tailback_random::Rng;
    use tailback_units::Time;

    #[test]
    fn what_was_not_transmitted_is_given_up_and_a_later_offer_goes_on_from_there() {
        let tcp = Arc::new(Tcp { handshake: false, ..Tcp::default() });
        let mut sender = Sender::new(&tcp, Rng::named(1, "close"));
        sender.offer(Time::ZERO, u64::MAX);
        assert_eq!(sender.end(), None);
        let sent = std::iter::from_fn(|| sender.poll(Time::ZERO)).count() as u32;
        sender.close();
        assert_eq!(sender.end(), Some(sent));
        assert!(sender.poll(Time::ZERO).is_none());
        sender.offer(Time::ZERO, 2 * 1460 + 1);
        assert_eq!(sender.end(), Some(sent + 3));
        sender.close();
        assert_eq!((sender.end(), sender.done()), (Some(sent), false));
    }
}
