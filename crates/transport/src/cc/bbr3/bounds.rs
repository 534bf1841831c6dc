//! Response of BBRv3 to losses and echoes: short-term bounds, which are removed at the next probe, and a long-term
//! bound, which probes raise or lower (section 5.5.10).

use super::state::{State, Undo};
use super::{BETA, Bbr3, HEADROOM, LOSS_THRESH, STARTUP_LOSSES};
use crate::cc::model::{MIN_PIPE, Repair};
use crate::cc::{Acked, Window};
use tailback_units::Time;

impl Bbr3 {
    /// Saves the state before a loss (BBRSaveStateUponLoss).
    pub(super) fn save_state(&mut self) {
        let b = &mut self.bounds;
        b.undo = Undo {
            state: self.state,
            bw_short: b.bw_short,
            inflight_short: b.inflight_short,
            inflight_long: b.inflight_long,
        };
    }

    /// Restores the state before a spurious loss (BBRHandleSpuriousLossDetection).
    pub(super) fn undo(&mut self, window: &Window) {
        let b = &mut self.bounds;
        b.loss_in_round = false;
        b.bw_short = b.bw_short.max(b.undo.bw_short);
        b.inflight_short = b.inflight_short.max(b.undo.inflight_short);
        b.inflight_long = b.inflight_long.max(b.undo.inflight_long);
        let before = b.undo.state;
        self.full.reset(0.0);
        if self.state != State::ProbeRtt && self.state != before {
            match before {
                State::Startup => self.enter(State::Startup),
                State::Up => self.start_up(window, 0.0),
                _ => {}
            }
        }
    }

    /// Records that this round has a loss (BBRNoteLoss).
    fn note_loss(&mut self) {
        if !self.bounds.loss_in_round {
            self.bounds.loss_round_delivered = self.rounds.delivered;
            self.save_state();
        }
        self.bounds.loss_in_round = true;
    }

    /// Returns `true` if the losses since the sampled segment was sent exceed [`LOSS_THRESH`] of the segments
    /// outstanding at that time or, without selective acknowledgements, if there was any loss (IsInflightTooHigh).
    pub(super) fn inflight_too_high(&self, acked: &Acked) -> bool {
        let Some(sample) = &acked.rate else { return acked.lost > 0 && !self.selective };
        f64::from(sample.lost) > f64::from(sample.sent_in_flight) * LOSS_THRESH || (sample.lost > 0 && !self.selective)
    }

    /// Processes the losses detected by an acknowledgement (BBRHandleLostPacket).
    pub(super) fn process_losses(&mut self, window: &Window, acked: &Acked) {
        if acked.lost == 0 {
            return;
        }
        self.startup_losses += 1;
        self.note_loss();
        if self.bounds.probe_samples && self.inflight_too_high(acked) {
            let limited = self.limited(acked);
            let sent = acked.rate.as_ref().map(|sample| sample.sent_in_flight).filter(|_| !limited);
            self.handle_inflight_too_high(window, sent, acked.now);
        }
    }

    /// Lowers the long-term bound and ends a probe (BBRHandleInflightTooHigh). `in_flight`: number of segments
    /// outstanding when the sampled segment was sent. `None`: the bound stays, because there is no sample, or the
    /// application or ProbeRTT limited it.
    pub(super) fn handle_inflight_too_high(&mut self, window: &Window, in_flight: Option<u32>, now: Time) {
        self.note_loss();
        if !self.bounds.probe_samples {
            return;
        }
        self.bounds.probe_samples = false;
        if let Some(in_flight) = in_flight {
            self.bounds.inflight_long = f64::from(in_flight).max(self.target_inflight(window) * BETA);
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    /// Returns the target number of segments outstanding (BBRTargetInflight).
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp(self.bw(), 1.0).min(window.cwnd)
    }

    /// Returns the long-term bound minus the headroom for other flows, segments
    /// (BBRInflightWithHeadroom).
    pub(super) fn with_headroom(&self) -> f64 {
        let long = self.bounds.inflight_long;
        if long == f64::INFINITY {
            return long;
        }
        (long - (HEADROOM * long).max(1.0)).max(MIN_PIPE)
    }

    /// Ends Startup if the loss is high (BBRCheckStartupHighLoss, section 5.3.1.3).
    pub(super) fn check_startup_loss(&mut self, acked: &Acked) {
        if self.state == State::Startup && !self.full.reached && self.saved.repair == Repair::Fast {
            let by_count = self.bounds.loss_round_start
                && self.rounds.count > self.recovery_round
                && self.startup_losses >= STARTUP_LOSSES
                && self.inflight_too_high(acked);
            if by_count || (!self.selective && acked.lost > 0) {
                self.full.reached = true;
                self.bounds.inflight_long = self.bdp(self.bw(), 1.0).max(self.bounds.inflight_latest);
            }
        }
        if self.bounds.loss_round_start {
            self.startup_losses = 0;
        }
    }

    /// Updates the signals of this round with a delivery rate in segments per second (BBRUpdateLatestDeliverySignals).
    pub(super) fn update_latest(&mut self, acked: &Acked, rate: f64) {
        let b = &mut self.bounds;
        b.loss_round_start = false;
        let Some(sample) = &acked.rate else { return };
        b.bw_latest = b.bw_latest.max(rate);
        b.inflight_latest = b.inflight_latest.max(f64::from(sample.delivered));
        if sample.prior_delivered >= b.loss_round_delivered {
            b.loss_round_delivered = sample.total_delivered;
            b.loss_round_start = true;
        }
    }

    /// At the end of a round, restarts the signals with those of this acknowledgement
    /// (BBRAdvanceLatestDeliverySignals).
    pub(super) fn advance_latest(&mut self, acked: &Acked, rate: f64) {
        if let (true, Some(sample)) = (self.bounds.loss_round_start, &acked.rate) {
            self.bounds.bw_latest = rate;
            self.bounds.inflight_latest = f64::from(sample.delivered);
        }
    }

    /// Lowers the short-term bounds once per round trip with loss (BBRUpdateCongestionSignals and
    /// BBRAdaptLowerBoundsFromCongestion).
    pub(super) fn adapt_short(&mut self, window: &Window) {
        if !self.bounds.loss_round_start {
            return;
        }
        let (probing, max_bw) = (self.probing_bw(), self.max_bw());
        let b = &mut self.bounds;
        if std::mem::take(&mut b.loss_in_round) && !probing {
            let bw = if b.bw_short == f64::INFINITY { max_bw } else { b.bw_short };
            let inflight = if b.inflight_short == f64::INFINITY { window.cwnd } else { b.inflight_short };
            b.bw_short = b.bw_latest.max(BETA * bw);
            b.inflight_short = b.inflight_latest.max(BETA * inflight);
        }
    }
}
