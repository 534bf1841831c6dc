//! Pacing rate and window of BBRv3 (section 5.6).

use super::state::State;
use super::{Bbr3, EXTRA_ACKED_ROUNDS, PACING_MARGIN};
use crate::cc::model::MIN_PIPE;
use crate::cc::{Acked, Window};

impl Bbr3 {
    /// Returns the maximum of the delivery rate in the last and the current cycle, segments per second (max_bw).
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Returns the bandwidth, at most the short-term bound, segments per second (BBRBoundBWForModel).
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_short)
    }

    /// Returns `gain` times the product of `bw` and the minimum round-trip time, segments (BBRBDPMultiple); before the
    /// first round-trip time, the initial window.
    pub(super) fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial, |rtt| gain * bw * rtt.as_secs())
    }

    /// Returns a window of `segments`, enlarged for bursts and delayed acknowledgements, segments
    /// (BBRQuantizationBudget with BBRSetSendQuantum).
    pub(super) fn budget(&self, segments: f64) -> f64 {
        let quantum = (self.pacing_rate * 1e-3).min(64.0 * 1024.0 * 8.0 / self.bits).max(2.0);
        let up = if self.state == State::Up { 2.0 } else { 0.0 };
        segments.max(3.0 * quantum).max(MIN_PIPE) + up
    }

    /// Sets the pacing rate to `gain` times the bandwidth minus a margin; until the pipe is full, the rate is never
    /// lowered (BBRSetPacingRateWithGain).
    pub(super) fn pace(&mut self, gain: f64) {
        let rate = gain * self.bw() * PACING_MARGIN;
        if rate > 0.0 && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Estimates the aggregation of acknowledgements (BBRUpdateACKAggregation, section 5.5.9).
    pub(super) fn update_aggregation(&mut self, window: &Window, acked: &Acked) {
        let mut expected = self.bw() * acked.now.since(self.extra_since).as_secs();
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since = acked.now;
            expected = 0.0;
        }
        self.extra_delivered += f64::from(acked.delivered);
        let extra = (self.extra_delivered - expected).min(window.cwnd);
        let rounds = if self.full.reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(rounds, self.rounds.count, extra);
    }

    /// Sets the window (BBRSetCwnd, section 5.6.4.6).
    pub(super) fn set_window(&mut self, window: &mut Window, acked: &Acked) {
        let delivered = f64::from(acked.delivered);
        let maximum = self.budget(self.bdp(self.bw(), self.cwnd_gain) + self.extra_acked.get());
        if self.full.reached {
            window.cwnd = (window.cwnd + delivered).min(maximum);
        } else if window.cwnd < maximum || (self.rounds.delivered as f64) < self.initial {
            window.cwnd += delivered;
        }
        window.cwnd = window.cwnd.max(MIN_PIPE);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        // BBRBoundCwndForModel (section 5.6.4.7).
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(bound.min(self.bounds.inflight_short).max(MIN_PIPE));
    }
}
