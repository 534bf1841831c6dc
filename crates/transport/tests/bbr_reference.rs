//! BBR version 1 against a transcription of the pseudocode of draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! Functions have the draft's names in snake case, windows are in segments, rates in segments per second, times in
//! seconds. Where the draft leaves a choice (section 4.2.3.4, loss recovery), the transcription implements the
//! alternative that the draft spells out.

use std::collections::BTreeMap;
use tailback_random::Rng;
use tailback_transport::Tcp;
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, RateSample, Sent, Window, bbr,
};
use tailback_units::{Dur, Time};

const BBR_HIGH_GAIN: f64 = 2.885;
const BBR_MIN_PIPE_CWND: f64 = 4.0;
const INITIAL_CWND: f64 = 10.0;
const MSS_BITS: f64 = 1460.0 * 8.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Kathleen Nichols's estimator (Linux lib/win_minmax.c, minmax_running_max): round and value of the three best samples.
#[derive(Default)]
struct MaxFilter([(u64, f64); 3]);

impl MaxFilter {
    fn update(&mut self, win: u64, t: u64, v: f64) -> f64 {
        let s = &mut self.0;
        let val = (t, v);
        if v >= s[0].1 || t - s[2].0 > win {
            *s = [val; 3];
            return v;
        }
        if v >= s[1].1 {
            (s[1], s[2]) = (val, val);
        } else if v >= s[2].1 {
            s[2] = val;
        }
        let dt = t - s[0].0;
        if dt > win {
            *s = [s[1], s[2], val];
            if t - s[0].0 > win {
                *s = [s[1], s[2], val];
            }
        } else if s[1].0 == s[0].0 && dt > win / 4 {
            (s[1], s[2]) = (val, val);
        } else if s[2].0 == s[1].0 && dt > win / 2 {
            s[2] = val;
        }
        s[0].1
    }
}

/// State of the sender's loss recovery, as the transport reports it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Recovery {
    None,
    Fast,
    Rto,
}

/// Variables of the draft.
struct Draft {
    rng: Rng,
    state: State,
    recovery: Recovery,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    send_quantum: f64,
    btl_bw_filter: MaxFilter,
    btl_bw: f64,
    rtprop: f64,
    rtprop_stamp: f64,
    rtprop_expired: bool,
    delivered: u64,
    next_round_delivered: u64,
    round_count: u64,
    round_start: bool,
    filled_pipe: bool,
    full_bw: f64,
    full_bw_count: u32,
    cycle_index: usize,
    cycle_stamp: f64,
    probe_rtt_done_stamp: f64,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    packet_conservation: bool,
    target_cwnd: f64,
    /// C.app_limited as ProbeRTT sets it: samples of segments that were sent when the number of delivered segments was
    /// between these two numbers are application-limited.
    app_limited: Option<(u64, u64)>,
}

/// An acknowledgement in the draft's terms; times in seconds.
struct Ack {
    now: f64,
    rtt: Option<f64>,
    packets_delivered: f64,
    packets_lost: f64,
    prior_inflight: f64,
    packets_in_flight: f64,
    rs: RateSample,
}

