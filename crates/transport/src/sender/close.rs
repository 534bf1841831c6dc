//! End of the application's writes.

use super::Sender;

/// Number of unsent segments at or above which an endless write has been offered; finite writes stay below it.
const ENDLESS: u64 = u64::MAX / 2;

impl Sender {
    /// Returns the segment after the last one offered. `None`: an endless write was offered.
    pub fn end(&self) -> Option<u32> {
        (self.seq.unsent < ENDLESS).then(|| self.seq.max.wrapping_add(self.seq.unsent as u32))
    }

    /// Discards the segments that are offered but not yet transmitted. Transmitted segments are still retransmitted
    /// until they are acknowledged. A later offer continues with the next segment number.
    pub fn close(&mut self) {
        self.seq.unsent = 0;
        let transmitted = self.counts.transmitted_once();
        let Some(cold) = &mut self.cold else { return };
        while cold.short.back().is_some_and(|(segment, _)| *segment >= transmitted) {
            cold.short.pop_back();
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
    fn close_discards_segments_not_transmitted_and_a_later_offer_continues_the_numbers() {
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
