//! BBR, version 3: the model of version 1, with bounds that losses lower (draft-ietf-ccwg-bbr-05, whose section numbers
//! are cited in this folder).

mod bounds;
mod cycle;
mod output;
mod state;

use super::model::{self, HeldBack, Repair, Rounds, Saved, WindowedMax};
use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Pacing, Profile, RecoveryWindow, Sent,
    SentCalls, Setup, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state::{Bounds, Cycle, Full, State};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

// All constants are those of draft-ietf-ccwg-bbr-05.

/// StartupPacingGain, 4·ln 2 (section 5.3.1.1).
const STARTUP_GAIN: f64 = 2.77;
/// DrainPacingGain (section 5.3.2). Earlier drafts have 1/2.77 = 0.36, Linux 0.35.
const DRAIN_GAIN: f64 = 0.5;
/// DefaultCwndGain (section 5.6.1).
const CWND_GAIN: f64 = 2.0;
/// Factor of the pacing rate, for BBRPacingMarginPercent = 1 (section 5.6.2).
const PACING_MARGIN: f64 = 0.99;
/// LossThresh (section 3.2): maximum tolerated fraction of segments lost per round trip.
const LOSS_THRESH: f64 = 0.02;
/// Beta: factor of bounds at a loss (section 5.5.10.2).
const BETA: f64 = 0.7;
/// Headroom: fraction of the long-term bound left to other flows (section 5.3.3.1; 1 − 0.85 of the table in section
/// 5.6.1).
const HEADROOM: f64 = 0.15;
/// BBRStartupFullLossCnt: number of acknowledgements with new losses in a round at which Startup may end (section
/// 5.3.1.3).
const STARTUP_LOSSES: u32 = 6;
/// ExtraAckedFilterLen: length of the filter of `extra_acked`, rounds (section 2.11).
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// MinRTTFilterLen: age at which the minimum round-trip time expires (section 2.13.1).
const MIN_RTT_WINDOW: Dur = Dur::from_secs(10);
/// ProbeRTTInterval: time between two ProbeRTT (section 2.13.2).
const PROBE_RTT_INTERVAL: Dur = Dur::from_secs(5);
/// ProbeRTTDuration: minimum duration of ProbeRTT (section 2.13.2).
const PROBE_RTT: Dur = Dur::from_ms(200);
/// ProbeRTTCwndGain: window in ProbeRTT, in bandwidth-delay products (section 2.13.2).
const PROBE_RTT_GAIN: f64 = 0.5;

/// BBR version 3 (draft-ietf-ccwg-bbr): the sender paces at the measured bandwidth and keeps about twice the
/// bandwidth-delay product outstanding, and less after a round trip in which more than 2 % of the segments were lost.
/// There are no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {}

