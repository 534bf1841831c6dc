//! BBR, version 1: pacing at the measured bottleneck bandwidth, with the outstanding segments limited to a multiple of
//! the bandwidth-delay product (Cardwell and others 2016, draft-cardwell-iccrg-bbr-congestion-control-00).

mod linux;

use super::model::{self, HeldBack, MIN_PIPE, Repair, Rounds, Saved, WindowedMax};
use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, EchoResponse, Expired, Feedback, Pacing, Profile,
    RecoveryWindow, Sent, SentCalls, Setup, Window,
};
use crate::check::number;
use crate::params::Form;
use linux::Linux;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// BBRHighGain, 2/ln 2: the smallest gain that doubles the rate each round trip.
const HIGH_GAIN: f64 = 2.885;
/// Gains of Startup and Drain in Linux, in units of 1/256 (`bbr_high_gain`, `bbr_drain_gain`).
const GAINS_OF_LINUX: [f64; 2] = [739.0 / 256.0, 88.0 / 256.0];
/// Gain of the window in ProbeBW.
const CWND_GAIN: f64 = 2.0;
/// Pacing gains of ProbeBW, each used for about one minimum round-trip time (section 4.3.4.3).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Factor of growth of the bandwidth below which a round counts as flat (section 4.3.2.2).
const GROWTH: f64 = 1.25;
/// Number of consecutive flat rounds after which Startup ends (section 4.3.2.2).
const FLAT_ROUNDS: u32 = 3;

/// BBR version 1 (2016): the sender measures the bandwidth of the bottleneck and the minimum round-trip time, paces at
/// that bandwidth and keeps about twice their product outstanding. Losses change the window only during recovery; ECN
/// marks have no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Length of the maximum filter of the delivery rate, round trips, 2 to 1000. Default 10.
    pub bandwidth_window: u32,
    /// Age of the minimum round-trip time at which ProbeRTT, with at most 4 segments outstanding, measures it again, 1
    /// ms to 1000 s. Default 10 s.
    pub min_rtt_window: Dur,
    /// Minimum duration of ProbeRTT, 1 ms to 10 s. Default 200 ms.
    pub probe_rtt: Dur,
    /// "rfc": the draft; "linux": also what Linux 6.1 adds: pacing 1 % below the estimate, an allowance for aggregated
    /// acknowledgements, an even window, and the long-term rate behind a policer. Default "rfc".
    pub form: Form,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            bandwidth_window: 10,
            min_rtt_window: Dur::from_secs(10),
            probe_rtt: Dur::from_ms(200),
            form: Form::Rfc,
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        number("bandwidth-window", self.bandwidth_window, 2, 1000)?;
        if !(Dur::from_ms(1)..=Dur::from_secs(1_000)).contains(&self.min_rtt_window) {
            return Err(Invalid::new(
                "min-rtt-window",
                format!("{} is out of range; write 1ms to 1000s", self.min_rtt_window),
            ));
        }
        if !(Dur::from_ms(1)..=Dur::from_secs(10)).contains(&self.probe_rtt) {
            return Err(Invalid::new("probe-rtt", format!("{} is out of range; write 1ms to 10s", self.probe_rtt)));
        }
        Ok(())
    }
}

impl Build for Params {
    type Control = Bbr;
    fn build(&self, setup: &Setup, rng: Rng) -> Bbr {
        let initial = f64::from(setup.initial_window);
        Bbr {
            params: self.clone(),
            rng,
            bits: model::segment_bits(setup),
            initial,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: HIGH_GAIN * initial / 1e-3,
            opened: None,
            restored: 0.0,
            tick: setup.tick,
            release: Time::ZERO,
            delivered_at: Time::ZERO,
            rounds: Rounds::default(),
            bandwidth: WindowedMax::default(),
            held_back: HeldBack::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            full: false,
            full_bandwidth: 0.0,
            flat_rounds: 0,
            cycle: 0,
            cycle_at: Time::ZERO,
            probe_rtt_from: None,
            probe_rtt_round: false,
            idle_restart: false,
            conservation: false,
            saved: Saved::default(),
            linux: (self.form == Form::Linux).then(Box::default),
        }
    }
}

