//! Transcription of the pseudocode of draft-ietf-ccwg-bbr-05, without loss recovery and idle times.
//!
//! Functions have the draft's names in snake case. A loss is reported with the acknowledgement, as `Bbr3` documents.

use crate::variables::{Ack, AckPhase, Draft, INF, State};
use tailback_transport::cc::RateSample;

impl Draft {
    // Section 5.6.1: gains of the states.
    fn set_state(&mut self, state: State) {
        self.state = state;
        self.pacing_gain = match state {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            _ => 1.0,
        };
        self.cwnd_gain = match state {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        };
    }
    pub fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_cwnd, |min_rtt| gain * bw * min_rtt)
    }
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let offload_budget = 3.0 * (self.pacing_rate * 1e-3).min(65536.0 * 8.0 / self.send_quantum_bits).max(2.0);
        let cap = inflight_cap.max(offload_budget).max(4.0);
        if self.state == State::Up { cap + 2.0 } else { cap }
    }
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
    fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }
    fn is_app_limited(&self, rs: &RateSample) -> bool {
        rs.app_limited || self.app_limited.is_some_and(|(from, to)| (from..=to).contains(&rs.prior_delivered))
    }
    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }
    fn update_round(&mut self, rs: &RateSample) {
        self.delivered = rs.total_delivered;
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_bw_probe += 1;
        }
    }
    // Section 5.5.10.
    fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }
    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = INF;
        self.inflight_shortterm = INF;
    }
    fn update_latest_delivery_signals(&mut self, ack: &Ack) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(ack.rate);
        self.inflight_latest = self.inflight_latest.max(f64::from(ack.rs.delivered));
        if ack.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }
    fn advance_latest_delivery_signals(&mut self, ack: &Ack) {
        if self.loss_round_start {
            self.bw_latest = ack.rate;
            self.inflight_latest = f64::from(ack.rs.delivered);
        }
    }
    fn update_congestion_signals(&mut self, ack: &Ack) {
        // BBRUpdateMaxBw
        if ack.rate >= self.max_bw() || !self.is_app_limited(&ack.rs) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(ack.rate);
        }
        if !self.loss_round_start {
            return;
        }
        // BBRAdaptLowerBoundsFromCongestion
        if !self.is_probing_bw() && self.loss_in_round {
            // BBRInitLowerBounds
            if self.bw_shortterm == INF {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == INF {
                self.inflight_shortterm = self.cwnd;
            }
            // BBRLossLowerBounds
            self.bw_shortterm = self.bw_latest.max(0.7 * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(0.7 * self.inflight_shortterm);
        }
        self.loss_in_round = false;
    }
    fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivered;
        }
        self.loss_in_round = true;
    }
    fn is_inflight_too_high(ack: &Ack) -> bool {
        // LossThresh is 2 %.
        f64::from(ack.rs.lost) > f64::from(ack.rs.sent_in_flight) * 0.02
    }
    fn handle_lost_packet(&mut self, ack: &Ack) {
        self.note_loss();
        if self.bw_probe_samples && Self::is_inflight_too_high(ack) {
            self.handle_inflight_too_high(ack);
        }
    }
    fn handle_inflight_too_high(&mut self, ack: &Ack) {
        self.bw_probe_samples = false;
        if !self.is_app_limited(&ack.rs) {
            self.inflight_longterm = f64::from(ack.rs.sent_in_flight).max(self.target_inflight() * 0.7);
        }
        if self.state == State::Up {
            self.start_probe_bw_down(ack.now);
        }
    }
    fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.bw(), 1.0).min(self.cwnd)
    }
    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == INF {
            return INF;
        }
        // Headroom is 15 %.
        let headroom = (0.15 * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(4.0)
    }
    // Section 5.5.9.
    fn update_ack_aggregation(&mut self, ack: &Ack) {
        let interval = ack.now - self.extra_acked_interval_start;
        let mut expected_delivered = self.bw() * interval;
        if self.extra_acked_delivered <= expected_delivered {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = ack.now;
            expected_delivered = 0.0;
        }
        self.extra_acked_delivered += ack.newly_acked;
        let extra = (self.extra_acked_delivered - expected_delivered).min(self.cwnd);
        let filter_len = if self.full_bw_reached { 10 } else { 1 };
        self.extra_acked = self.extra_acked_filter.running_max(filter_len, self.round_count, extra);
    }
    // Section 5.3.1.2.
    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }
    fn check_full_bw_reached(&mut self, ack: &Ack) {
        if self.full_bw_now || !self.round_start || self.is_app_limited(&ack.rs) {
            return;
        }
        if ack.rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = ack.rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        if self.full_bw_now {
            self.full_bw_reached = true;
        }
    }
    fn check_startup_and_drain_done(&mut self, ack: &Ack) {
        if self.state == State::Startup && self.full_bw_reached {
            self.set_state(State::Drain);
            self.drain_start_round = self.round_count;
        }
        let drained = ack.inflight <= self.inflight(self.bw(), 1.0);
        if self.state == State::Drain && (drained || self.round_count > self.drain_start_round + 3) {
            self.start_probe_bw_down(ack.now);
        }
    }
    // Section 5.3.3.
    fn start_probe_bw_down(&mut self, now: f64) {
        self.reset_congestion_signals();
        self.probe_up_cnt = INF;
        // BBRPickProbeWait
        self.rounds_since_bw_probe = self.rng.below(2);
        self.bw_probe_wait = 2.0 + self.rng.uniform();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.set_state(State::Down);
    }
    fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acks = 0.0;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.set_state(State::Refill);
    }
    fn start_probe_bw_up(&mut self, ack: &Ack) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = ack.rate;
        self.set_state(State::Up);
        self.raise_inflight_longterm_slope();
    }
    fn update_probe_bw_cycle_phase(&mut self, ack: &Ack) {
        if !self.full_bw_reached {
            return;
        }
        self.adapt_long_term_model(ack);
        let state = self.state;
        match state {
            State::Down if self.is_time_to_probe_bw(ack.now) => self.start_probe_bw_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.set_state(State::Cruise),
            State::Cruise if self.is_time_to_probe_bw(ack.now) => self.start_probe_bw_refill(),
            State::Refill if self.round_start => {
                self.bw_probe_samples = true;
                self.start_probe_bw_up(ack);
            }
            State::Up if self.is_time_to_go_down(ack) => self.start_probe_bw_down(ack.now),
            _ => {}
        }
    }
    fn is_time_to_probe_bw(&self, now: f64) -> bool {
        let has_elapsed_in_phase = now > self.cycle_stamp + self.bw_probe_wait;
        let reno_rounds = self.target_inflight().min(63.0);
        has_elapsed_in_phase || self.rounds_since_bw_probe as f64 >= reno_rounds
    }
    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.inflight <= self.inflight_with_headroom() && ack.inflight <= self.inflight(self.max_bw(), 1.0)
    }
    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited[0] || self.cwnd_limited[1]
    }
    fn is_time_to_go_down(&mut self, ack: &Ack) -> bool {
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = ack.rate;
        } else if self.full_bw_now {
            return true;
        }
        false
    }
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_cnt = (self.cwnd / growth_this_round).max(1.0);
    }
    fn probe_inflight_longterm_upward(&mut self, ack: &Ack) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acks += ack.newly_acked;
        if self.bw_probe_up_acks >= self.probe_up_cnt {
            let delta = (self.bw_probe_up_acks / self.probe_up_cnt).floor();
            self.bw_probe_up_acks -= delta * self.probe_up_cnt;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
    fn adapt_long_term_model(&mut self, ack: &Ack) {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        } else if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bw_probe_samples = false;
            self.ack_phase = AckPhase::Init;
            // BBRAdvanceMaxBwFilter
            if self.is_in_a_probe_bw_state() && !self.is_app_limited(&ack.rs) && self.max_bw_filter[1] > 0.0 {
                self.max_bw_filter = [self.max_bw_filter[1], 0.0];
            }
        }
        if Self::is_inflight_too_high(ack) || self.inflight_longterm == INF {
            return;
        }
        self.inflight_longterm = self.inflight_longterm.max(f64::from(ack.rs.sent_in_flight));
        if self.state == State::Up {
            self.probe_inflight_longterm_upward(ack);
        }
    }
    // Section 5.3.4.
    fn update_min_rtt(&mut self, ack: &Ack) {
        self.probe_rtt_expired = ack.now > self.probe_rtt_min_stamp + 5.0;
        if ack.rtt < self.probe_rtt_min_delay || self.probe_rtt_expired {
            self.probe_rtt_min_delay = ack.rtt;
            self.probe_rtt_min_stamp = ack.now;
        }
        let min_rtt_expired = ack.now > self.min_rtt_stamp + 10.0;
        if self.min_rtt.is_none_or(|min_rtt| self.probe_rtt_min_delay < min_rtt) || min_rtt_expired {
            self.min_rtt = Some(self.probe_rtt_min_delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }
    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw(), 0.5).max(4.0)
    }
    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired {
            self.set_state(State::ProbeRtt);
            self.prior_cwnd = self.cwnd;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
            self.app_limited = Some((self.delivered, self.delivered));
        }
        if self.state != State::ProbeRtt {
            return;
        }
        // BBRHandleProbeRTT; MarkConnectionAppLimited
        self.app_limited = self.app_limited.map(|(from, _)| (from, self.delivered + ack.inflight as u64));
        match self.probe_rtt_done_stamp {
            None if ack.inflight <= self.probe_rtt_cwnd() => {
                self.probe_rtt_done_stamp = Some(ack.now + 0.2);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            None => {}
            Some(stamp) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && ack.now > stamp {
                    self.probe_rtt_min_stamp = ack.now;
                    self.cwnd = self.cwnd.max(self.prior_cwnd);
                    // BBRExitProbeRTT
                    self.reset_short_term_model();
                    if self.full_bw_reached {
                        self.start_probe_bw_down(ack.now);
                        self.set_state(State::Cruise);
                    } else {
                        self.set_state(State::Startup);
                    }
                }
            }
        }
    }
    // Section 5.6.
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.bw() * 0.99;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
    fn set_cwnd(&mut self, ack: &Ack) {
        let max_inflight = self.quantization_budget(self.bdp_multiple(self.bw(), self.cwnd_gain) + self.extra_acked);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + ack.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_cwnd {
            self.cwnd += ack.newly_acked;
        }
        self.cwnd = self.cwnd.max(4.0);
        // BBRBoundCwndForProbeRTT
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        // BBRBoundCwndForModel
        let mut cap = INF;
        if self.is_in_a_probe_bw_state() && self.state != State::Cruise {
            cap = self.inflight_longterm;
        } else if matches!(self.state, State::ProbeRtt | State::Cruise) {
            cap = self.inflight_with_headroom();
        }
        cap = cap.min(self.inflight_shortterm).max(4.0);
        self.cwnd = self.cwnd.min(cap);
    }
    // Section 5.2.3: BBRUpdateOnACK.
    pub fn update_on_ack(&mut self, ack: &Ack) {
        self.update_round(&ack.rs);
        if self.round_start {
            self.cwnd_limited = [self.cwnd_limited[1], false];
        }
        self.cwnd_limited[1] |= ack.inflight_before >= self.cwnd as u32;
        if ack.lost > 0 {
            self.handle_lost_packet(ack);
        }
        self.update_latest_delivery_signals(ack);
        self.update_congestion_signals(ack);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(ack);
        self.check_startup_and_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals(ack);
        self.set_pacing_rate();
        self.set_cwnd(ack);
    }
}