impl Draft {
    /// BBRInit, at the first round-trip time.
    fn new(rng: Rng, now: f64, srtt: f64) -> Draft {
        Draft {
            rng,
            state: State::Startup,
            recovery: Recovery::None,
            cwnd: INITIAL_CWND,
            prior_cwnd: 0.0,
            // BBRInitPacingRate
            pacing_rate: BBR_HIGH_GAIN * INITIAL_CWND / srtt,
            pacing_gain: BBR_HIGH_GAIN,
            cwnd_gain: BBR_HIGH_GAIN,
            send_quantum: 0.0,
            btl_bw_filter: MaxFilter::default(),
            btl_bw: 0.0,
            rtprop: srtt,
            rtprop_stamp: now,
            rtprop_expired: false,
            delivered: 0,
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            filled_pipe: false,
            full_bw: 0.0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp: 0.0,
            probe_rtt_done_stamp: 0.0,
            probe_rtt_round_done: false,
            idle_restart: false,
            packet_conservation: false,
            target_cwnd: 0.0,
            app_limited: None,
        }
    }
    fn is_app_limited(&self, rs: &RateSample) -> bool {
        rs.app_limited
            || self.app_limited.is_some_and(|(from, to)| from <= rs.prior_delivered && rs.prior_delivered <= to)
    }
    // Section 4.1.1.3.
    fn update_round(&mut self, rs: &RateSample) {
        self.delivered = rs.total_delivered;
        if rs.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = self.delivered;
            self.round_count += 1;
            self.round_start = true;
        } else {
            self.round_start = false;
        }
    }
    // Section 4.1.1.5.
    fn update_btl_bw(&mut self, ack: &Ack) {
        self.update_round(&ack.rs);
        let delivery_rate = f64::from(ack.rs.delivered) / ack.rs.interval.as_secs();
        if delivery_rate >= self.btl_bw || !self.is_app_limited(&ack.rs) {
            self.btl_bw = self.btl_bw_filter.update(10, self.round_count, delivery_rate);
        }
    }
    // Section 4.1.2.3.
    fn update_rtprop(&mut self, ack: &Ack) {
        self.rtprop_expired = ack.now > self.rtprop_stamp + 10.0;
        if let Some(rtt) = ack.rtt
            && (rtt <= self.rtprop || self.rtprop_expired)
        {
            self.rtprop = rtt;
            self.rtprop_stamp = ack.now;
        }
    }
    // Section 4.2.1.
    fn set_pacing_rate_with_gain(&mut self, pacing_gain: f64) {
        let rate = pacing_gain * self.btl_bw;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
    // Section 4.2.2.
    fn set_send_quantum(&mut self) {
        let bits_per_second = self.pacing_rate * MSS_BITS;
        self.send_quantum = if bits_per_second < 1.2e6 {
            1.0
        } else if bits_per_second < 24e6 {
            2.0
        } else {
            (self.pacing_rate * 1e-3).min(65_536.0 * 8.0 / MSS_BITS)
        };
    }
    // Section 4.2.3.2. The send quantum is a function of the pacing rate.
    fn inflight(&mut self, gain: f64) -> f64 {
        self.set_send_quantum();
        let quanta = 3.0 * self.send_quantum;
        let estimated_bdp = self.btl_bw * self.rtprop;
        gain * estimated_bdp + quanta
    }
    // Section 4.2.3.4.
    fn save_cwnd(&self) -> f64 {
        if self.recovery == Recovery::None && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        }
    }
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
    fn on_rto(&mut self) {
        self.prior_cwnd = self.save_cwnd();
        self.cwnd = 1.0;
        self.recovery = Recovery::Rto;
        self.packet_conservation = false;
    }
    fn on_enter_fast_recovery(&mut self, ack: &Ack) {
        self.prior_cwnd = self.save_cwnd();
        self.cwnd = ack.packets_in_flight + ack.packets_delivered.max(1.0);
        self.packet_conservation = true;
        self.recovery = Recovery::Fast;
    }
    fn on_exit_recovery(&mut self) {
        self.packet_conservation = false;
        self.recovery = Recovery::None;
        self.restore_cwnd();
    }
    fn modulate_cwnd_for_recovery(&mut self, ack: &Ack) {
        if ack.packets_lost > 0.0 {
            self.cwnd = (self.cwnd - ack.packets_lost).max(1.0);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(ack.packets_in_flight + ack.packets_delivered);
        }
    }
    // Section 4.2.3.6.
    fn set_cwnd(&mut self, ack: &Ack) {
        self.target_cwnd = self.inflight(self.cwnd_gain);
        self.modulate_cwnd_for_recovery(ack);
        if !self.packet_conservation {
            if self.filled_pipe {
                self.cwnd = (self.cwnd + ack.packets_delivered).min(self.target_cwnd);
            } else if self.cwnd < self.target_cwnd || (self.delivered as f64) < INITIAL_CWND {
                self.cwnd += ack.packets_delivered;
            }
            self.cwnd = self.cwnd.max(BBR_MIN_PIPE_CWND);
        }
        // Section 4.2.3.5.
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(BBR_MIN_PIPE_CWND);
        }
    }
    // Section 4.3.2.1.
    fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.pacing_gain = BBR_HIGH_GAIN;
        self.cwnd_gain = BBR_HIGH_GAIN;
    }
    // Section 4.3.2.2.
    fn check_full_pipe(&mut self, ack: &Ack) {
        if self.filled_pipe || !self.round_start || self.is_app_limited(&ack.rs) {
            return;
        }
        if self.btl_bw >= self.full_bw * 1.25 {
            self.full_bw = self.btl_bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count >= 3 {
            self.filled_pipe = true;
        }
    }
    // Section 4.3.3.
    fn check_drain(&mut self, ack: &Ack) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
            self.pacing_gain = 1.0 / BBR_HIGH_GAIN;
            self.cwnd_gain = BBR_HIGH_GAIN;
        }
        if self.state == State::Drain && ack.packets_in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }
    // Section 4.3.4.3.
    fn enter_probe_bw(&mut self, now: f64) {
        self.state = State::ProbeBw;
        self.pacing_gain = 1.0;
        self.cwnd_gain = 2.0;
        self.cycle_index = 8 - 1 - self.rng.below(7) as usize;
        self.advance_cycle_phase(now);
    }
    fn check_cycle_phase(&mut self, ack: &Ack) {
        if self.state == State::ProbeBw && self.is_next_cycle_phase(ack) {
            self.advance_cycle_phase(ack.now);
        }
    }
    fn advance_cycle_phase(&mut self, now: f64) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % 8;
        let pacing_gain_cycle = [5.0 / 4.0, 3.0 / 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        self.pacing_gain = pacing_gain_cycle[self.cycle_index];
    }
    fn is_next_cycle_phase(&mut self, ack: &Ack) -> bool {
        let is_full_length = (ack.now - self.cycle_stamp) > self.rtprop;
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        if self.pacing_gain > 1.0 {
            return is_full_length && (ack.packets_lost > 0.0 || ack.prior_inflight >= self.inflight(self.pacing_gain));
        }
        is_full_length || ack.prior_inflight <= self.inflight(1.0)
    }
    // Section 4.3.4.4.
    fn handle_restart_from_idle(&mut self) {
        self.idle_restart = true;
        if self.state == State::ProbeBw {
            self.set_pacing_rate_with_gain(1.0);
        }
    }
    // Section 4.3.5.
    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.rtprop_expired && !self.idle_restart {
            // Before the change of state, as `Bbr` documents; the pseudocode has it after.
            self.prior_cwnd = self.save_cwnd();
            self.state = State::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.probe_rtt_done_stamp = 0.0;
            self.app_limited = Some((self.delivered, self.delivered));
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        self.idle_restart = false;
    }
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        let from = self.app_limited.map_or(self.delivered, |(from, _)| from);
        self.app_limited = Some((from, self.delivered + ack.packets_in_flight as u64));
        if self.probe_rtt_done_stamp == 0.0 && ack.packets_in_flight <= BBR_MIN_PIPE_CWND {
            self.probe_rtt_done_stamp = ack.now + 0.2;
            self.probe_rtt_round_done = false;
            self.next_round_delivered = self.delivered;
        } else if self.probe_rtt_done_stamp != 0.0 {
            if self.round_start {
                self.probe_rtt_round_done = true;
            }
            if self.probe_rtt_round_done && ack.now > self.probe_rtt_done_stamp {
                self.rtprop_stamp = ack.now;
                self.restore_cwnd();
                if self.filled_pipe {
                    self.enter_probe_bw(ack.now);
                } else {
                    self.enter_startup();
                }
            }
        }
    }
    // Section 3.5.2: BBRUpdateOnACK, with the transport's transitions of recovery before it.
    fn update_on_ack(&mut self, ack: &Ack, in_fast_recovery: bool) {
        let entered = in_fast_recovery && self.recovery == Recovery::None;
        if self.recovery == Recovery::Fast && !in_fast_recovery {
            self.on_exit_recovery();
        } else if entered {
            self.on_enter_fast_recovery(ack);
        }
        self.update_btl_bw(ack);
        if entered {
            // The first round of recovery begins here.
            self.next_round_delivered = self.delivered;
        } else if self.round_start {
            self.packet_conservation = false;
        }
        self.check_cycle_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_rtprop(ack);
        self.check_probe_rtt(ack);
        self.set_pacing_rate_with_gain(self.pacing_gain);
        self.set_cwnd(ack);
    }
}