impl Params {
    /// Accepts: there are no parameters.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

impl Build for Params {
    type Control = Bbr3;
    fn build(&self, setup: &Setup, rng: Rng) -> Bbr3 {
        let initial = f64::from(setup.initial_window);
        Bbr3 {
            rng,
            bits: model::segment_bits(setup),
            initial,
            selective: setup.selective,
            state: State::Startup,
            pacing_gain: STARTUP_GAIN,
            cwnd_gain: CWND_GAIN,
            pacing_rate: STARTUP_GAIN * initial / 1e-3,
            rounds: Rounds::default(),
            max_bw: [0.0; 2],
            held_back: HeldBack::default(),
            bounds: Bounds::default(),
            full: Full::default(),
            extra_acked: WindowedMax::default(),
            extra_delivered: 0.0,
            extra_since: Time::ZERO,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_delay: None,
            probe_delay_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            idle_restart: false,
            drain_round: 0,
            startup_losses: 0,
            recovery_round: 0,
            cycle: Cycle::default(),
            limited_last: false,
            limited_now: false,
            saved: Saved::default(),
        }
    }
}

/// State of BBR version 3 in one sender.
///
/// Interpretations of the draft's pseudocode:
/// - Loss is compared with the threshold once per acknowledgement that reports it, by the sample of the newest segment
///   delivered (as up to draft -01), not by the state at the transmission of each lost segment
///   (section 5.5.10.2): the sender reports counts.
/// - Of the six discontiguous ranges of lost segments that end Startup, each acknowledgement with new losses counts as
///   one, as in Linux.
/// - The filter of the bandwidth advances once, after the first round that follows a probe, and not again until the
///   next probe (section 5.5.6). The pseudocode of section 5.3.3.6 lacks the line for this that Linux has.
/// - An echo of congestion counts as a loss above the threshold, at most once per window: the draft
///   (section 3.7) requires a response and specifies none.
///
/// In `probe`, `mode` is 0 for Startup, 1 for Drain, 2 for ProbeBW_DOWN, 3 for ProbeBW_CRUISE, 4 for ProbeBW_REFILL, 5
/// for ProbeBW_UP and 6 for ProbeRTT.
#[derive(Debug)]
pub struct Bbr3 {
    rng: Rng,
    /// Payload of a full segment, bits.
    bits: f64,
    /// Initial window, segments.
    initial: f64,
    /// `true` if acknowledgements are selective, so that more than one loss per round trip can be reported.
    selective: bool,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Pacing rate, segments per second.
    pacing_rate: f64,
    rounds: Rounds,
    /// Maximum delivery rate of the last cycle (index 0) and of the current one (index 1), segments per second.
    max_bw: [f64; 2],
    /// Deliveries that ProbeRTT limited.
    held_back: HeldBack,
    bounds: Bounds,
    full: Full,
    /// Maximum number of segments acknowledged in excess of bandwidth times time, because acknowledgements are
    /// aggregated (extra_acked).
    extra_acked: WindowedMax,
    /// Number of segments delivered since `extra_since`.
    extra_delivered: f64,
    /// Start of the interval in which aggregation is measured.
    extra_since: Time,
    /// Minimum round-trip time; `None` before the first sample.
    min_rtt: Option<Dur>,
    /// Time at which `min_rtt` was measured.
    min_rtt_at: Time,
    /// Minimum round-trip time since the last ProbeRTT (probe_rtt_min_delay); `None` before the first sample.
    probe_delay: Option<Dur>,
    /// Time at which `probe_delay` was measured.
    probe_delay_at: Time,
    /// Earliest end of ProbeRTT. `None`: too many segments are still outstanding.
    probe_rtt_until: Option<Time>,
    /// `true` if a round has ended since the segments outstanding fitted the window of ProbeRTT.
    probe_rtt_round: bool,
    /// `true` from a transmission after an idle time to the next acknowledgement.
    idle_restart: bool,
    /// Round in which Drain began.
    drain_round: u64,
    /// Number of acknowledgements with new losses in this round.
    startup_losses: u32,
    /// Round in which fast recovery began.
    recovery_round: u64,
    cycle: Cycle,
    /// `true` if the window was full at some time in the last round.
    limited_last: bool,
    /// `true` if the window was full at some time in the current round.
    limited_now: bool,
    saved: Saved,
}

impl Bbr3 {
    /// Returns `true` in the states that probe for bandwidth (IsProbingBandwidth).
    fn probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// Returns `true` in the states of ProbeBW.
    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Returns `true` if an acknowledgement has no sample of the delivery rate, or one that the application or ProbeRTT
    /// limits.
    fn limited(&self, acked: &Acked) -> bool {
        acked.rate.as_ref().is_none_or(|sample| self.held_back.limits(sample))
    }

    /// Enters a state with its gains (table of section 5.6.1).
    fn enter(&mut self, state: State) {
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (STARTUP_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_GAIN, CWND_GAIN),
            State::Down => (0.9, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, PROBE_RTT_GAIN),
        };
    }

