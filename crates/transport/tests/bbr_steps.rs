//! BBR version 1 step by step, each value computed by hand from draft-cardwell-iccrg-bbr-congestion-control-00.

use tailback_random::Rng;
use tailback_transport::Line;
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, RateSample, Sent, Setup, Window, bbr,
};
use tailback_units::{Dur, Time};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

/// A control of segments of 1000 B with an initial window of four segments, and its window.
struct Bench {
    control: bbr::Bbr,
    window: Window,
}

/// Returns an acknowledgement of one segment at `ms` milliseconds with a round-trip time of 125 ms. It has a sample of
/// 80 segments per second, a bandwidth-delay product of 10 segments, that the application limits, so that it neither
/// starts nor ends a full pipe; `total` segments have been delivered. It starts a round.
fn acked(ms: u64, total: u64) -> Acked {
    let rtt = Dur::from_ms(125);
    let sample = RateSample {
        delivered: 10,
        interval: rtt,
        prior_delivered: total - 1,
        total_delivered: total,
        sent_in_flight: 4,
        lost: 0,
        app_limited: true,
    };
    Acked {
        now: Time::ZERO + Dur::from_ms(ms),
        delivered: 1,
        advanced: 1,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight_before: 5,
        in_flight: 4,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: 0,
        rate: Some(sample),
    }
}

/// Returns the acknowledgement with a delivery rate of `delivered` segments in `interval` that nothing limits.
fn at_rate(acked: Acked, delivered: u32, interval: Dur) -> Acked {
    let rate = acked.rate.map(|sample| RateSample { delivered, interval, app_limited: false, ..sample });
    Acked { rate, ..acked }
}

