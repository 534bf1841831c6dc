//! CUBIC of Linux 6.1 (`net/ipv4/tcp_cubic.c`), in its integers: windows of whole segments, time in units of 2^-10 s,
//! and HyStart by the acknowledgement train and the delay. Without `timers.tick` a tick is 1 ms (`HZ` of 1000).

use super::super::whole::Whole;
use super::super::{Acked, Congestion, Setup, Window};
use crate::seq::before;
use tailback_units::{Dur, Time};

/// Scale C of the cubic function in units of 1/1024 (`bic_scale`), times ten, since a segment is a tenth of its unit.
const SCALE: u64 = 41 * 10;
/// Factor of a reduction in units of 1/1024 (`beta`).
const BETA: u64 = 717;
/// Number of eighths of the window per segment of Reno's growth: 8·(1024 + 717) / (3·(1024 − 717)) (`beta_scale`).
const RENO: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// Largest period of growth before the first loss, segments acknowledged per segment.
const STEADY: u64 = 20;
/// Smallest window at which slow start ends by HyStart, segments (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Largest time between acknowledgements of a train (`hystart_ack_delta_us`).
const TRAIN: Dur = Dur::from_ms(2);
/// Number of samples of the round-trip time in each round before the delay is compared (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bounds of the increase of the delay that ends slow start (`HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`).
const DELAY: [Dur; 2] = [Dur::from_ms(4), Dur::from_ms(16)];
/// Allowance for segmentation offload in the length of a train (`hystart_ack_delay`), at rates below 262 MB/s.
const OFFLOAD: Dur = Dur::from_ms(1);

/// State of Linux's CUBIC in one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux {
    whole: Whole,
    curve: Curve,
    /// Time of the last transmission.
    sent: Time,
    /// `true` if HyStart has ended slow start since the last timeout (`found`).
    found: bool,
    /// `true` if segments are paced; a train is then compared with the whole round-trip time (`sk_pacing_status`).
    paced: bool,
    fast_convergence: bool,
    round: Round,
    /// First segment not acknowledged, and first one never transmitted.
    edges: [u32; 2],
    /// Length of a tick of the clock.
    tick: Dur,
    /// `true` if round-trip times are reported before acknowledgements ([`Linux::on_round_trip`]).
    sampled: bool,
}

/// State that a timeout resets (`bictcp_reset`).
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// Number of segments acknowledged per segment of growth (`cnt`).
    per: u64,
    /// Window before the last reduction, or less with fast convergence; 0 before the first one and after a timeout
    /// (`last_max_cwnd`).
    last_max: u64,
    /// Window for which `per` was computed (`last_cwnd`).
    last_cwnd: u64,
    /// Time at which `per` was computed (`last_time`).
    last_time: Time,
    /// Window of the plateau (`bic_origin_point`).
    origin: u64,
    /// Time from the start of the epoch to the plateau, units of 2^-10 s (`bic_K`).
    k: u64,
    /// Minimum round-trip time; zero before the first sample (`delay_min`).
    min_rtt: Dur,
    /// Start of the epoch, shifted by idle times. `None`: the next acknowledgement in congestion avoidance starts one.
    epoch: Option<Time>,
    /// Number of segments acknowledged, for Reno's window (`ack_cnt`).
    acked: u64,
    /// Estimate of Reno's window (`tcp_cwnd`).
    reno: u64,
}

/// State of HyStart in a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Start of the round.
    start: Time,
    /// Last acknowledgement of the train (`last_ack`).
    last: Time,
    /// First segment after the round (`end_seq`).
    end: u32,
    /// Minimum round-trip time (`curr_rtt`).
    rtt: Dur,
    /// Number of samples, up to [`SAMPLES`].
    samples: u32,
}

impl Round {
    fn starting(now: Time, end: u32) -> Round {
        Round { start: now, last: now, end, rtt: Dur(u64::MAX), samples: 0 }
    }
}

/// Returns the cube root of `a`, rounded as Linux does (`cubic_root`): a table of the leading bits and one step of
/// Newton's method.
fn cubic_root(a: u64) -> u64 {
    const TABLE: [u8; 64] = [
        0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176,
        179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224,
        225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
    ];
    let bits = u64::from(64 - a.leading_zeros());
    if bits < 7 {
        return (u64::from(TABLE[a as usize]) + 35) >> 6;
    }
    let b = ((bits * 84) >> 8) - 1;
    let leading = (a >> (b * 3)) as usize;
    let x = ((u64::from(TABLE[leading]) + 10) << b) >> 6;
    let x = 2 * x + a / (x * (x - 1));
    (x * 341) >> 10
}

