//! Probing of BBRv3 (sections 5.3.3 and 5.3.4): for bandwidth every 2 to 3 s, or earlier, after the number of rounds
//! between two losses of Reno (at most 63); for the minimum round-trip time every 5 s.

use super::state::{Phase, State};
use super::{Bbr3, MIN_RTT_WINDOW, PROBE_RTT, PROBE_RTT_GAIN, PROBE_RTT_INTERVAL};
use crate::cc::model::MIN_PIPE;
use crate::cc::{Acked, Window};
use tailback_units::{Dur, Time};

impl Bbr3 {
    /// Updates the maximum filter with a delivery rate in segments per second (BBRUpdateMaxBw, section 5.5.5).
    pub(super) fn update_max_bw(&mut self, acked: &Acked, rate: f64) {
        if rate >= self.max_bw() || !self.limited(acked) {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
    }

    /// Enters ProbeBW_DOWN (BBRStartProbeBW_DOWN).
    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.reset_signals();
        self.cycle.up_count = f64::INFINITY;
        // BBRPickProbeWait: a random wait of 2 s to 3 s, and a random start of the count of rounds.
        self.cycle.rounds = self.rng.below(2);
        self.cycle.wait = Dur::from_secs_f64(2.0 + self.rng.uniform());
        self.cycle.start = now;
        self.cycle.phase = Phase::Stopping;
        self.rounds.restart();
        self.enter(State::Down);
    }

    /// Enters ProbeBW_REFILL (BBRStartProbeBW_REFILL).
    fn start_refill(&mut self) {
        self.bounds.reset_short();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0.0;
        self.cycle.phase = Phase::Refilling;
        self.rounds.restart();
        self.enter(State::Refill);
    }

    /// Enters ProbeBW_UP (BBRStartProbeBW_UP).
    pub(super) fn start_up(&mut self, window: &Window, rate: f64) {
        self.cycle.phase = Phase::Starting;
        self.rounds.restart();
        self.full.reset(rate);
        self.enter(State::Up);
        self.raise_slope(window);
    }

    /// Advances the cycle of probing (BBRUpdateProbeBWCyclePhase).
    pub(super) fn update_cycle(&mut self, window: &Window, acked: &Acked, rate: f64) {
        if !self.full.reached {
            return;
        }
        self.adapt_long(window, acked);
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(window, acked.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(acked) => self.enter(State::Cruise),
            State::Refill if self.rounds.start => {
                self.bounds.probe_samples = true;
                self.start_up(window, rate);
            }
            State::Up if self.is_time_to_go_down(window, rate) => self.start_down(acked.now),
            _ => {}
        }
    }