/// A path with about 1000 segments per second, whose round-trip time varies by 40 ms above a base that changes between
/// 80 and 108 ms, with losses.
struct Path {
    rng: Rng,
    now: Time,
    /// Number of segments delivered.
    total: u64,
    /// First segment not acknowledged.
    una: u32,
    /// `true` in fast recovery.
    fast: bool,
}

impl Path {
    /// Returns acknowledgement `i`, at a window of `cwnd` segments.
    fn acknowledge(&mut self, i: u32, cwnd: f64) -> Acked {
        let rng = &mut self.rng;
        self.now += Dur(rng.below(2_000_000_000));
        let delivered = 1 + rng.below(2) as u32;
        self.total += u64::from(delivered);
        self.una += delivered;
        // At first nearly the whole window is in flight, so that Drain has a queue to drain.
        let fill = if i < 600 { 0.95 } else { (0.3 + 0.9 * rng.uniform()).min(1.0) };
        let in_flight = (cwnd * fill) as u32;
        let lossy = i % 3_000 < 150;
        let lost = if lossy && rng.chance(0.1) { 1 + rng.below(4) as u32 } else { 0 };
        self.fast = if self.fast { rng.chance(0.99) } else { lost > 0 && rng.chance(0.5) };
        // The base round-trip time changes now and then, so that its minimum expires.
        let base = 80 + 7 * u64::from(i / 20_000 % 5);
        let rtt = Dur::from_ms(base) + Dur(rng.below(40_000_000_000));
        // The delivery rate changes as well.
        let share = [1.0, 0.5, 0.8][i as usize / 9_000 % 3] * (0.8 + 0.2 * rng.uniform());
        let sample = RateSample {
            delivered: (f64::from(in_flight) * share) as u32 + 1,
            interval: Dur((f64::from(in_flight.max(90)) * 1e9) as u64),
            prior_delivered: self.total.saturating_sub(u64::from(in_flight.min(110))),
            total_delivered: self.total,
            sent_in_flight: in_flight + 1,
            lost,
            app_limited: rng.chance(0.05),
        };
        Acked {
            now: self.now,
            delivered,
            advanced: delivered,
            rtt: (!rng.chance(0.02)).then_some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            in_flight_before: in_flight + delivered,
            in_flight,
            window_limited: true,
            ece: false,
            recovering: self.fast,
            round: false,
            lost,
            rate: Some(sample),
        }
    }
}