impl Linux {
    pub fn new(setup: &Setup, fast_convergence: bool) -> Linux {
        Linux {
            whole: Whole::default(),
            curve: Curve::default(),
            sent: Time::ZERO,
            found: false,
            paced: setup.pacing,
            fast_convergence,
            round: Round::starting(Time::ZERO, 0),
            edges: [0; 2],
            tick: setup.tick.unwrap_or(Dur::from_ms(1)),
            sampled: false,
        }
    }

    /// Returns the number of whole ticks (`tcp_jiffies32`).
    fn ticks(&self, time: Time) -> u64 {
        time.0 / self.tick.0
    }

    /// Returns the number of ticks from `start` to `now`.
    fn since(&self, now: Time, start: Time) -> u64 {
        self.ticks(now).saturating_sub(self.ticks(start))
    }

    /// Returns the number of ticks in a second (`HZ`).
    fn hz(&self) -> u64 {
        Dur::from_secs(1).0 / self.tick.0
    }

    /// Starts the first round of HyStart (`cubictcp_init`).
    pub fn open(&mut self, now: Time) {
        self.round = Round::starting(now, 0);
    }

    /// Processes the content of an acknowledgement; `una` and `next` are those of [`super::super::Feedback`].
    pub fn follow(&mut self, una: u32, next: u32) {
        self.edges = [una, next];
    }