/// State of the state machine (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of BBR version 1 in one sender.
///
/// Interpretations of the draft: hosts have no segmentation offload, so `send_quantum` (section 4.2.2) matters only for
/// the window's slack of three quanta; samples taken in ProbeRTT are ignored in this file, not in the sampler; recovery
/// after a timeout ends when all segments sent before the timeout are acknowledged. ProbeRTT saves the current window (text of
/// section 4.2.3.4), not the maximum of the current and the previously saved window (pseudocode of section 4.3.5).
/// Echoes of congestion have no effect, as in Linux.
///
/// In `probe`, `mode` is 0 for Startup, 1 for Drain, 2 for ProbeBW and 3 for ProbeRTT.
#[derive(Debug)]
pub struct Bbr {
    params: Params,
    rng: Rng,
    /// Payload of a full segment, bits.
    bits: f64,
    /// Initial window, segments.
    initial: f64,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Pacing rate, segments per second.
    pacing_rate: f64,
    /// Window at the first segment in Linux, by which it is paced at first: less than the initial window after lost SYNs
    /// (`bbr_init_pacing_rate_from_rtt`). `None`: no segment was sent, or another form.
    opened: Option<f64>,
    /// Window that the next acknowledgement restores, segments; 0: none.
    restored: f64,
    /// Length of a tick of the system's clock. `None`: timers are exact.
    tick: Option<Dur>,
    /// Earliest time of the next segment, in Linux.
    release: Time,
    /// Time of the last acknowledgement that delivered a segment, or of a transmission since then without others outstanding
    /// (`tp->delivered_mstamp`).
    delivered_at: Time,
    rounds: Rounds,
    /// Bottleneck bandwidth (BtlBw), segments per second.
    bandwidth: WindowedMax,
    /// Deliveries that ProbeRTT limited.
    held_back: HeldBack,
    /// Minimum round-trip time (RTprop). `None`: there was no sample.
    min_rtt: Option<Dur>,
    /// Time at which `min_rtt` was measured.
    min_rtt_at: Time,
    /// `true` once Startup has filled the pipe.
    full: bool,
    /// Bandwidth from which the growth of a round is computed, segments per second.
    full_bandwidth: f64,
    /// Number of consecutive flat rounds.
    flat_rounds: u32,
    /// Phase of ProbeBW, an index into [`CYCLE`].
    cycle: usize,
    /// Start of the phase of ProbeBW.
    cycle_at: Time,
    /// Start of the minimum duration of ProbeRTT. `None`: more than 4 segments are still outstanding.
    probe_rtt_from: Option<Time>,
    /// `true` if a round has ended since at most 4 segments were outstanding in ProbeRTT.
    probe_rtt_round: bool,
    /// `true` from a transmission after an idle time to the next acknowledgement.
    idle_restart: bool,
    /// `true` in the first round of fast recovery, in which one segment is sent for each one that is delivered (packet
    /// conservation). After a timeout or a spurious loss it ends with the next acknowledgement, which is not in
    /// recovery.
    conservation: bool,
    saved: Saved,
    /// State of what Linux adds; `None`: the draft.
    linux: Option<Box<Linux>>,
}

impl Bbr {
    /// Returns the bandwidth that the model uses, segments per second.
    fn bandwidth(&self) -> f64 {
        let measured = self.bandwidth.get();
        self.linux.as_ref().map_or(measured, |linux| linux.bandwidth(measured))
    }

    /// Returns `gain` times the bandwidth-delay product plus three send quanta, segments (BBRInflight); before the
    /// first round-trip time, the initial window.
    fn inflight(&self, gain: f64) -> f64 {
        self.inflight_with(gain, self.bandwidth.get(), 0.0)
    }

    /// Returns the segments outstanding as [`Bbr::inflight`], for a bandwidth and with an allowance for aggregated
    /// acknowledgements. Linux rounds up to whole segments, and to an even number, and adds two while it probes for
    /// bandwidth (`bbr_bdp`, `bbr_quantization_budget`).
    fn inflight_with(&self, gain: f64, bandwidth: f64, allowance: f64) -> f64 {
        let Some(rtt) = self.min_rtt else { return self.initial };
        if self.linux.is_none() {
            return gain * bandwidth * rtt.as_secs() + 3.0 * self.quantum();
        }
        let whole = linux::product(gain, bandwidth, rtt) + allowance + 3.0 * self.quantum();
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        (whole / 2.0).ceil() * 2.0 + if probes { 2.0 } else { 0.0 }
    }