/// Returns the acknowledgement in the units of the draft.
fn in_draft(acked: &Acked) -> Ack {
    Ack {
        now: acked.now.as_secs(),
        rtt: acked.rtt.map(Dur::as_secs),
        packets_delivered: f64::from(acked.delivered),
        packets_lost: f64::from(acked.lost),
        prior_inflight: f64::from(acked.in_flight_before),
        packets_in_flight: f64::from(acked.in_flight),
        rs: acked.rate.expect("each has a sample"),
    }
}

/// Checks that the control has the values of the draft.
fn check(at: &str, control: &bbr::Bbr, cwnd: f64, draft: &Draft) {
    let mut actual = BTreeMap::new();
    control.probe(&mut |name, value| {
        actual.insert(name, value);
    });
    actual.insert("pacing rate", control.pacing().rate.expect("BBR paces"));
    actual.insert("window", cwnd);
    let expected = [
        ("bandwidth", draft.btl_bw),
        ("min-rtt", draft.rtprop),
        ("pacing-gain", draft.pacing_gain),
        ("mode", f64::from(draft.state as u8)),
        ("pacing rate", draft.pacing_rate),
        ("window", draft.cwnd),
    ];
    for (name, value) in expected {
        let same = actual[name] == value || (actual[name] / value - 1.0).abs() < 1e-9;
        assert!(same, "{at}, {:?} {:?}: {name} {} instead of {value}", draft.state, draft.recovery, actual[name]);
    }
}