    /// Updates the estimator of a full pipe (BBRCheckFullBWReached, section 5.3.1.2).
    fn check_full(&mut self, acked: &Acked, rate: f64) {
        if self.full.now || !self.rounds.start || self.limited(acked) {
            return;
        }
        if rate >= self.full.bandwidth * 1.25 {
            self.full.reset(rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= 3;
        self.full.reached |= self.full.now;
    }

    /// Changes from Startup to Drain if the pipe is full, and from Drain to ProbeBW_DOWN if the queue is drained or
    /// after more than three rounds (BBRCheckStartupDone and BBRCheckDrainDone).
    fn check_startup_and_drain(&mut self, acked: &Acked) {
        self.check_startup_loss(acked);
        if self.state == State::Startup && self.full.reached {
            self.enter(State::Drain);
            self.drain_round = self.rounds.count;
        }
        if self.state == State::Drain {
            let drained = f64::from(acked.in_flight) <= self.budget(self.bdp(self.bw(), 1.0));
            if drained || self.rounds.count > self.drain_round + 3 {
                self.start_down(acked.now);
            }
        }
    }

    /// Records whether the window is full, for this round and the last one.
    fn track_limit(&mut self, window: &Window, acked: &Acked) {
        if self.rounds.start {
            self.limited_last = std::mem::take(&mut self.limited_now);
        }
        self.limited_now |= acked.in_flight_before >= window.cwnd as u32;
    }

    /// Returns `true` if the window was full at some time in the last round or the current one.
    fn cwnd_limited(&self) -> bool {
        self.limited_last || self.limited_now
    }
}

impl CongestionControl for Bbr3 {
    fn profile(&self) -> Profile {
        Profile {
            recovery: RecoveryWindow::Control,
            sent: SentCalls::Each,
            paces: true,
            samples_rate: true,
            ..Profile::default()
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if self.min_rtt.is_none() && acked.min_rtt > Dur::ZERO {
            self.min_rtt = Some(acked.min_rtt);
            self.min_rtt_at = acked.now;
            self.probe_delay = self.min_rtt;
            self.probe_delay_at = acked.now;
            self.extra_since = acked.now;
            self.pacing_rate = STARTUP_GAIN * self.initial / acked.srtt.as_secs();
        }
        if self.saved.follow_fast(window, acked, self.state == State::ProbeRtt) {
            self.recovery_round = self.rounds.count;
            self.save_state();
        }
        self.rounds.update(acked.rate.as_ref());
        self.cycle.count_round(self.rounds.start);
        self.track_limit(window, acked);
        let rate = acked.rate.as_ref().map_or(0.0, model::rate);
        self.process_losses(window, acked);
        self.update_latest(acked, rate);
        self.update_max_bw(acked, rate);
        self.adapt_short(window);
        self.update_aggregation(window, acked);
        self.check_full(acked, rate);
        self.check_startup_and_drain(acked);
        self.update_cycle(window, acked, rate);
        let expired = self.update_min_rtt(acked);
        self.check_probe_rtt(window, acked, expired);
        self.advance_latest(acked, rate);
        self.pace(self.pacing_gain);
        self.set_window(window, acked);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.sign {
            // `Acked::lost` reports losses, and `on_ack` responds.
            Congestion::Loss => {}
            Congestion::Ecn => self.handle_inflight_too_high(window, Some(event.in_flight), event.now),
            Congestion::Timeout => {
                self.saved.save(window, self.state == State::ProbeRtt);
                self.saved.repair = Repair::TimedOut;
                self.save_state();
                window.cwnd = 1.0;
            }
        }
    }

    fn on_feedback(&mut self, window: &mut Window, feedback: &Feedback<'_>) {
        self.saved.follow(window, feedback.una, feedback.next);
    }

    fn on_spurious(&mut self, window: &mut Window, _: Time) {
        self.saved.repair = Repair::None;
        self.saved.restore(window);
        self.undo(window);
    }

    /// Processes a restart from idle (BBRHandleRestartFromIdle, section 5.4.1).
    fn on_sent(&mut self, _: &mut Window, sent: &Sent) -> bool {
        if sent.idle && self.rounds.delivered > 0 {
            self.idle_restart = true;
            self.extra_since = sent.now;
            if self.in_probe_bw() {
                self.pace(1.0);
            }
        }
        false
    }

    fn pacing(&self) -> Pacing {
        Pacing::at(self.pacing_rate)
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("bandwidth", self.max_bw());
        f("bandwidth-short", self.bounds.bw_short);
        f("in-flight-short", self.bounds.inflight_short);
        f("in-flight-long", self.bounds.inflight_long);
        f("min-rtt", self.min_rtt.unwrap_or(Dur::ZERO).as_secs());
        f("pacing-gain", self.pacing_gain);
        f("mode", f64::from(self.state as u8));
    }
}
