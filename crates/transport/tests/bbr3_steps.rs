//! BBR version 3 step by step, each value computed by hand from draft-ietf-ccwg-bbr-05: loss recovery, idle times and
//! bounds, which the comparison with the transcription of the draft does not reach.

use tailback_random::Rng;
use tailback_transport::Line;
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, RateSample, Sent, Setup, Window, bbr3,
};
use tailback_units::{Dur, Time};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;
const INF: f64 = f64::INFINITY;

/// A control of segments of 1000 B with an initial window of four segments, on a path with a round-trip time of 125 ms.
struct Bench {
    control: bbr3::Bbr3,
    window: Window,
    /// Time of the last acknowledgement, ms.
    now: u64,
    /// Number of segments delivered.
    total: u64,
    /// Delivery rate of the samples: segments and interval.
    rate: (u32, Dur),
    /// Round-trip time.
    rtt: Dur,
}

impl Bench {
    /// Returns a control whose samples have 80 segments per second, a bandwidth-delay product of 10 segments.
    fn new(selective: bool) -> Bench {
        let setup = Setup {
            payload: 1000,
            header: 40,
            initial_window: 4,
            initial_ssthresh: None,
            max_rto: Dur::from_secs(60),
            tick: None,
            pacing: false,
            selective,
            line: Line::default(),
        };
        let window = Window { cwnd: 20.0, ssthresh: INF };
        let control = bbr3::Params {}.build(&setup, Rng::named(1, "bbr3"));
        Bench { control, window, now: 1_000, total: 0, rate: (10, Dur::from_ms(125)), rtt: Dur::from_ms(125) }
    }

    /// Returns an acknowledgement `ms` milliseconds later that starts a round. Ten segments were in flight when its
    /// segment was sent, without a loss since then; twelve are in flight now, more than the product.
    fn later(&mut self, ms: u64) -> Acked {
        self.now += ms;
        let prior_delivered = self.total;
        self.total += 10;
        let rtt = self.rtt;
        let sample = RateSample {
            delivered: self.rate.0,
            interval: self.rate.1,
            prior_delivered,
            total_delivered: self.total,
            sent_in_flight: 10,
            lost: 0,
            app_limited: false,
        };
        Acked {
            now: Time::ZERO + Dur::from_ms(self.now),
            delivered: 1,
            advanced: 1,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            in_flight_before: 5,
            in_flight: 12,
            window_limited: true,
            ece: false,
            recovering: false,
            round: false,
            lost: 0,
            rate: Some(sample),
        }
    }