/// Numbers of acknowledgements in each state and under packet conservation, and of the events that occurred.
#[derive(Default, Debug)]
struct Seen {
    states: BTreeMap<String, u32>,
    conserving: u32,
    timeouts: u32,
    restarts: u32,
    spurious: u32,
}

/// Compares the control with the draft at each of `acks` acknowledgements; returns the counts of what occurred.
fn compare(seed: u64, acks: u32) -> Seen {
    let mut control = bbr::Params::default().build(&Tcp::default().setup(), Rng::named(seed, "cc"));
    let mut window = Window { cwnd: INITIAL_CWND, ssthresh: f64::INFINITY };
    let (rng, now) = (Rng::named(seed, "path"), Time::ZERO + Dur::from_ms(100));
    let mut path = Path { rng, now, total: 0, una: 0, fast: false };
    let mut events = Rng::named(seed, "events");
    let mut draft: Option<Draft> = None;
    let mut seen = Seen::default();
    // First segment after those that were outstanding at a timeout.
    let mut repaired_at = None;
    for i in 0..acks {
        let mut acked = path.acknowledge(i, window.cwnd);
        let ack = in_draft(&acked);
        let first = acked.rtt.unwrap_or(acked.srtt).as_secs();
        let draft = draft.get_or_insert_with(|| Draft::new(Rng::named(seed, "cc"), ack.now, first));
        if draft.recovery == Recovery::Rto {
            // No fast recovery during the repair after a timeout.
            acked.recovering = false;
            path.fast = false;
            let next = *repaired_at.get_or_insert(path.una + 40);
            let feedback = Feedback { advanced: acked.advanced, ece: false, una: path.una, next, hops: None };
            control.on_feedback(&mut window, &feedback);
            if path.una >= next {
                draft.on_exit_recovery();
                repaired_at = None;
            }
        }
        control.on_ack(&mut window, &acked);
        draft.update_on_ack(&ack, acked.recovering);
        check(&format!("seed {seed}, acknowledgement {i}"), &control, window.cwnd, draft);
        seen.conserving += u32::from(draft.packet_conservation);
        *seen.states.entry(format!("{:?}", draft.state)).or_insert(0) += 1;
        if draft.recovery == Recovery::Fast && events.chance(0.002) {
            // The segment was not lost: the transport undoes the recovery.
            control.on_spurious(&mut window, Time::ZERO);
            draft.on_exit_recovery();
            path.fast = false;
            seen.spurious += 1;
        } else if draft.recovery != Recovery::Rto && events.chance(0.0005) {
            control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Timeout, path.now, acked.in_flight));
            draft.on_rto();
            path.fast = false;
            seen.timeouts += 1;
        } else if events.chance(0.0005) {
            // A pause of up to 12 s, after which the minimum round-trip time may have expired.
            path.now += Dur(events.below(12_000_000_000_000));
            control.on_sent(&mut window, &Sent { now: path.now, idle: true, in_flight: 1, ..Sent::default() });
            draft.handle_restart_from_idle();
            seen.restarts += 1;
        }
    }
    seen
}

