//! The application's end of its writing.

use super::Sender;

impl Sender {
    /// The segment after the last one offered; none when an offer was without end.
    pub fn end(&self) -> Option<u32> {
        (self.cold.offered < u64::MAX).then(|| self.max.wrapping_add(self.left as u32))
    }

    /// The application stops: what it has offered and was not yet transmitted is given up, what was
    /// is repeated until it is acknowledged. A later offer goes on from there.
    pub fn close(&mut self) {
        let statistics = self.cold.statistics;
        self.left = 0;
        self.cold.offered = statistics.sent - statistics.retransmissions;
        while self.cold.short.back().is_some_and(|(segment, _)| *segment >= self.cold.offered) {
            self.cold.short.pop_back();
        }
    }
}
