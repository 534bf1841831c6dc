//! Variables of BBRv3 (section 2 of the draft) and their initial values.

use tailback_random::Rng;
use tailback_transport::cc::RateSample;

pub const INF: f64 = f64::INFINITY;

/// States in the order of the control's `mode`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Phase in which the segments now being acknowledged were sent.
#[derive(Clone, Copy, PartialEq)]
pub enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// `minmax_running_max` of Linux's `lib/win_minmax.c`: round and value of the three best samples.
#[derive(Clone, Copy, Default)]
pub struct MinMax(pub [(u64, f64); 3]);

impl MinMax {
    pub fn running_max(&mut self, win: u64, t: u64, v: f64) -> f64 {
        let s = &mut self.0;
        let val = (t, v);
        if v >= s[0].1 || t - s[2].0 > win {
            *s = [val; 3];
            return v;
        }
        if v >= s[1].1 {
            s[2] = val;
            s[1] = val;
        } else if v >= s[2].1 {
            s[2] = val;
        }
        // minmax_subwin_update
        let dt = t - s[0].0;
        if dt > win {
            s[0] = s[1];
            s[1] = s[2];
            s[2] = val;
            if t - s[0].0 > win {
                s[0] = s[1];
                s[1] = s[2];
                s[2] = val;
            }
        } else if s[1].0 == s[0].0 && dt > win / 4 {
            s[2] = val;
            s[1] = val;
        } else if s[2].0 == s[1].0 && dt > win / 2 {
            s[2] = val;
        }
        s[0].1
    }
}

/// Variables of section 2. Windows are in segments, rates in segments per second, times in seconds.
pub struct Draft {
    pub rng: Rng,
    pub state: State,
    pub cwnd: f64,
    pub initial_cwnd: f64,
    pub send_quantum_bits: f64,
    pub pacing_rate: f64,
    pub pacing_gain: f64,
    pub cwnd_gain: f64,
    pub round_count: u64,
    pub round_start: bool,
    pub next_round_delivered: u64,
    pub delivered: u64,
    pub max_bw_filter: [f64; 2],
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    pub bw_latest: f64,
    pub inflight_latest: f64,
    pub loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    pub min_rtt: Option<f64>,
    pub min_rtt_stamp: f64,
    pub probe_rtt_min_delay: f64,
    pub probe_rtt_min_stamp: f64,
    pub probe_rtt_expired: bool,
    pub probe_rtt_done_stamp: Option<f64>,
    pub probe_rtt_round_done: bool,
    pub prior_cwnd: f64,
    pub app_limited: Option<(u64, u64)>,
    pub full_bw: f64,
    pub full_bw_count: u32,
    pub full_bw_now: bool,
    pub full_bw_reached: bool,
    pub drain_start_round: u64,
    pub ack_phase: AckPhase,
    pub bw_probe_samples: bool,
    pub cycle_stamp: f64,
    pub bw_probe_wait: f64,
    pub rounds_since_bw_probe: u64,
    pub bw_probe_up_rounds: u32,
    pub bw_probe_up_acks: f64,
    pub probe_up_cnt: f64,
    pub extra_acked_filter: MinMax,
    pub extra_acked: f64,
    pub extra_acked_delivered: f64,
    pub extra_acked_interval_start: f64,
    pub cwnd_limited: [bool; 2],
}

/// An acknowledgement with the draft's rate sample RS. Times are in seconds, `rate` is in segments per second, the
/// other values are in segments.
pub struct Ack {
    pub now: f64,
    pub rtt: f64,
    pub newly_acked: f64,
    pub lost: u32,
    pub inflight: f64,
    pub inflight_before: u32,
    pub rate: f64,
    pub rs: RateSample,
}

/// Returns the draft's state after the first round-trip time of `rtt` seconds, at `now`.
pub fn start(rng: Rng, now: f64, rtt: f64) -> Draft {
    let initial_cwnd = 10.0;
    Draft {
        rng,
        state: State::Startup,
        cwnd: initial_cwnd,
        initial_cwnd,
        send_quantum_bits: 1460.0 * 8.0,
        pacing_rate: 2.77 * initial_cwnd / rtt,
        pacing_gain: 2.77,
        cwnd_gain: 2.0,
        round_count: 0,
        round_start: false,
        next_round_delivered: 0,
        delivered: 0,
        max_bw_filter: [0.0; 2],
        bw_shortterm: INF,
        inflight_shortterm: INF,
        inflight_longterm: INF,
        bw_latest: 0.0,
        inflight_latest: 0.0,
        loss_round_delivered: 0,
        loss_round_start: false,
        loss_in_round: false,
        min_rtt: Some(rtt),
        min_rtt_stamp: now,
        probe_rtt_min_delay: rtt,
        probe_rtt_min_stamp: now,
        probe_rtt_expired: false,
        probe_rtt_done_stamp: None,
        probe_rtt_round_done: false,
        prior_cwnd: 0.0,
        app_limited: None,
        full_bw: 0.0,
        full_bw_count: 0,
        full_bw_now: false,
        full_bw_reached: false,
        drain_start_round: 0,
        ack_phase: AckPhase::Init,
        bw_probe_samples: false,
        cycle_stamp: 0.0,
        bw_probe_wait: 0.0,
        rounds_since_bw_probe: 0,
        bw_probe_up_rounds: 0,
        bw_probe_up_acks: 0.0,
        probe_up_cnt: 0.0,
        extra_acked_filter: MinMax::default(),
        extra_acked: 0.0,
        extra_acked_delivered: 0.0,
        extra_acked_interval_start: now,
        cwnd_limited: [false; 2],
    }
}