    /// Returns the state that Linux's additions read; `cwnd`: the window, segments.
    fn now(&self, cwnd: f64) -> linux::Now {
        linux::Now {
            delivered: self.rounds.delivered,
            round: self.rounds.start,
            probes_bandwidth: self.mode == Mode::ProbeBw,
            bits: self.bits,
            bandwidth: self.bandwidth.get(),
            cwnd,
        }
    }

    /// Updates the long-term rate, before the bandwidth (`bbr_update_bw`).
    fn sample_long_term(&mut self, window: &Window, acked: &Acked) {
        let now = self.now(window.cwnd);
        let limited = self.limited(acked);
        let Some(linux) = &mut self.linux else { return };
        linux.count_lost(acked.lost);
        if acked.rate.is_none() {
            return;
        }
        if linux.on_sample(acked, limited, &now) {
            self.enter_probe_bw(acked.now);
        } else if linux.is_policed() && self.mode == Mode::ProbeBw {
            // `bbr_update_gains`.
            self.pacing_gain = 1.0;
        }
    }

    /// Returns the pacing rate for a gain and a bandwidth, segments per second.
    fn paced(&self, gain: f64, bandwidth: f64) -> f64 {
        if self.linux.is_some() { linux::pacing(gain, bandwidth, self.bits / 8.0) } else { gain * bandwidth }
    }

    /// Updates the allowance for aggregated acknowledgements, after the bandwidth (`bbr_update_model`).
    fn aggregate(&mut self, window: &Window, acked: &Acked) {
        let now = self.now(window.cwnd);
        if let Some(linux) = self.linux.as_mut().filter(|_| acked.rate.is_some()) {
            linux.aggregate(acked, &now);
        }
    }

    /// Returns the send quantum, segments (BBRSetSendQuantum).
    fn quantum(&self) -> f64 {
        if self.linux.is_some() {
            return linux::burst(self.pacing_rate, self.bits / 8.0);
        }
        let rate = self.pacing_rate * self.bits;
        if rate < 1.2e6 {
            1.0
        } else if rate < 24e6 {
            2.0
        } else {
            (self.pacing_rate * 1e-3).min(64.0 * 1024.0 * 8.0 / self.bits)
        }
    }

    /// Sets the pacing rate to `gain` times the bandwidth; until the pipe is full, the rate is never lowered
    /// (BBRSetPacingRateWithGain).
    fn pace(&mut self, gain: f64) {
        let rate = self.paced(gain, self.bandwidth());
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Returns `true` if an acknowledgement has no sample of the delivery rate, or one that the application or ProbeRTT
    /// limits.
    fn limited(&self, acked: &Acked) -> bool {
        acked.rate.as_ref().is_none_or(|sample| self.held_back.limits(sample))
    }

    /// Updates the maximum filter of the delivery rate (BBRUpdateBtlBw).
    fn update_bandwidth(&mut self, acked: &Acked) {
        let Some(sample) = &acked.rate else { return };
        let rate = match self.linux {
            Some(_) => linux::rate(u64::from(sample.delivered), sample.interval),
            None => model::rate(sample),
        };
        if rate >= self.bandwidth.get() || !self.limited(acked) {
            self.bandwidth.update(u64::from(self.params.bandwidth_window), self.rounds.count, rate);
        }
    }

    /// Returns the number of segments in the network, of which `in_flight` are there now; in Linux at the time of the next
    /// transmission, which counts if the pacing gain `gain` is above 1 (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, now: Time, in_flight: u32, gain: f64) -> f64 {
        let in_flight = f64::from(in_flight);
        if self.linux.is_none() {
            return in_flight;
        }
        let next = if gain > 1.0 { self.quantum() } else { 0.0 };
        let wait = self.release.max(now).since(now);
        (in_flight + next - linux::delivered_in(self.bandwidth(), wait)).max(0.0)
    }