impl Bench {
    fn new() -> Bench {
        let setup = Setup {
            payload: 1000,
            header: 40,
            initial_window: 4,
            initial_ssthresh: None,
            max_rto: Dur::from_secs(60),
            tick: None,
            pacing: false,
            selective: true,
            line: Line::default(),
        };
        let window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        Bench { control: bbr::Params::default().build(&setup, Rng::named(1, "bbr")), window }
    }
    fn ack(&mut self, acked: &Acked) -> f64 {
        self.control.on_ack(&mut self.window, acked);
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
    fn rate(&self) -> f64 {
        self.control.pacing().rate.expect("BBR paces")
    }
    fn idle(&mut self, ms: u64) {
        let sent = Sent { now: Time::ZERO + Dur::from_ms(ms), idle: true, in_flight: 1, ..Sent::default() };
        assert!(!self.control.on_sent(&mut self.window, &sent), "BBR marks no segment");
    }
}

/// Section 4.2.1: the rate before the first round-trip time is the initial window per millisecond, and then per SRTT.
#[test]
fn bbr_paces_the_initial_window_per_millisecond_and_then_per_round_trip_with_the_gain_of_startup() {
    let mut bench = Bench::new();
    assert_eq!(bench.rate(), 2.885 * 4.0 / 1e-3);
    // An acknowledgement without a round-trip time changes nothing.
    let none = Acked { rtt: None, srtt: Dur::ZERO, min_rtt: Dur::ZERO, rate: None, ..acked(50_000, 1) };
    bench.ack(&none);
    assert_eq!((bench.rate(), bench.variable("min-rtt")), (2.885 * 4.0 / 1e-3, 0.0));
    // The minimum is known, although this acknowledgement has no sample of its own.
    bench.ack(&Acked { rtt: None, rate: None, ..acked(50_000, 1) });
    assert_eq!((bench.rate(), bench.variable("min-rtt")), (2.885 * 4.0 / 0.125, 0.125));
    // It is a second old, so it has not expired.
    assert_eq!(bench.ack(&Acked { rtt: Some(Dur::from_ms(150)), rate: None, ..acked(51_000, 1) }), STARTUP);
    assert_eq!(bench.variable("min-rtt"), 0.125);
}

/// Section 4.3.2.2: three consecutive rounds without growth by a quarter. The first sample counts as growth whatever it
/// is: here it is below one segment per second and a quarter.
#[test]
fn bbr_ends_startup_with_the_third_consecutive_round_of_less_growth_than_a_quarter() {
    let second = Dur::from_secs(1);
    for (rates, modes) in [
        (vec![(1, 1); 4], vec![STARTUP, STARTUP, STARTUP, DRAIN]),
        // 1, 1, 1.25, 1.5, 1.5, 1.5 segments per second: the growth by exactly a quarter restarts the count.
        (
            vec![(1, 1), (1, 1), (5, 4), (3, 2), (3, 2), (3, 2)],
            vec![STARTUP, STARTUP, STARTUP, STARTUP, STARTUP, DRAIN],
        ),
    ] {
        let mut bench = Bench::new();
        for (i, ((delivered, seconds), mode)) in rates.into_iter().zip(modes).enumerate() {
            let ack = Acked { in_flight: 100, ..acked(1_000 + i as u64, 1 + i as u64) };
            assert_eq!(bench.ack(&at_rate(ack, delivered, second * seconds)), mode, "round {i}");
        }
    }
}

/// Section 4.3.3: Drain ends once at most BBRInflight(1.0) segments are in flight. In Drain the rate is 80/2.885
/// segments per second, below 1.2 Mbit/s, so that the quantum is one segment and the bound 10 + 3 segments.
#[test]
fn bbr_drains_until_the_bandwidth_delay_product_and_three_quanta_are_in_flight() {
    let mut bench = Bench::new();
    for i in 1..5 {
        let ack = at_rate(Acked { in_flight: 17, ..acked(1_000 + i, i) }, 10, Dur::from_ms(125));
        assert_eq!(bench.ack(&ack), if i < 4 { STARTUP } else { DRAIN });
    }
    assert_eq!(bench.ack(&Acked { in_flight: 14, ..acked(1_010, 10) }), DRAIN);
    assert_eq!(bench.ack(&Acked { in_flight: 13, ..acked(1_020, 20) }), PROBE_BW);
}

/// Section 4.3.5: ProbeRTT lasts 200 ms and a round, restarts the 10 s of the minimum, and restores window and gains. If
/// the pipe was never full, Startup continues.
#[test]
fn probe_rtt_of_bbr_takes_a_round_of_its_own_each_time_and_starts_the_ten_seconds_anew() {
    let mut bench = Bench::new();
    assert_eq!(bench.ack(&acked(1_000, 10)), STARTUP);
    bench.window.cwnd = 30.0;
    let slow = |ms: u64, total: u64| Acked { rtt: Some(Dur::from_ms(250)), ..acked(ms, total) };
    // No round starts with a sample of a segment that was sent before the round.
    let within = |ms: u64, total: u64| {
        let ack = slow(ms, total);
        Acked { rate: ack.rate.map(|sample| RateSample { prior_delivered: 0, ..sample }), ..ack }
    };
    let mut at = 11_001;
    let mut total = 20;
    for _ in 0..2 {
        assert_eq!(bench.ack(&slow(at, total)), PROBE_RTT, "at {at} ms");
        assert_eq!((bench.window.cwnd, bench.variable("min-rtt")), (4.0, 0.25));
        // The time of 200 ms is over, but not the round.
        assert_eq!(bench.ack(&within(at + 201, total + 1)), PROBE_RTT);
        assert_eq!(bench.ack(&Acked { rtt: None, ..slow(at + 300, total + 2) }), STARTUP);
        // The gain of the window is 2.885 again: the target, 2.885 · 20 + 6 segments, is above the window,
        // unlike 20 + 6.
        assert_eq!(bench.variable("pacing-gain"), 2.885);
        assert_eq!(bench.window.cwnd, 31.0);
        bench.window.cwnd = 30.0;
        assert_eq!(bench.ack(&Acked { rtt: Some(Dur::from_ms(251)), ..slow(at + 10_300, total + 3) }), STARTUP);
        bench.window.cwnd = 30.0;
        at += 10_301;
        total += 10;
    }
}

/// Section 4.2.3.6: in Startup the window grows below the target or until the initial window has been delivered.
#[test]
fn in_startup_bbr_s_window_grows_below_its_target_and_while_less_than_the_initial_window_is_delivered() {
    // The target: 2.885 bandwidth-delay products and three quanta of two segments, since the rate is 1.8 Mbit/s.
    let target = 2.885 * 80.0 * 0.125 + 3.0 * 2.0;
    for (cwnd, total, expected) in
        [(target - 0.5, 4, target + 0.5), (target, 4, target), (100.0, 4, 100.0), (100.0, 3, 101.0)]
    {
        let mut bench = Bench::new();
        bench.window.cwnd = cwnd;
        bench.ack(&acked(1_000, total));
        assert_eq!(bench.window.cwnd, expected, "{cwnd} segments, {total} delivered");
    }
}

/// Section 4.2.3.4: the first round of fast recovery conserves packets; afterwards the window is restored.
#[test]
fn bbr_conserves_packets_in_recovery_and_restores_its_window_when_the_loss_was_spurious() {
    let mut bench = Bench::new();
    bench.ack(&acked(1_000, 10));
    bench.window.cwnd = 20.0;
    let recovering = |in_flight: u32, delivered: u32, lost: u32| Acked {
        recovering: true,
        in_flight,
        delivered,
        lost,
        rate: None,
        ..acked(1_010, 11)
    };
    bench.ack(&recovering(10, 1, 0));
    assert_eq!(bench.window.cwnd, 11.0);
    // A loss leaves the window, which is at least the segments in flight and delivered.
    bench.ack(&recovering(9, 1, 1));
    assert_eq!(bench.window.cwnd, 10.0);
    bench.ack(&recovering(2, 1, 5));
    assert_eq!(bench.window.cwnd, 5.0);
    bench.control.on_spurious(&mut bench.window, Time::ZERO);
    assert_eq!(bench.window.cwnd, 20.0);
    // The next recovery is a new one.
    bench.ack(&recovering(5, 2, 0));
    assert_eq!(bench.window.cwnd, 7.0);
    let timeout = CongestionEvent::new(Congestion::Timeout, Time::ZERO + Dur::from_secs(2), 5);
    bench.control.on_congestion(&mut bench.window, &timeout);
    assert_eq!(bench.window.cwnd, 1.0);
    bench.control.on_spurious(&mut bench.window, Time::ZERO);
    assert_eq!(bench.window.cwnd, 20.0);
}

/// Section 4.3.4.4: after an idle time BBR paces at the bandwidth itself in ProbeBW, and does not enter ProbeRTT.
#[test]
fn after_an_idle_time_bbr_paces_at_the_bandwidth_and_skips_probe_rtt() {
    // Nothing has been delivered, one segment, in both cases before an idle time; the minimum expires in it.
    for (rate, mode) in [(None, PROBE_RTT), (acked(1_000, 1).rate, STARTUP)] {
        let mut bench = Bench::new();
        bench.ack(&Acked { rate, ..acked(1_000, 1) });
        let before = bench.rate();
        bench.idle(1_010);
        assert_eq!(bench.rate(), before, "Startup keeps its rate");
        assert_eq!(bench.ack(&Acked { rtt: Some(Dur::from_ms(150)), rate: None, ..acked(11_500, 1) }), mode);
    }
    let mut bench = Bench::new();
    let mut total = 0;
    while bench.variable("pacing-gain") != 0.75 {
        total += 10;
        assert!(total < 1_000, "no phase with a gain of 0.75");
        bench.ack(&at_rate(Acked { in_flight_before: 200, ..acked(1_000 + 13 * total, total) }, 10, Dur::from_ms(125)));
    }
    assert_eq!(bench.rate(), 0.75 * 80.0);
    bench.idle(20_000);
    assert_eq!(bench.rate(), 80.0);
}