    /// Returns `true` if a probe is due (BBRIsTimeToProbeBW).
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        // Reno halves a window of n segments about every n rounds, at a loss.
        let reno = self.target_inflight(window).min(63.0);
        now > self.cycle.start + self.cycle.wait || self.cycle.rounds as f64 >= reno
    }

    /// Returns `true` if the queue is drained and the headroom is free (BBRIsTimeToCruise).
    fn is_time_to_cruise(&self, acked: &Acked) -> bool {
        let in_flight = f64::from(acked.in_flight);
        in_flight <= self.with_headroom() && in_flight <= self.budget(self.bdp(self.max_bw(), 1.0))
    }

    /// Returns `true` if the probe has filled the pipe (BBRIsTimeToGoDown).
    fn is_time_to_go_down(&mut self, window: &Window, rate: f64) -> bool {
        if self.cwnd_limited() && window.cwnd >= self.bounds.inflight_long {
            self.full.reset(rate);
            return false;
        }
        self.full.now
    }

    /// Doubles the growth of the long-term bound per round (BBRRaiseInflightLongtermSlope).
    fn raise_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_count = (window.cwnd / growth).max(1.0);
    }

    /// Raises the long-term bound in ProbeBW_UP (BBRProbeInflightLongtermUpward).
    fn probe_upward(&mut self, window: &Window, acked: &Acked) {
        if !self.cwnd_limited() || window.cwnd < self.bounds.inflight_long {
            return;
        }
        self.cycle.up_acks += f64::from(acked.delivered);
        let growth = (self.cycle.up_acks / self.cycle.up_count).floor();
        self.cycle.up_acks -= growth * self.cycle.up_count;
        self.bounds.inflight_long += growth;
        if self.rounds.start {
            self.raise_slope(window);
        }
    }

    /// Updates the long-term bound at an acknowledgement (BBRAdaptLongTermModel).
    fn adapt_long(&mut self, window: &Window, acked: &Acked) {
        if self.rounds.start {
            match self.cycle.phase {
                Phase::Starting => self.cycle.phase = Phase::Feedback,
                Phase::Stopping => {
                    self.bounds.probe_samples = false;
                    self.cycle.phase = Phase::None;
                    if self.in_probe_bw() && !self.limited(acked) {
                        self.max_bw = [self.max_bw[1], 0.0];
                    }
                }
                _ => {}
            }
        }
        if self.inflight_too_high(acked) || self.bounds.inflight_long == f64::INFINITY {
            return;
        }
        if let Some(sample) = &acked.rate {
            self.bounds.inflight_long = self.bounds.inflight_long.max(f64::from(sample.sent_in_flight));
        }
        if self.state == State::Up {
            self.probe_upward(window, acked);
        }
    }

    /// Updates the minimum round-trip time; returns `true` if ProbeRTT is due (BBRUpdateMinRTT, section 5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, acked: &Acked) -> bool {
        let expired = self.probe_delay.is_some() && acked.now > self.probe_delay_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = acked.rtt
            && (expired || self.probe_delay.is_none_or(|minimum| rtt < minimum))
        {
            self.probe_delay = Some(rtt);
            self.probe_delay_at = acked.now;
        }
        let min_rtt_expired = acked.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if min_rtt_expired || self.min_rtt.is_none_or(|minimum| self.probe_delay.is_some_and(|delay| delay < minimum)) {
            self.min_rtt = self.probe_delay;
            self.min_rtt_at = self.probe_delay_at;
        }
        expired
    }

    /// Returns the window of ProbeRTT, segments (BBRProbeRTTCwnd).
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_GAIN).max(MIN_PIPE)
    }

    /// Enters ProbeRTT if the minimum since the last ProbeRTT had `expired`, and leaves ProbeRTT when it is over
    /// (BBRCheckProbeRTT).
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, acked: &Acked, expired: bool) {
        if self.state != State::ProbeRtt && expired && !self.idle_restart {
            self.saved.save(window, false);
            self.enter(State::ProbeRtt);
            self.probe_rtt_until = None;
            self.cycle.phase = Phase::Stopping;
            self.rounds.restart();
            self.held_back.begin(self.rounds.delivered);
        }
        if self.state == State::ProbeRtt {
            self.held_back.extend(self.rounds.delivered, acked.in_flight);
            match self.probe_rtt_until {
                None if f64::from(acked.in_flight) <= self.probe_rtt_window() => {
                    self.probe_rtt_until = Some(acked.now + PROBE_RTT);
                    self.probe_rtt_round = false;
                    self.rounds.restart();
                }
                None => {}
                Some(until) => {
                    self.probe_rtt_round |= self.rounds.start;
                    if self.probe_rtt_round && acked.now > until {
                        self.probe_delay_at = acked.now;
                        self.saved.restore(window);
                        self.exit_probe_rtt(acked.now);
                    }
                }
            }
        }
        self.idle_restart = false;
    }

    /// Returns to ProbeBW or Startup (BBRExitProbeRTT).
    fn exit_probe_rtt(&mut self, now: Time) {
        self.bounds.reset_short();
        if self.full.reached {
            self.start_down(now);
            self.enter(State::Cruise);
        } else {
            self.enter(State::Startup);
        }
    }
}