    /// Advances the cycle of ProbeBW if the current phase is over (BBRCheckCyclePhase).
    fn check_cycle(&mut self, acked: &Acked) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let in_flight = self.in_network(acked.now, acked.in_flight_before, self.pacing_gain);
        let rtt_passed = acked.now.since(self.cycle_at) > self.min_rtt.unwrap_or(Dur::ZERO);
        let over = if self.pacing_gain > 1.0 {
            rtt_passed && (acked.lost > 0 || in_flight >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            rtt_passed || in_flight <= self.inflight(1.0)
        } else {
            rtt_passed
        };
        if over {
            self.advance_cycle(acked.now);
        }
    }

    /// Starts the next phase of ProbeBW (BBRAdvanceCyclePhase).
    fn advance_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
        let policed = self.linux.as_ref().is_some_and(|linux| linux.is_policed());
        self.pacing_gain = if policed { 1.0 } else { CYCLE[self.cycle] };
    }

    /// Updates the estimator of a full pipe (BBRCheckFullPipe).
    fn check_full(&mut self, acked: &Acked) {
        if self.full || !self.rounds.start || self.limited(acked) {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * GROWTH {
            self.full_bandwidth = self.bandwidth.get();
            self.flat_rounds = 0;
            return;
        }
        self.flat_rounds += 1;
        self.full = self.flat_rounds >= FLAT_ROUNDS;
    }

    /// Changes from Startup to Drain if the pipe is full, and from Drain to ProbeBW if the queue is drained
    /// (BBRCheckDrain).
    fn check_drain(&mut self, acked: &Acked) {
        // In Linux the gain changes at the end of the acknowledgement (`bbr_update_gains`).
        let gain = self.pacing_gain;
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            let [high, drain] = self.gains();
            self.pacing_gain = drain;
            self.cwnd_gain = high;
        }
        if self.mode == Mode::Drain && self.in_network(acked.now, acked.in_flight, gain) <= self.inflight(1.0) {
            self.enter_probe_bw(acked.now);
        }
    }

    /// Enters Startup (BBREnterStartup).
    fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        let [high, _] = self.gains();
        self.pacing_gain = high;
        self.cwnd_gain = high;
    }

    /// Returns the gains of Startup and Drain.
    fn gains(&self) -> [f64; 2] {
        if self.linux.is_some() { GAINS_OF_LINUX } else { [HIGH_GAIN, 1.0 / HIGH_GAIN] }
    }

    /// Enters ProbeBW (BBREnterProbeBW).
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cwnd_gain = CWND_GAIN;
        // A random phase other than the one with gain 0.75; `advance_cycle` moves on by one.
        self.cycle = CYCLE.len() - 1 - self.rng.below(7) as usize;
        self.advance_cycle(now);
    }

    /// Returns `true` if more than `wait` has passed at `now` since `start`; in Linux by its ticks (`tcp_jiffies32`).
    fn is_over(&self, now: Time, start: Time, wait: Dur) -> bool {
        match self.tick.filter(|_| self.linux.is_some()) {
            Some(tick) => now.0 / tick.0 > start.0 / tick.0 + wait.0.div_ceil(tick.0),
            None => now.since(start) > wait,
        }
    }

    /// Updates the minimum round-trip time; returns `true` if the previous minimum had expired (BBRUpdateRTprop).
    fn update_min_rtt(&mut self, acked: &Acked) -> bool {
        let expired = self.min_rtt.is_some() && self.is_over(acked.now, self.min_rtt_at, self.params.min_rtt_window);
        // In Linux an equal round-trip time does not renew the minimum, whose unit is 1 us (`bbr_update_min_rtt`).
        let is_lower = |rtt: Dur, minimum: Dur| match self.linux {
            Some(_) => rtt.0 / Dur::from_us(1).0 < minimum.0 / Dur::from_us(1).0,
            None => rtt <= minimum,
        };
        if let Some(rtt) = acked.rtt
            && (expired || self.min_rtt.is_none_or(|minimum| is_lower(rtt, minimum)))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = acked.now;
        }
        expired
    }

    /// Enters ProbeRTT if the minimum round-trip time had `expired`, and leaves ProbeRTT when it is over
    /// (BBRCheckProbeRTT).
    fn check_probe_rtt(&mut self, window: &mut Window, acked: &Acked, expired: bool) {
        if self.mode != Mode::ProbeRtt && expired && !self.idle_restart {
            self.saved.save(window, false);
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.probe_rtt_from = None;
            self.held_back.begin(self.rounds.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.held_back.extend(self.rounds.delivered, acked.in_flight);
            match self.probe_rtt_from {
                None if f64::from(acked.in_flight) <= MIN_PIPE => {
                    self.probe_rtt_from = Some(acked.now);
                    self.probe_rtt_round = false;
                    self.rounds.restart();
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round |= self.rounds.start;
                    if self.probe_rtt_round {
                        self.end_probe_rtt(window, acked.now);
                    }
                }
            }
        }
        // In Linux it needs a sample (`bbr_update_min_rtt`).
        self.idle_restart &= self.linux.is_some() && acked.rate.is_none();
    }

    /// Leaves ProbeRTT if its minimum duration has passed (`bbr_check_probe_rtt_done`).
    fn end_probe_rtt(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_from.is_some_and(|from| self.is_over(now, from, self.params.probe_rtt)) {
            self.min_rtt_at = now;
            self.saved.restore(window);
            if self.full { self.enter_probe_bw(now) } else { self.enter_startup() }
        }
    }

    /// Begins Startup with the first round-trip time: `min` is the minimum, `srtt` the smoothed one.
    fn begin(&mut self, now: Time, min: Dur, srtt: Dur) {
        self.min_rtt = Some(min);
        self.min_rtt_at = now;
        let cwnd = self.opened.unwrap_or(self.initial);
        self.enter_startup();
        let bandwidth = if self.linux.is_some() { linux::rate(cwnd as u64, srtt) } else { cwnd / srtt.as_secs() };
        self.pacing_rate = self.paced(self.pacing_gain, bandwidth);
    }

    /// Returns the window for the current gain, segments (BBRUpdateTargetCwnd, `bbr_set_cwnd`).
    fn target(&self) -> f64 {
        let bandwidth = self.bandwidth();
        let allowance = self.linux.as_ref().filter(|_| self.full).map_or(0.0, |linux| linux.allowance(bandwidth));
        self.inflight_with(self.cwnd_gain, bandwidth, allowance)
    }

    /// Returns `true` in Linux after a timeout, where the conservation goes on until the next round
    /// (`bbr_set_cwnd_to_recover_or_restore`).
    fn repairs_in_linux(&self) -> bool {
        self.linux.is_some() && self.saved.repair != Repair::None
    }

    /// Begins a recovery with the conservation of packets.
    fn conserve(&mut self, window: &mut Window, acked: &Acked) {
        window.cwnd = f64::from(acked.in_flight + acked.delivered.max(1));
        self.conservation = true;
        self.rounds.restart();
    }

    /// Sets the window (BBRSetCwnd). `enters`: a recovery begins.
    fn set_window(&mut self, window: &mut Window, acked: &Acked, enters: bool) {
        window.cwnd = (window.cwnd - f64::from(acked.lost)).max(1.0);
        if enters && self.linux.is_some() {
            // After the end of ProbeRTT, which may have restored the window.
            self.conserve(window, acked);
        }
        let delivered = f64::from(acked.delivered);
        if self.conservation {
            window.cwnd = window.cwnd.max(f64::from(acked.in_flight) + delivered);
        } else {
            let target = self.target();
            if self.full {
                window.cwnd = (window.cwnd + delivered).min(target);
            } else if window.cwnd < target || (self.rounds.delivered as f64) < self.initial {
                window.cwnd += delivered;
            }
            window.cwnd = window.cwnd.max(MIN_PIPE);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_PIPE);
        }
    }
}

