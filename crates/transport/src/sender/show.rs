//! Observable state of a sender, for time series, reports and tests.

use super::Sender;
use super::state::{RareCounts, Scoreboard, State, Statistics};
use crate::cc::CongestionControl;
use tailback_units::{Dur, Time};

impl Sender {
    /// Returns the congestion window, segments, without fast recovery's inflation.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    /// Returns the slow-start threshold, segments; infinite before the first congestion if no initial one was set.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    /// Returns the smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Dur {
        self.timers.rtt.srtt(&self.tcp.timers)
    }
    /// Returns the minimum round-trip time so far; zero before the first sample.
    pub fn min_rtt(&self) -> Dur {
        self.timers.rtt.min()
    }
    /// Returns the retransmission timeout, after doubling, at most `max-rto`.
    pub fn rto(&self) -> Dur {
        let interval = self.pacing().interval;
        if interval > Dur::ZERO {
            // The interval already contains the doublings.
            return self.timers.rtt.base().max(interval).min(self.tcp.timers.max_rto);
        }
        self.plain_rto()
    }
    /// Returns the number of segments outstanding: sent, neither acknowledged nor considered lost.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match &self.board {
            Some(board) => board.pipe(),
            None => self.plain_in_flight(),
        }
    }
    /// Returns the counts of the scoreboard; `None`: the sender does not use SACK.
    pub fn scoreboard(&self) -> Option<Scoreboard> {
        self.board.as_ref().map(|board| Scoreboard {
            sacked: board.sacked,
            lost: board.lost,
            retransmitted: board.retransmitted,
        })
    }
    /// Returns the first segment not acknowledged.
    pub fn una(&self) -> u32 {
        self.seq.una
    }
    /// Returns the first segment never transmitted.
    pub fn next(&self) -> u32 {
        self.seq.max
    }
    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        match self.state {
            State::Open if self.ecn.is_reduced(self.seq.una) => State::Reduced,
            state => state,
        }
    }
    /// Returns `true` if all segments offered are acknowledged.
    pub fn done(&self) -> bool {
        self.seq.unsent == 0 && self.seq.is_idle()
    }
    /// Returns `true` if the sender marks its segments, so that the network sees them as marked (green) or unmarked
    /// (yellow).
    pub fn marks(&self) -> bool {
        self.is_marking()
    }
    /// Returns `true` if the connection uses ECN; `false` before it is open.
    pub fn ecn(&self) -> bool {
        self.ecn_capable
    }
    /// Returns the counts since the start of the run.
    pub fn statistics(&self) -> Statistics {
        self.counts.statistics(self.cold.as_ref().map_or_else(RareCounts::default, |cold| cold.counts))
    }
    /// Calls `f` with name and value of each variable of the congestion control.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.control.probe(f);
    }

    /// Checks invariants, for tests; its time grows with the window.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub fn audit(&self) {
        let (used, outstanding) = (self.seq.used(), self.seq.outstanding());
        assert!(used <= outstanding && outstanding < 1 << 31, "{:?}", self.seq);
        assert!(self.window.cwnd > 0.0 && self.window.ssthresh >= 1.0, "{:?}", self.window);
        let probes = self.board.as_ref().is_some_and(|board| board.probe.at != Time::NEVER);
        let runs = self.timers.expiry != Time::NEVER || probes;
        assert!(self.seq.is_idle() || runs, "segments are outstanding and no timer runs");
        if let Some(board) = &self.board {
            board.audit();
        }
    }
}