    /// Processes an acknowledgement outside recovery (`cubictcp_acked`, `cubictcp_cong_avoid`).
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if let Some(rtt) = acked.rtt.filter(|_| !self.sampled) {
            self.sample(window, acked.now, rtt);
        }
        if acked.advanced == 0 || !acked.window_limited {
            return;
        }
        let mut count = acked.delivered;
        if window.cwnd < window.ssthresh {
            count = Whole::slow_start(window, count);
        }
        if count > 0 {
            self.update(window.cwnd as u64, u64::from(count), acked.now);
            self.whole.avoid(window, self.curve.per as u32, count);
        }
    }

    /// Processes the round-trip time of an acknowledgement, in recovery too.
    pub fn on_round_trip(&mut self, window: &mut Window, now: Time, rtt: Dur) {
        self.sampled = true;
        self.sample(window, now, rtt);
    }

    /// Processes a sample of the round-trip time (`cubictcp_acked`).
    fn sample(&mut self, window: &mut Window, now: Time, rtt: Dur) {
        if self.curve.epoch.is_some_and(|epoch| self.since(now, epoch) < self.hz()) {
            return;
        }
        if self.curve.min_rtt == Dur::ZERO || rtt < self.curve.min_rtt {
            self.curve.min_rtt = rtt;
        }
        if !self.found && window.cwnd < window.ssthresh {
            self.check_slow_start(window, now, rtt);
        }
    }

    /// Ends slow start if the acknowledgements since the start of the round arrive in a train of half the minimum
    /// round-trip time, or if the round-trip time has risen (`hystart_update`).
    fn check_slow_start(&mut self, window: &mut Window, now: Time, rtt: Dur) {
        let [una, next] = self.edges;
        if before(self.round.end, una) {
            self.round = Round::starting(now, next);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        let round = &mut self.round;
        if now.since(round.last) <= TRAIN {
            round.last = now;
            let threshold = self.curve.min_rtt + OFFLOAD;
            let threshold = if self.paced { threshold } else { threshold / 2 };
            self.found |= now.since(round.start) > threshold;
        }
        round.rtt = round.rtt.min(rtt);
        if round.samples < SAMPLES {
            round.samples += 1;
        } else {
            let [least, most] = DELAY;
            self.found |= round.rtt > self.curve.min_rtt + (self.curve.min_rtt / 8).clamp(least, most);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// Computes the number of segments acknowledged per segment of growth (`bictcp_update`).
    fn update(&mut self, cwnd: u64, acked: u64, now: Time) {
        self.curve.acked += acked;
        let elapsed = self.since(now, self.curve.last_time);
        if self.curve.last_cwnd == cwnd && elapsed <= self.hz() / 32 {
            return;
        }
        if self.curve.epoch.is_none() || elapsed > 0 {
            self.follow_curve(cwnd, acked, now);
        }
        let step = (cwnd * RENO) >> 3;
        while step > 0 && self.curve.acked > step {
            self.curve.acked -= step;
            self.curve.reno += 1;
        }
        if self.curve.reno > cwnd {
            self.curve.per = self.curve.per.min(cwnd / (self.curve.reno - cwnd));
        }
        // The window grows by at most half of it per round trip.
        self.curve.per = self.curve.per.max(2);
    }

    /// Computes the growth by the cubic function.
    fn follow_curve(&mut self, cwnd: u64, acked: u64, now: Time) {
        self.curve.last_cwnd = cwnd;
        self.curve.last_time = now;
        let epoch = if let Some(epoch) = self.curve.epoch {
            epoch
        } else {
            self.curve.epoch = Some(now);
            self.curve.acked = acked;
            self.curve.reno = cwnd;
            if self.curve.last_max <= cwnd {
                (self.curve.k, self.curve.origin) = (0, cwnd);
            } else {
                self.curve.k = cubic_root((1 << 40) / SCALE * (self.curve.last_max - cwnd));
                self.curve.origin = self.curve.last_max;
            }
            now
        };
        let elapsed = self.since(now, epoch) + self.curve.min_rtt.0.div_ceil(self.tick.0);
        let t = (elapsed << 10) / self.hz();
        let offset = u128::from(t.abs_diff(self.curve.k));
        let delta = u64::try_from((u128::from(SCALE) * offset * offset * offset) >> 40).unwrap_or(u64::MAX);
        let target = if t < self.curve.k {
            self.curve.origin.saturating_sub(delta)
        } else {
            self.curve.origin.saturating_add(delta)
        };
        self.curve.per = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.curve.last_max == 0 {
            self.curve.per = self.curve.per.min(STEADY);
        }
    }

    /// Processes a sign of congestion: sets the threshold (`cubictcp_recalc_ssthresh`) and, at an echo, the window.
    pub fn on_congestion(&mut self, window: &mut Window, sign: Congestion) {
        let cwnd = window.cwnd as u64;
        self.curve.epoch = None;
        self.curve.last_max =
            if cwnd < self.curve.last_max && self.fast_convergence { cwnd * (1024 + BETA) / (2 * 1024) } else { cwnd };
        self.whole.reduce(window, (cwnd * BETA / 1024).max(2) as f64, sign);
    }

    /// Processes an expiry of the retransmission timer (`cubictcp_state`).
    pub fn on_expiry(&mut self, now: Time) {
        let [_, next] = self.edges;
        self.curve = Curve::default();
        self.found = false;
        self.round = Round::starting(now, next);
        self.whole.restart();
    }

    /// Processes a transmission; `idle`: no segment was outstanding, so that the epoch is shifted by the idle time
    /// (`cubictcp_cwnd_event`).
    pub fn on_sent(&mut self, now: Time, idle: bool) {
        if idle && let Some(epoch) = &mut self.curve.epoch {
            *epoch = (*epoch + now.since(self.sent)).min(now);
        }
        self.sent = now;
    }

    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("w-max", self.curve.last_max as f64);
        f("w-est", self.curve.reno as f64);
        f("k", self.curve.k as f64 / 1024.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::maths;

    const MS: fn(u64) -> Dur = Dur::from_ms;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn setup() -> Setup {
        crate::params::Tcp::default().setup()
    }

    /// Returns an acknowledgement of `delivered` segments at `ms` with a round-trip time of `rtt` ms.
    fn acked(ms: u64, delivered: u32, rtt: u64) -> Acked {
        Acked {
            now: at(ms),
            delivered,
            advanced: delivered,
            rtt: Some(MS(rtt)),
            srtt: MS(rtt),
            min_rtt: MS(rtt),
            in_flight_before: 100,
            in_flight: 100,
            window_limited: true,
            ece: false,
            recovering: false,
            round: false,
            lost: 0,
            rate: None,
        }
    }

    /// The comment of `cubic_root` gives an average error of 0.195 %; a step of Newton's method from the table is within
    /// 1 % plus the rounding.
    #[test]
    fn the_cube_root_is_that_of_the_table_and_one_step_of_newtons_method() {
        for a in [1_u64, 8, 27, 63, 64, 1000, 123_456, 1 << 30, 1 << 40, 0x7fff_ffff_ffff] {
            let (root, exact) = (cubic_root(a) as f64, maths::pow(a as f64, 1.0 / 3.0));
            assert!((root - exact).abs() <= 1.0 + exact * 0.01, "{a}: {root} for {exact}");
        }
        assert_eq!([0, 1, 8, 27].map(cubic_root), [0, 1, 2, 3]);
    }

    /// `bictcp_update`: with a reduction from 100 segments the window is 70 = 100·717/1024; the plateau of 100 segments is
    /// K = (30/0.4)^(1/3) = 4.22 s later, where the window is 100 again.
    #[test]
    fn the_window_returns_to_that_of_the_reduction_after_k() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 100.0, ssthresh: f64::INFINITY });
        linux.on_congestion(&mut window, Congestion::Ecn);
        assert_eq!((window.cwnd, window.ssthresh), (70.0, 70.0));
        for i in 0..422 {
            // 100 segments per round trip of 100 ms.
            linux.on_ack(&mut window, &acked(1_000 + 10 * i, 10, 100));
        }
        assert!((96.0..=100.0).contains(&window.cwnd), "{}", window.cwnd);
        assert!((linux.curve.k as f64 / 1024.0 - 4.217).abs() < 0.05, "{}", linux.curve.k);
    }

    /// `cubictcp_recalc_ssthresh`: fast convergence lowers the plateau to 50·(1024 + 717)/2048 = 42 segments.
    #[test]
    fn fast_convergence_lowers_the_plateau() {
        for (fast, expected) in [(true, 42), (false, 50)] {
            let (mut linux, mut window) = (Linux::new(&setup(), fast), Window { cwnd: 100.0, ssthresh: f64::INFINITY });
            linux.on_congestion(&mut window, Congestion::Loss);
            window.cwnd = 50.0;
            linux.on_congestion(&mut window, Congestion::Loss);
            assert_eq!((linux.curve.last_max, window.ssthresh), (expected, 35.0));
        }
    }

    /// `bictcp_update`: before the first loss, and after a timeout, the window grows by a segment per 20 acknowledged.
    #[test]
    fn without_a_known_maximum_the_window_grows_by_five_percent_per_round_trip() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 100.0, ssthresh: 50.0 });
        for i in 0..10 {
            linux.on_ack(&mut window, &acked(i, 10, 100));
        }
        assert_eq!(window.cwnd, 105.0);
        linux.on_congestion(&mut window, Congestion::Timeout);
        linux.on_expiry(at(100));
        assert_eq!((linux.curve.last_max, linux.found), (0, false));
    }

    /// `hystart_update`: slow start ends when a train of acknowledgements is longer than half of the minimum
    /// round-trip time plus 1 ms, here (60 + 1)/2 = 30.5 ms, at a window of at least 16 segments.
    #[test]
    fn a_train_of_half_the_round_trip_time_ends_slow_start() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 20.0, ssthresh: f64::INFINITY });
        linux.open(at(0));
        linux.follow(1, 100);
        for ms in 0..31 {
            linux.on_ack(&mut window, &acked(60 + ms, 1, 60));
            assert!(!linux.found, "{ms}");
        }
        linux.on_ack(&mut window, &acked(60 + 31, 1, 60));
        assert_eq!((linux.found, window.ssthresh), (true, 51.0));
    }

    /// `hystart_update`: slow start ends when the minimum of more than 8 samples in a round is more than an eighth of the
    /// minimum round-trip time above it, at least 4 ms: 60 + 7.5 ms.
    #[test]
    fn a_rise_of_the_round_trip_time_ends_slow_start() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 20.0, ssthresh: f64::INFINITY });
        linux.open(at(0));
        linux.follow(1, 100);
        linux.on_ack(&mut window, &acked(60, 1, 60));
        linux.follow(101, 200);
        for i in 0..8 {
            linux.on_ack(&mut window, &acked(120 + 3 * i, 1, 68));
            assert!(!linux.found, "{i}");
        }
        linux.on_ack(&mut window, &acked(150, 1, 68));
        assert!(linux.found);
    }

    /// `cubictcp_cwnd_event`: an idle time shifts the epoch.
    #[test]
    fn an_idle_time_shifts_the_epoch() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 100.0, ssthresh: 50.0 });
        linux.on_ack(&mut window, &acked(1_000, 1, 100));
        linux.on_sent(at(1_100), false);
        linux.on_sent(at(4_100), true);
        assert_eq!(linux.curve.epoch, Some(at(4_000)));
        linux.on_sent(at(4_200), false);
        linux.on_sent(at(4_400), true);
        assert_eq!(linux.curve.epoch, Some(at(4_200)));
    }

    /// Windows above 2^32 / 1741 segments, at which the products of the kernel's 32 bits overflow.
    #[test]
    fn large_windows_do_not_overflow() {
        let (mut linux, mut window) = (Linux::new(&setup(), true), Window { cwnd: 9e6, ssthresh: f64::INFINITY });
        for cwnd in [9e6, 6e6] {
            window.cwnd = cwnd;
            linux.on_congestion(&mut window, Congestion::Loss);
        }
        // 6e6 · (1024 + 717) / 2048 and 6e6 · 717 / 1024, rounded down.
        assert_eq!((linux.curve.last_max, window.ssthresh), (5_100_585, 4_201_171.0));
        window.cwnd = window.ssthresh;
        linux.on_ack(&mut window, &acked(100_000, 10, 100));
        assert!(window.cwnd >= window.ssthresh);
    }
}