impl CongestionControl for Bbr {
    fn profile(&self) -> Profile {
        Profile {
            recovery: RecoveryWindow::Control,
            echo: EchoResponse::Control,
            sent: SentCalls::Each,
            paces: true,
            samples_rate: true,
            ..Profile::default()
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        window.cwnd = window.cwnd.max(std::mem::take(&mut self.restored));
        if self.min_rtt.is_none() && acked.min_rtt > Dur::ZERO {
            // The first round-trip time gives a rate for the initial window.
            self.begin(acked.now, acked.min_rtt, acked.srtt);
        }
        if self.linux.is_some() && acked.rate.is_none() {
            self.rounds.delivered += u64::from(acked.delivered);
        }
        self.delivered_at = acked.now;
        self.rounds.update(acked.rate.as_ref());
        let enters = self.saved.follow_fast(window, acked, self.mode == Mode::ProbeRtt);
        if enters && self.linux.is_none() {
            self.conserve(window, acked);
        } else if self.rounds.start || !(acked.recovering || self.repairs_in_linux()) {
            self.conservation = false;
        }
        self.sample_long_term(window, acked);
        self.update_bandwidth(acked);
        self.aggregate(window, acked);
        self.check_cycle(acked);
        self.check_full(acked);
        self.check_drain(acked);
        let expired = self.update_min_rtt(acked);
        self.check_probe_rtt(window, acked, expired);
        self.pace(self.pacing_gain);
        self.set_window(window, acked, enters);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // Fast recovery is handled in `on_ack`, by `Acked::recovering`.
        if event.sign == Congestion::Timeout {
            self.saved.save(window, self.mode == Mode::ProbeRtt);
            self.saved.repair = Repair::TimedOut;
            window.cwnd = 1.0;
        }
    }

    fn on_expired(&mut self, window: &mut Window, expired: &Expired) -> bool {
        let now = self.now(window.cwnd);
        let Some(linux) = &mut self.linux else { return false };
        linux.count_lost(expired.lost);
        if expired.timeout {
            // `bbr_set_state`, `tcp_enter_loss`, also where the timeout interrupts a recovery and reduces nothing.
            self.saved.repair = Repair::TimedOut;
            self.restored = 0.0;
            self.full_bandwidth = 0.0;
            if linux.on_expiry(self.delivered_at, &now) {
                self.enter_probe_bw(expired.now);
            }
            window.cwnd = f64::from(expired.in_flight + 1);
        }
        true
    }

    fn on_feedback(&mut self, window: &mut Window, feedback: &Feedback<'_>) {
        self.saved.follow(window, feedback.una, feedback.next);
    }

    fn on_spurious(&mut self, window: &mut Window, _now: Time) {
        if let Some(linux) = &mut self.linux {
            // `bbr_undo_cwnd`.
            self.full_bandwidth = 0.0;
            self.flat_rounds = 0;
            linux.on_spurious(self.delivered_at, self.rounds.delivered);
        }
        self.saved.repair = Repair::None;
        self.saved.restore(window);
    }

    fn on_sent(&mut self, window: &mut Window, sent: &Sent) -> bool {
        if self.linux.is_some() {
            if self.opened.is_none() && sent.srtt > Dur::ZERO {
                // The round-trip time of the handshake (`bbr_init`).
                self.opened = Some(window.cwnd);
                self.begin(sent.now, sent.srtt, sent.srtt);
            }
            self.opened.get_or_insert(window.cwnd);
            self.release = sent.release;
        }
        if sent.idle {
            self.delivered_at = sent.now;
        }
        // Linux calls a sender idle that has nothing in flight, and that the application or ProbeRTT limits
        // (`tcp_event_data_sent`, `bbr_cwnd_event`).
        let restarts = match self.linux {
            Some(_) => sent.in_flight <= 1 && (sent.app_limited || self.held_back.lasts(self.rounds.delivered)),
            None => sent.idle && self.rounds.delivered > 0,
        };
        if restarts {
            self.idle_restart = true;
            if let Some(linux) = &mut self.linux {
                linux.restart(sent.now);
            }
            match self.mode {
                Mode::ProbeBw => self.pace(1.0),
                Mode::ProbeRtt if self.linux.is_some() => {
                    let cwnd = window.cwnd;
                    self.end_probe_rtt(window, sent.now);
                    if self.saved.repair == Repair::TimedOut {
                        // The retransmission of a timeout is the only one before the next acknowledgement.
                        self.restored = std::mem::replace(&mut window.cwnd, cwnd);
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn pacing(&self) -> Pacing {
        Pacing::at(self.pacing_rate)
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("bandwidth", self.bandwidth.get());
        f("min-rtt", self.min_rtt.unwrap_or(Dur::ZERO).as_secs());
        f("pacing-gain", self.pacing_gain);
        f("mode", f64::from(self.mode as u8));
    }
}