#[test]
fn version_1_follows_its_draft_through_300_000_acknowledgements_with_loss_timeouts_and_pauses() {
    for seed in 1..=3 {
        let seen = compare(seed, 100_000);
        println!("{seen:?}");
        for state in ["Startup", "Drain", "ProbeBw", "ProbeRtt"] {
            assert!(seen.states.get(state).is_some_and(|n| *n > 2), "{state}: {seen:?}");
        }
        assert!(seen.conserving > 500 && seen.timeouts > 10 && seen.restarts > 10 && seen.spurious > 2, "{seen:?}");
    }
}

/// Step of the times of [`on_grid`]; in seconds it is a binary fraction, so that sums of times are exact.
const GRID: Dur = Dur(1_000_000_000_000 / 64);

fn grid_secs(time: u64) -> f64 {
    (time / GRID.0) as f64 / 64.0
}

/// An acknowledgement on a path where many quantities are equal: times are multiples of [`GRID`], the minimum round-trip
/// time is 1/8 s or a little more, and rates are multiples of 8 segments per second.
fn on_grid(path: &mut Path, i: u32, cwnd: f64) -> Acked {
    let rng = &mut path.rng;
    path.now += GRID * rng.below(3);
    let delivered = 1 + rng.below(2) as u32;
    path.total += u64::from(delivered);
    let window = cwnd as u32;
    let in_flight = if i < 60 { window.max(1) - 1 } else { rng.below(u64::from(window) + 1) as u32 };
    let capacity = if i < 16 { 8 } else { [10, 8, 12, 6][i as usize / 2_000 % 4] };
    let lost = if i % 500 < 50 && rng.chance(0.1) { 1 + rng.below(2) as u32 } else { 0 };
    path.fast = if path.fast { rng.chance(0.95) } else { lost > 0 };
    let rtt = GRID * (8 + u64::from(i / 3_000 % 2) + rng.below(4));
    let sample = RateSample {
        delivered: (in_flight + 1).min(capacity - rng.below(2) as u32),
        interval: GRID * 8,
        prior_delivered: path.total.saturating_sub(u64::from(in_flight.min(16))),
        total_delivered: path.total,
        sent_in_flight: in_flight + 1,
        lost,
        app_limited: rng.chance(0.3),
    };
    Acked {
        now: path.now,
        delivered,
        advanced: delivered,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight_before: in_flight + delivered,
        in_flight,
        window_limited: true,
        ece: false,
        recovering: path.fast,
        round: false,
        lost,
        rate: Some(sample),
    }
}

#[test]
fn version_1_follows_its_draft_where_times_rates_and_windows_equal_their_bounds() {
    let mut equal = [0; 3];
    for seed in 1..=30 {
        let mut control = bbr::Params::default().build(&Tcp::default().setup(), Rng::named(seed, "cc"));
        let mut window = Window { cwnd: INITIAL_CWND, ssthresh: f64::INFINITY };
        let mut path =
            Path { rng: Rng::named(seed, "path"), now: Time::ZERO + GRID * 8, total: 0, una: 0, fast: false };
        let mut draft: Option<Draft> = None;
        for i in 0..10_000 {
            let acked = on_grid(&mut path, i, window.cwnd);
            let ack =
                Ack { now: grid_secs(acked.now.0), rtt: acked.rtt.map(|rtt| grid_secs(rtt.0)), ..in_draft(&acked) };
            let draft =
                draft.get_or_insert_with(|| Draft::new(Rng::named(seed, "cc"), ack.now, grid_secs(acked.srtt.0)));
            equal[0] += u32::from(draft.state == State::ProbeBw && ack.now - draft.cycle_stamp == draft.rtprop);
            equal[1] +=
                u32::from(draft.pacing_gain != 1.0 && ack.prior_inflight == draft.inflight(draft.pacing_gain.max(1.0)));
            equal[2] += u32::from(ack.now == draft.rtprop_stamp + 10.0);
            control.on_ack(&mut window, &acked);
            draft.update_on_ack(&ack, acked.recovering);
            check(&format!("seed {seed}, acknowledgement {i}"), &control, window.cwnd, draft);
        }
    }
    assert!(equal.iter().all(|n| *n > 20), "{equal:?}");
}