    fn on_ack(&mut self, acked: &Acked) -> f64 {
        self.control.on_ack(&mut self.window, acked);
        self.mode()
    }
    /// Processes `later(ms)` and returns the mode.
    fn ack(&mut self, ms: u64) -> f64 {
        let acked = self.later(ms);
        self.on_ack(&acked)
    }
    fn mode(&self) -> f64 {
        self.variable("mode")
    }
    /// Returns a variable of the control; NaN if there is none of this name.
    fn variable(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.control.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    fn pace(&self) -> f64 {
        self.control.pacing().rate.expect("BBR paces")
    }
    fn idle(&mut self) {
        let sent = Sent { now: Time::ZERO + Dur::from_ms(self.now), idle: true, in_flight: 1, ..Sent::default() };
        assert!(!self.control.on_sent(&mut self.window, &sent), "BBR marks no segment");
    }
    fn congestion(&mut self, sign: Congestion, in_flight: u32) {
        let event = CongestionEvent::new(sign, Time::ZERO + Dur::from_ms(self.now), in_flight);
        self.control.on_congestion(&mut self.window, &event);
    }
    fn spurious(&mut self) {
        self.control.on_spurious(&mut self.window, Time::ZERO);
    }
    /// Passes Startup: the bandwidth does not grow in the three rounds after the first one.
    fn drain(&mut self) {
        for mode in [STARTUP, STARTUP, STARTUP, DRAIN] {
            assert_eq!(self.ack(1), mode);
        }
    }
    /// Passes Startup and Drain, which ends after more than three rounds.
    fn down(&mut self) {
        self.drain();
        for mode in [DRAIN, DRAIN, DRAIN, DOWN] {
            assert_eq!(self.ack(1), mode);
        }
    }
    /// Goes on to a probe: the wait for it is at most 3 s, and the pipe is refilled for a round.
    fn up(&mut self) {
        assert_eq!(self.ack(3_100), REFILL);
        assert_eq!(self.ack(1), UP);
    }
}

/// Returns the acknowledgement of a segment that was sent before the last round started.
fn within_round(acked: Acked) -> Acked {
    Acked { rate: acked.rate.map(|sample| RateSample { prior_delivered: 0, ..sample }), ..acked }
}
/// Returns an acknowledgement that reports the loss of one segment, of `sent_in_flight` segments in flight.
fn lossy(acked: Acked, sent_in_flight: u32) -> Acked {
    let rate = acked.rate.map(|sample| RateSample { lost: 1, sent_in_flight, ..sample });
    Acked { lost: 1, rate, ..acked }
}
fn recovering(acked: Acked) -> Acked {
    Acked { recovering: true, ..acked }
}
fn app_limited(acked: Acked) -> Acked {
    Acked { rate: acked.rate.map(|sample| RateSample { app_limited: true, ..sample }), ..acked }
}
/// Returns the acknowledgement with a round-trip time of `ms` milliseconds, after which four segments are in flight.
fn with_rtt(acked: Acked, ms: u64) -> Acked {
    Acked { rtt: Some(Dur::from_ms(ms)), ..empty(acked) }
}
fn empty(acked: Acked) -> Acked {
    Acked { in_flight: 4, ..acked }
}

/// Section 5.6.2: the rate before the first round-trip time is that of the initial window per millisecond.
#[test]
fn bbr3_starts_its_clocks_at_the_first_round_trip_time() {
    let mut bench = Bench::new(true);
    assert_eq!(bench.pace(), 2.77 * 4.0 / 1e-3);
    let none = Acked { rtt: None, srtt: Dur::ZERO, min_rtt: Dur::ZERO, rate: None, ..bench.later(0) };
    bench.on_ack(&none);
    assert_eq!((bench.pace(), bench.variable("min-rtt"), bench.variable("bandwidth")), (2.77 * 4.0 / 1e-3, 0.0, 0.0));
    let first = Acked { rtt: None, rate: None, ..bench.later(4_000) };
    bench.on_ack(&first);
    assert_eq!((bench.pace(), bench.variable("min-rtt")), (2.77 * 4.0 / 0.125, 0.125));
    // More than 5 s later the minimum is measured again in ProbeRTT; that of 10 s has not expired.
    let next = Acked { rate: None, ..with_rtt(bench.later(5_501), 150) };
    assert_eq!(bench.on_ack(&next), PROBE_RTT);
    assert_eq!(bench.variable("min-rtt"), 0.125);
}

/// Section 5.5.9: the interval in which the aggregation of acknowledgements is measured begins with the first round-trip
/// time and after an idle time. Two acknowledgements at its start are one segment more than the bandwidth explains.
#[test]
fn bbr3_measures_aggregation_from_the_first_round_trip_time_and_from_the_end_of_an_idle_time() {
    for idle in [false, true] {
        let mut bench = Bench::new(true);
        let first = app_limited(bench.later(0));
        let unknown = Acked { rtt: None, srtt: Dur::ZERO, min_rtt: Dur::ZERO, ..first };
        bench.on_ack(if idle { &first } else { &unknown });
        let second = app_limited(bench.later(1_000));
        if idle {
            bench.idle();
        }
        // The target is 2 · 10 segments plus the two of the aggregation.
        bench.window.cwnd = 21.5;
        bench.on_ack(&second);
        assert_eq!(bench.window.cwnd, 22.5, "idle: {idle}");
        bench.window.cwnd = 22.0;
        let third = Acked { now: second.now + Dur::from_ms(500), ..app_limited(bench.later(0)) };
        bench.on_ack(&third);
        assert_eq!(bench.window.cwnd, 22.0, "idle: {idle}");
    }
}

/// Sections 5.6.3 and 5.6.4.2: the target is at least three quanta; a quantum is what is sent in 1 ms, at least two
/// segments and at most 64 KiB. In Startup the window grows below the target.
#[test]
fn the_window_of_bbr3_is_at_least_three_quanta() {
    for (delivered, interval, rtt, target) in [
        // 8 segments per second: 2 · 1 + 1 segments are less than three quanta of two.
        (1, Dur::from_ms(125), Dur::from_ms(125), 6.0),
        // 10,000 per second: 27.423 segments are sent in 1 ms at a gain of 2.77 and a margin of 1 %.
        (10, Dur::from_ms(1), Dur::from_ms(1), 3.0 * 27.423),
        // 30,000 per second: 65,536 B are 65.536 segments.
        (30, Dur::from_ms(1), Dur::from_ms(1), 3.0 * 65.536),
    ] {
        for (cwnd, grown) in [(target - 0.001, target + 0.999), (target + 0.001, target + 0.001)] {
            let mut bench = Bench::new(true);
            bench.rate = (delivered, interval);
            bench.window.cwnd = cwnd;
            let acked = app_limited(bench.later(0));
            bench.on_ack(&Acked { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, ..acked });
            assert_eq!(bench.window.cwnd, grown, "target {target}");
        }
    }
}

/// Section 5.6.4.6: in Startup the window grows while less than the initial window is delivered.
#[test]
fn in_startup_bbr3_s_window_grows_while_less_than_the_initial_window_is_delivered() {
    for (total, expected) in [(3, 101.0), (4, 100.0)] {
        let mut bench = Bench::new(true);
        bench.window.cwnd = 100.0;
        let acked = app_limited(bench.later(0));
        let rate = acked.rate.map(|sample| RateSample { total_delivered: total, ..sample });
        bench.on_ack(&Acked { rate, ..acked });
        assert_eq!(bench.window.cwnd, expected, "{total} delivered");
    }
}

/// Section 5.3.2: Drain ends when at most a bandwidth-delay product is in flight.
#[test]
fn bbr3_drains_down_to_the_bandwidth_delay_product() {
    let mut bench = Bench::new(true);
    for mode in [STARTUP, STARTUP, STARTUP, DRAIN] {
        let acked = Acked { in_flight: 11, ..bench.later(1) };
        assert_eq!(bench.on_ack(&acked), mode);
    }
    let acked = Acked { in_flight: 10, ..within_round(bench.later(1)) };
    assert_eq!(bench.on_ack(&acked), CRUISE);
}

/// At half a segment per second every bound that starts at zero must give way to the first sample.
#[test]
fn bbr3_models_a_path_of_half_a_segment_per_second() {
    let mut bench = Bench::new(true);
    bench.rate = (1, Dur::from_secs(2));
    bench.rtt = Dur::from_secs(8);
    for mode in [STARTUP, STARTUP, STARTUP, DRAIN] {
        let acked = Acked { in_flight: 100, ..bench.later(1) };
        assert_eq!(bench.on_ack(&acked), mode);
        assert_eq!(bench.variable("bandwidth"), 0.5);
    }
    assert_eq!(bench.pace(), 0.5 * 0.5 * 0.99);
    // Drain ends within a round, and a loss follows in the same round.
    let drained = empty(within_round(bench.later(1)));
    assert_eq!(bench.on_ack(&drained), CRUISE);
    let loss = lossy(within_round(bench.later(1)), 100);
    bench.on_ack(&loss);
    bench.ack(1);
    // Section 5.5.10.2: the maximum of the rate in the last round and 0.7 times the bandwidth.
    assert_eq!(bench.variable("bandwidth-short"), 0.5);
    // The filter has moved on to the next cycle.
    assert_eq!(bench.variable("bandwidth"), 0.5);
}

/// Section 5.5.10.2 (IsInflightTooHigh). Without selective acknowledgements any loss counts; with them, more than 2 % of
/// the segments in flight.
#[test]
fn without_selective_acknowledgements_any_loss_ends_a_probe_of_bbr3() {
    for (selective, sampled, lost_since, lost, mode) in [
        (false, false, 0, 1, DOWN),
        (true, false, 0, 1, UP),
        (false, false, 0, 0, UP),
        (false, true, 1, 1, DOWN),
        (false, true, 0, 1, UP),
        (true, true, 1, 1, UP),
    ] {
        let mut bench = Bench::new(selective);
        bench.down();
        bench.up();
        let acked = bench.later(1);
        let sample = RateSample { sent_in_flight: 1_000, lost: lost_since, ..acked.rate.expect("a sample") };
        let rate = sampled.then_some(sample);
        assert_eq!(bench.on_ack(&Acked { lost, rate, ..acked }), mode, "{selective} {sampled} {lost_since} {lost}");
    }
}

/// Section 5.3.1.3: without selective acknowledgements a loss in recovery ends Startup. The long-term bound becomes the
/// bandwidth-delay product, or the maximum delivered in a round if that is more.
#[test]
fn a_loss_without_selective_acknowledgements_ends_startup_of_bbr3() {
    // 40 segments per second are 5 in a round-trip time, and 1024 are 128.
    for (rate, bound) in [((50, Dur::from_ms(1_250)), 50.0), ((16, Dur(15_625_000_000)), 128.0)] {
        let mut bench = Bench::new(false);
        bench.rate = rate;
        let far = |acked: Acked| Acked { in_flight: 500, ..app_limited(acked) };
        let acked = far(bench.later(1));
        assert_eq!(bench.on_ack(&acked), STARTUP);
        bench.rate = (5, Dur::from_secs(1));
        // The segment was sent after the first delivery, and before the end of the first round.
        let acked = far(bench.later(1));
        let early = acked.rate.map(|sample| RateSample { prior_delivered: 1, ..sample });
        assert_eq!(bench.on_ack(&Acked { rate: early, ..acked }), STARTUP);
        let acked = recovering(far(within_round(bench.later(1))));
        assert_eq!(bench.on_ack(&acked), STARTUP);
        let acked = recovering(far(within_round(bench.later(1))));
        assert_eq!(bench.on_ack(&Acked { lost: 1, ..acked }), DRAIN);
        assert_eq!(bench.variable("in-flight-long"), bound);
    }
    // Without any sample of the rate the model is empty, and the pacing rate stays that of the initial window.
    let mut bench = Bench::new(false);
    let acked = Acked { lost: 1, in_flight: 500, rate: None, ..recovering(bench.later(1)) };
    assert_eq!(bench.on_ack(&acked), DRAIN);
    assert_eq!((bench.variable("in-flight-long"), bench.pace()), (0.0, 2.77 * 4.0 / 0.125));
    // In ProbeRTT a loss does not end Startup, which continues afterwards.
    let mut bench = Bench::new(false);
    let acked = app_limited(bench.later(0));
    bench.on_ack(&acked);
    let acked = app_limited(with_rtt(bench.later(5_001), 150));
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    let acked = Acked { lost: 1, ..recovering(app_limited(with_rtt(bench.later(1), 150))) };
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    let acked = app_limited(with_rtt(bench.later(300), 150));
    assert_eq!(bench.on_ack(&acked), STARTUP);
}

/// Section 5.3.1.3: Startup ends by losses after a full round of recovery with six losses in a round.
#[test]
fn bbr3_counts_the_losses_of_startup_in_each_round_and_after_a_round_of_recovery() {
    let mut bench = Bench::new(true);
    let far = |acked: Acked| Acked { in_flight: 100, ..app_limited(acked) };
    for (losses, mode) in [(3, STARTUP), (3, STARTUP), (5, STARTUP), (6, DRAIN)] {
        for _ in 0..losses {
            let acked = recovering(lossy(within_round(far(bench.later(1))), 10));
            assert_eq!(bench.on_ack(&acked), STARTUP);
        }
        // The end of the round, with more than 2 % of the segments lost.
        let acked = Acked { lost: 0, ..recovering(lossy(far(bench.later(1)), 10)) };
        assert_eq!(bench.on_ack(&acked), mode, "{losses} losses in a round");
    }
    // Six losses before the recovery, which began in this round: the round of losses ends before the round of recovery.
    let mut bench = Bench::new(true);
    let with_prior = |acked: Acked, prior_delivered: u64| Acked {
        rate: acked.rate.map(|sample| RateSample { prior_delivered, ..sample }),
        ..acked
    };
    let acked = far(bench.later(1));
    bench.on_ack(&acked);
    for _ in 0..6 {
        let acked = lossy(within_round(far(bench.later(1))), 10);
        bench.on_ack(&acked);
    }
    // A round starts with a segment sent after 10 deliveries; the first loss was found after 20.
    let acked = with_prior(far(bench.later(1)), 10);
    bench.on_ack(&acked);
    let acked = Acked { lost: 0, ..recovering(lossy(with_prior(far(bench.later(1)), 20), 10)) };
    assert_eq!(bench.on_ack(&acked), STARTUP);
}

/// Section 5.5.10: a loss above 2 % in a probe sets the long-term bound to the segments in flight. The bound leaves a
/// headroom of 15 %, at least one segment, in ProbeBW_CRUISE, and a probe raises it again.
#[test]
fn a_probe_sets_the_long_term_bound_of_bbr3_at_a_loss_and_raises_it_again() {
    for selective in [true, false] {
        let mut bench = Bench::new(selective);
        bench.down();
        bench.up();
        // A new minimum postpones ProbeRTT.
        bench.rtt = Dur::from_ms(120);
        let acked = lossy(bench.later(1), 10);
        assert_eq!(bench.on_ack(&acked), DOWN);
        assert_eq!(bench.variable("in-flight-long"), 10.0);
        bench.window.cwnd = 20.0;
        let acked = empty(bench.later(1));
        assert_eq!(bench.on_ack(&acked), CRUISE);
        assert_eq!(bench.window.cwnd, 8.5);
        bench.up();
        assert_eq!(bench.variable("in-flight-long"), 10.0);
        // The window was 9.5 segments at the start of the probe, so that one segment is added for each 9.5 delivered.
        bench.window.cwnd = 10.0;
        let acked = Acked { delivered: 20, in_flight_before: 10, rate: None, ..bench.later(1) };
        assert_eq!(bench.on_ack(&acked), UP);
        assert_eq!(bench.variable("in-flight-long"), 12.0);
    }
}

/// Section 5.3.3.1: ProbeBW_DOWN ends at the bound minus the headroom: 17 of 20 segments.
#[test]
fn bbr3_cruises_once_the_headroom_is_free() {
    for (in_flight, mode) in [(18, DOWN), (17, CRUISE)] {
        let mut bench = Bench::new(true);
        bench.down();
        bench.up();
        // 160 segments per second are 20 in a round-trip time.
        bench.rate = (20, Dur::from_ms(125));
        let acked = Acked { in_flight: 18, ..lossy(bench.later(1), 20) };
        assert_eq!(bench.on_ack(&acked), DOWN);
        assert_eq!(bench.variable("in-flight-long"), 20.0);
        let acked = Acked { in_flight, ..bench.later(1) };
        assert_eq!(bench.on_ack(&acked), mode, "{in_flight} in flight");
    }
}

/// Section 5.5.10.2, and section 3.7 for ECN: an echo is a loss above the threshold, which lowers the short-term bounds at
/// the end of the round: to the maximum delivered in the round, or 0.7 times the value before.
#[test]
fn a_spurious_loss_restores_the_short_term_bounds_of_bbr3_of_the_round_of_the_loss() {
    // Returns a control in ProbeBW_DOWN after a round at 40 segments per second, 5 in a sample.
    let slower = || {
        let mut bench = Bench::new(true);
        bench.down();
        bench.rate = (5, Dur::from_ms(125));
        bench.ack(1);
        bench
    };
    let bounds = |bench: &Bench| (bench.variable("bandwidth-short"), bench.variable("in-flight-short"));
    let lowered = (0.7 * 80.0, 0.7 * 20.0);
    let lose = |bench: &mut Bench| {
        let acked = recovering(lossy(within_round(bench.later(1)), 100));
        bench.on_ack(&acked);
    };
    let end_round = |bench: &mut Bench| {
        bench.window.cwnd = 20.0;
        let acked = recovering(bench.later(1));
        bench.on_ack(&acked);
    };
    let mut bench = slower();
    lose(&mut bench);
    assert_eq!(bounds(&bench), (INF, INF));
    end_round(&mut bench);
    assert_eq!(bounds(&bench), lowered);
    bench.spurious();
    assert_eq!(bounds(&bench), (INF, INF));
    // A spurious loss before the end of its round lowers nothing.
    let mut bench = slower();
    lose(&mut bench);
    bench.spurious();
    end_round(&mut bench);
    assert_eq!(bounds(&bench), (INF, INF));
    // Of two rounds with losses in a recovery, only the second reduction is undone; here it has not been made yet.
    let mut bench = slower();
    lose(&mut bench);
    end_round(&mut bench);
    lose(&mut bench);
    bench.spurious();
    assert_eq!(bounds(&bench), lowered);
    // An echo.
    let mut bench = slower();
    bench.congestion(Congestion::Ecn, 10);
    end_round(&mut bench);
    assert_eq!(bounds(&bench), lowered);
}

/// Section 5.5.10.3: a spurious loss restores the long-term bound and the probe that it ended, with a new estimate of a
/// full pipe: the probe ends after three more rounds without growth.
#[test]
fn a_spurious_loss_restores_the_probe_of_bbr3() {
    let flat_rounds = |bench: &mut Bench| (1..10).find(|_| bench.ack(1) == DOWN);
    // The loss of one of ten segments ends the probe, and that of one of a hundred does not.
    for (of, mode) in [(10, DOWN), (100, UP)] {
        for (rate, rtt) in [((10, Dur::from_ms(125)), Dur::from_ms(125)), ((1, Dur::from_secs(2)), Dur::from_secs(8))] {
            let mut bench = Bench::new(true);
            (bench.rate, bench.rtt) = (rate, rtt);
            bench.down();
            bench.up();
            // Two of three rounds without growth.
            assert_eq!((bench.ack(1), bench.ack(1)), (UP, UP));
            bench.window.cwnd = 20.0;
            let acked = recovering(lossy(within_round(bench.later(1)), of));
            assert_eq!(bench.on_ack(&acked), mode);
            bench.window.cwnd = 4.0;
            bench.spurious();
            assert_eq!(bench.variable("in-flight-long"), INF);
            assert_eq!((bench.mode(), bench.variable("pacing-gain"), bench.window.cwnd), (UP, 1.25, 20.0));
            assert_eq!(flat_rounds(&mut bench), Some(4), "{of} segments in flight, rate {rate:?}");
        }
    }
    // The probe starts a round of its own: a segment sent before the restored probe starts none.
    let mut bench = Bench::new(true);
    bench.down();
    bench.up();
    let acked = recovering(lossy(bench.later(1), 10));
    assert_eq!(bench.on_ack(&acked), DOWN);
    let sent_at = bench.total;
    let acked = Acked { in_flight: 100, ..within_round(bench.later(1)) };
    assert_eq!(bench.on_ack(&acked), DOWN);
    bench.spurious();
    let acked = bench.later(1);
    let rate = acked.rate.map(|sample| RateSample { prior_delivered: sent_at, ..sample });
    bench.on_ack(&Acked { rate, ..acked });
    assert_eq!(flat_rounds(&mut bench), Some(4));
    // In ProbeRTT, which has begun in the meantime, the state stays.
    let mut bench = Bench::new(true);
    bench.down();
    bench.up();
    let acked = recovering(lossy(bench.later(1), 100));
    assert_eq!(bench.on_ack(&acked), UP);
    let acked = recovering(with_rtt(bench.later(5_000), 150));
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    bench.spurious();
    assert_eq!(bench.mode(), PROBE_RTT);
}

/// Section 5.5.10.3: the state is saved at the first loss of a round, at the start of a recovery and at a timeout.
#[test]
fn bbr3_saves_its_bounds_again_when_a_recovery_begins_after_the_first_loss_of_a_round() {
    for timeout in [false, true] {
        let mut bench = Bench::new(true);
        bench.down();
        bench.up();
        bench.rtt = Dur::from_ms(120);
        let acked = lossy(bench.later(1), 10);
        assert_eq!(bench.on_ack(&acked), DOWN);
        bench.up();
        assert_eq!(bench.variable("in-flight-long"), 10.0);
        // A loss of 1 % raises the bound to the segments that were in flight, like any other acknowledgement.
        let acked = lossy(within_round(bench.later(1)), 100);
        assert_eq!(bench.on_ack(&acked), UP);
        assert_eq!(bench.variable("in-flight-long"), 100.0);
        if timeout {
            bench.congestion(Congestion::Timeout, 10);
        }
        let acked = lossy(within_round(bench.later(1)), 10);
        assert_eq!(bench.on_ack(&Acked { recovering: !timeout, ..acked }), DOWN);
        assert_eq!(bench.variable("in-flight-long"), 10.0);
        bench.spurious();
        assert_eq!(bench.variable("in-flight-long"), 100.0, "timeout: {timeout}");
    }
}

/// Section 5.6.4.4: the window before a recovery is restored at its end, and that before a timeout once all segments sent
/// before it are acknowledged.
#[test]
fn bbr3_restores_the_window_of_the_last_recovery() {
    let mut bench = Bench::new(true);
    let recover = |bench: &mut Bench, cwnd: f64| {
        bench.window.cwnd = cwnd;
        let acked = recovering(app_limited(bench.later(1)));
        bench.on_ack(&acked);
    };
    let end = |bench: &mut Bench| {
        bench.window.cwnd = 10.0;
        let acked = app_limited(bench.later(1));
        bench.on_ack(&acked);
        bench.window.cwnd
    };
    recover(&mut bench, 100.0);
    assert_eq!(end(&mut bench), 100.0);
    recover(&mut bench, 50.0);
    assert_eq!(end(&mut bench), 50.0);
    recover(&mut bench, 50.0);
    bench.spurious();
    recover(&mut bench, 70.0);
    assert_eq!(end(&mut bench), 70.0);
    bench.window.cwnd = 30.0;
    bench.congestion(Congestion::Timeout, 10);
    assert_eq!(bench.window.cwnd, 1.0);
    // The window is at least four segments after an acknowledgement.
    let acked = app_limited(bench.later(1));
    bench.on_ack(&acked);
    assert_eq!(bench.window.cwnd, 4.0);
    for (una, cwnd) in [(5, 4.0), (29, 4.0), (30, 30.0)] {
        let feedback = Feedback { advanced: 1, ece: false, una, next: if una == 5 { 30 } else { 40 }, hops: None };
        bench.control.on_feedback(&mut bench.window, &feedback);
        assert_eq!(bench.window.cwnd, cwnd, "acknowledged up to {una}");
    }
}

/// Section 5.4.1: after an idle time BBR paces at the bandwidth in ProbeBW, and does not enter ProbeRTT.
#[test]
fn after_an_idle_time_bbr3_paces_at_the_bandwidth_and_skips_one_probe_rtt() {
    // Nothing, or one segment, has been delivered before the idle time.
    for (delivered, mode) in [(0, PROBE_RTT), (1, STARTUP)] {
        let mut bench = Bench::new(true);
        let acked = app_limited(bench.later(0));
        let one = acked.rate.map(|sample| RateSample { total_delivered: 1, ..sample });
        bench.on_ack(&Acked { rate: one.filter(|_| delivered > 0), ..acked });
        let before = bench.pace();
        bench.idle();
        assert_eq!(bench.pace(), before, "Startup keeps its rate");
        let acked = Acked { rate: None, ..with_rtt(bench.later(5_001), 150) };
        assert_eq!(bench.on_ack(&acked), mode);
        if mode == STARTUP {
            let acked = Acked { rate: None, ..with_rtt(bench.later(5_001), 150) };
            assert_eq!(bench.on_ack(&acked), PROBE_RTT);
        }
    }
    let mut bench = Bench::new(true);
    bench.down();
    assert_eq!(bench.pace(), 0.9 * 80.0 * 0.99);
    bench.idle();
    assert_eq!(bench.pace(), 80.0 * 0.99);
}

/// Section 5.3.4: each ProbeRTT lasts a round of its own.
#[test]
fn probe_rtt_of_bbr3_takes_a_round_of_its_own_each_time() {
    let mut bench = Bench::new(true);
    let acked = app_limited(bench.later(0));
    bench.on_ack(&acked);
    for _ in 0..2 {
        let acked = app_limited(with_rtt(bench.later(5_001), 250));
        assert_eq!(bench.on_ack(&acked), PROBE_RTT);
        // The time of 200 ms is over, but not the round.
        let acked = app_limited(with_rtt(within_round(bench.later(201)), 250));
        assert_eq!(bench.on_ack(&acked), PROBE_RTT);
        let acked = app_limited(with_rtt(bench.later(1), 250));
        assert_eq!(bench.on_ack(&acked), STARTUP);
    }
}

/// Section 5.3.4.3: a sample equal to the minimum does not restart the 10 s of the minimum.
#[test]
fn a_round_trip_time_equal_to_the_minimum_does_not_renew_it() {
    let mut bench = Bench::new(true);
    let acked = app_limited(bench.later(0));
    bench.on_ack(&acked);
    let acked = empty(app_limited(bench.later(5_001)));
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    let acked = empty(app_limited(bench.later(201)));
    assert_eq!(bench.on_ack(&acked), STARTUP);
    // 10.3 s after the first sample and 5.1 s after ProbeRTT.
    let acked = app_limited(with_rtt(bench.later(5_100), 150));
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    assert_eq!(bench.variable("min-rtt"), 0.15);
}

/// Sections 5.3.3.6 and 5.5.6: only the first round after a probe moves the bandwidth filter on, and ends the response to
/// losses of segments of the probe. The maximum of a cycle is thus forgotten after the next one.
#[test]
fn the_filter_of_bbr3_moves_on_once_after_a_probe() {
    let slow = (5, Dur::from_ms(125));
    // Without a round after Drain the filter does not move on, since its cycle has not ended.
    let mut bench = Bench::new(true);
    bench.drain();
    let acked = empty(within_round(bench.later(1)));
    assert_eq!(bench.on_ack(&acked), CRUISE);
    let acked = within_round(bench.later(3_100));
    assert_eq!(bench.on_ack(&acked), REFILL);
    bench.rate = slow;
    assert_eq!(bench.ack(1), UP);
    while bench.mode() == UP {
        bench.ack(1);
    }
    bench.ack(1);
    assert_eq!(bench.variable("bandwidth"), 80.0);
    // A probe that is restored after a spurious loss has not ended.
    let mut bench = Bench::new(true);
    bench.drain();
    let acked = empty(within_round(bench.later(1)));
    assert_eq!(bench.on_ack(&acked), CRUISE);
    let acked = within_round(bench.later(3_100));
    assert_eq!(bench.on_ack(&acked), REFILL);
    assert_eq!(bench.ack(1), UP);
    let acked = recovering(lossy(within_round(bench.later(1)), 10));
    assert_eq!(bench.on_ack(&acked), DOWN);
    bench.spurious();
    bench.rate = slow;
    while bench.mode() == UP {
        bench.ack(1);
    }
    bench.ack(1);
    assert_eq!(bench.variable("bandwidth"), 80.0);
    // ProbeRTT ends a probe: after a round, losses no longer lower the long-term bound.
    let mut bench = Bench::new(true);
    bench.down();
    bench.up();
    let acked = with_rtt(bench.later(3_000), 150);
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    bench.ack(1);
    let acked = lossy(within_round(bench.later(1)), 10);
    assert_eq!(bench.on_ack(&acked), PROBE_RTT);
    assert_eq!(bench.variable("in-flight-long"), INF);
}
