//! Congestion controls step by step, each window computed by hand from the paper or the RFC.

mod marking;

use tailback_random::Rng;
use tailback_transport::Line;
use tailback_transport::cc::reno::{Params as Reno, Reduction};
use tailback_transport::cc::subtcp::Params as SubTcp;
use tailback_transport::cc::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, RateSample, Sent, Setup, Timer, Window, bbr,
};
use tailback_units::{Dur, Fraction, Time};

/// Returns the time `ms` milliseconds after the start.
fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns a connection with segments of 1000 B, header included, an initial window of four segments and an initial
/// threshold `ssthresh`.
fn setup(ssthresh: Option<u32>) -> Setup {
    Setup {
        payload: 960,
        header: 40,
        initial_window: 4,
        initial_ssthresh: ssthresh,
        max_rto: Dur::from_secs(60),
        tick: None,
        pacing: false,
        selective: true,
        line: Line::default(),
    }
}

/// Returns an acknowledgement of `advanced` segments, 0 for a duplicate, to a sender that is limited by its window.
fn acked(now: Time, advanced: u32) -> Acked {
    Acked {
        now,
        delivered: advanced.max(1),
        advanced,
        rtt: None,
        srtt: Dur::from_ms(100),
        min_rtt: Dur::from_ms(100),
        in_flight_before: 4,
        in_flight: 3,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: 0,
        rate: None,
    }
}

/// Checks that `got` equals `expected` up to rounding.
#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} instead of {expected}");
}

/// Returns the window after an acknowledgement at window `cwnd` and threshold `ssthresh`.
fn after(control: &mut impl CongestionControl, cwnd: f64, ssthresh: f64, acked: &Acked) -> f64 {
    let mut window = Window { cwnd, ssthresh };
    control.on_ack(&mut window, acked);
    window.cwnd
}

#[test]
fn renos_window_grows_by_the_segments_acknowledged_up_to_the_limit_and_then_by_one_a_round_trip() {
    for (limit, avoidance) in [(1, 1.0), (2, 3.0), (1000, 3.0)] {
        let mut reno = Reno { byte_counting: limit, ..Reno::default() }.build(&setup(None), Rng::named(1, "reno"));
        near(after(&mut reno, 10.0, 20.0, &acked(at(1), 3)), 10.0 + f64::from(limit.min(3)));
        near(after(&mut reno, 20.0, 20.0, &acked(at(1), 3)), 20.0 + avoidance / 20.0);
        near(after(&mut reno, 10.0, 20.0, &acked(at(1), 0)), 10.0);
        near(after(&mut reno, 10.0, 20.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 10.0);
        // RFC 3465, section 2.3: one segment per acknowledgement in the slow start after a timeout.
        let mut window = Window { cwnd: 10.0, ssthresh: 20.0 };
        reno.on_congestion(&mut window, &CongestionEvent::new(Congestion::Timeout, at(2), 10));
        near(window.ssthresh, 5.0);
        near(after(&mut reno, 1.0, 5.0, &acked(at(3), 3)), 2.0);
        near(after(&mut reno, 4.0, 5.0, &acked(at(3), 3)), 5.0);
        near(after(&mut reno, 1.0, 5.0, &acked(at(3), 3)), 1.0 + f64::from(limit.min(3)));
    }
}

#[test]
fn reno_reduces_to_half_the_flight_at_a_loss_and_half_the_window_at_an_echo() {
    let setup = setup(None);
    let reduced = |params: &Reno, sign: Congestion, cwnd: f64, in_flight: u32| {
        let mut window = Window { cwnd, ssthresh: 99.0 };
        params
            .build(&setup, Rng::named(1, "reno"))
            .on_congestion(&mut window, &CongestionEvent::new(sign, at(1), in_flight));
        (window.cwnd, window.ssthresh)
    };
    let plain = Reno::default();
    assert_eq!(reduced(&plain, Congestion::Loss, 20.0, 11), (20.0, 5.5));
    assert_eq!(reduced(&plain, Congestion::Timeout, 20.0, 3), (20.0, 2.0));
    assert_eq!(reduced(&plain, Congestion::Ecn, 21.0, 11), (10.5, 10.5));
    assert_eq!(reduced(&plain, Congestion::Ecn, 3.0, 3), (1.5, 2.0));
    assert_eq!(reduced(&plain, Congestion::Ecn, 1.5, 1), (1.0, 2.0));
    // RFC 8511: its own factor at an echo.
    let abe = Reno { ecn_beta: Fraction(0.8), ..Reno::default() };
    assert_eq!(reduced(&abe, Congestion::Ecn, 20.0, 11), (16.0, 16.0));
    assert_eq!(reduced(&abe, Congestion::Loss, 20.0, 11), (20.0, 5.5));
    let beta = Reno { beta: Fraction(0.75), ..Reno::default() };
    assert_eq!(reduced(&beta, Congestion::Loss, 20.0, 8), (20.0, 6.0));
    assert_eq!(reduced(&beta, Congestion::Ecn, 20.0, 8), (10.0, 10.0));
    // ns-2: half the window, in whole segments for the threshold.
    let ns2 = Reno { reduction: Reduction::Window, ..Reno::default() };
    assert_eq!(reduced(&ns2, Congestion::Loss, 21.0, 3), (10.5, 10.0));
    assert_eq!(reduced(&ns2, Congestion::Timeout, 3.0, 3), (1.5, 2.0));
    assert_eq!(reduced(&ns2, Congestion::Ecn, 21.0, 3), (10.5, 10.0));
    assert_eq!(reduced(&ns2, Congestion::Loss, 1.0, 3), (1.0, 2.0));
}

#[test]
fn subtcp_grows_by_a_tenth_or_by_a_segment_a_round_trip_and_paces_below_one_segment_a_round_trip() {
    let build = |least_ssthresh, back_off| {
        SubTcp { least_ssthresh, back_off, ..SubTcp::default() }.build(&setup(None), Rng::named(1, "subtcp"))
    };
    let mut subtcp = build(1, BackOff::Interval);
    // With x = 10 % the growth is limited by x below ten segments, and is one segment per round trip, as in Reno,
    // above. Slow start is that of Reno with a byte counting limit of 1.
    near(after(&mut subtcp, 5.0, 5.0, &acked(at(1), 1)), 5.1);
    near(after(&mut subtcp, 20.0, 5.0, &acked(at(1), 1)), 20.05);
    near(after(&mut subtcp, 20.0, 5.0, &acked(at(1), 3)), 20.05);
    near(after(&mut subtcp, 2.0, 5.0, &acked(at(1), 3)), 3.0);
    near(after(&mut subtcp, 5.0, 5.0, &acked(at(1), 0)), 5.0);
    near(after(&mut subtcp, 5.0, 5.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 5.0);
    near(after(&mut subtcp, 2.0, 5.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 2.0);
    let echo = |subtcp: &mut _, cwnd| {
        let mut window = Window { cwnd, ssthresh: 9.0 };
        CongestionControl::on_congestion(subtcp, &mut window, &CongestionEvent::new(Congestion::Ecn, at(2), 1));
        (window.cwnd, window.ssthresh)
    };
    assert_eq!(echo(&mut subtcp, 5.0), (2.5, 2.5));
    assert_eq!(echo(&mut subtcp, 1.5), (1.0, 1.0));
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    // At one segment per round trip of 100 ms an echo doubles the time between segments, and another one again.
    assert_eq!(echo(&mut subtcp, 1.0), (1.0, 1.0));
    assert_eq!(subtcp.pacing().interval, Dur::from_ms(200));
    echo(&mut subtcp, 1.0);
    assert_eq!(subtcp.pacing().interval, Dur::from_ms(400));
    // Each acknowledgement divides the interval by 1 + x, until it is shorter than a round trip.
    let mut seen = 0.0;
    subtcp.probe(&mut |_, value| seen = value);
    near(seen, 0.4);
    let mut interval = 0.4;
    for _ in 0..14 {
        near(after(&mut subtcp, 1.0, 9.0, &acked(at(3), 1)), 1.0);
        interval /= 1.1;
        near(subtcp.pacing().interval.as_secs(), interval);
    }
    near(after(&mut subtcp, 1.0, 9.0, &acked(at(3), 1)), 1.0);
    assert!(interval / 1.1 < 0.1);
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    // Each expiry doubles the interval, from the timeout of 1 s up to the maximum RTO of 60 s.
    for seconds in [2, 4, 8, 16, 32, 60, 60] {
        subtcp.on_timer(&mut window, at(4), Timer::Retransmission(Dur::from_secs(1)));
        assert_eq!(subtcp.pacing().interval, Dur::from_secs(seconds));
    }
    // The control's own timer does not change the interval; with other back-offs the rate stays at one segment per round trip.
    let mut subtcp = build(1, BackOff::Interval);
    subtcp.on_timer(&mut window, at(4), Timer::Control);
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    let mut subtcp = build(2, BackOff::Rfc3168);
    assert_eq!(subtcp.profile().below_one, Some(BackOff::Rfc3168));
    after(&mut subtcp, 5.0, 5.0, &acked(at(1), 1));
    assert_eq!(echo(&mut subtcp, 1.0), (1.0, 2.0));
    subtcp.on_timer(&mut window, at(4), Timer::Retransmission(Dur::from_secs(1)));
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    for (sign, least) in [(Congestion::Loss, 1), (Congestion::Timeout, 2)] {
        let mut window = Window { cwnd: 9.0, ssthresh: 9.0 };
        build(least, BackOff::Interval).on_congestion(&mut window, &CongestionEvent::new(sign, at(2), 1));
        assert_eq!((window.cwnd, window.ssthresh), (9.0, f64::from(least)));
        build(least, BackOff::Interval).on_congestion(&mut window, &CongestionEvent::new(sign, at(2), 7));
        assert_eq!((window.cwnd, window.ssthresh), (9.0, 3.5));
    }
}

/// A document cannot contain a fraction above 1, but parameters that a program sets can.
#[test]
fn fractions_above_one_are_refused_and_one_itself_is_not() {
    use tailback_transport::cc::{dcqcn, dctcp};
    for (value, fits) in [(0.0, false), (1e-9, true), (0.5, true), (1.0, true), (1.0 + 1e-9, false), (1.9, false)] {
        let fraction = Fraction(value);
        assert_eq!(SubTcp { x: fraction, ..SubTcp::default() }.check().is_ok(), fits, "x {value}");
        assert_eq!(dctcp::Params { g: fraction, ..Default::default() }.check().is_ok(), fits, "g {value}");
        assert_eq!(dcqcn::Params { g: fraction, ..Default::default() }.check().is_ok(), fits, "g {value}");
        // An initial estimate of 0 is valid, too.
        let initial = dctcp::Params { initial_alpha: fraction, ..Default::default() };
        assert_eq!(initial.check().is_ok(), fits || value == 0.0, "initial-alpha {value}");
    }
}

/// Returns variable `name` of a control; NaN if there is none of this name.
fn variable(control: &impl CongestionControl, name: &str) -> f64 {
    let mut found = f64::NAN;
    control.probe(&mut |n, value| {
        if n == name {
            found = value;
        }
    });
    found
}

#[test]
fn swift_at_one_segment_grows_only_if_the_window_limits_it() {
    let one = Setup { initial_window: 1, ..setup(None) };
    for (limited, grown) in [(false, 1.0), (true, 2.0)] {
        let mut swift = tailback_transport::cc::swift::Params::default().build(&one, Rng::named(1, "swift"));
        let rtt = Some(Dur::from_us(1));
        after(&mut swift, 1.0, 9.0, &Acked { window_limited: limited, rtt, ..acked(at(1), 1) });
        near(variable(&swift, "fraction"), grown);
    }
}

#[test]
fn the_byte_counter_of_dcqcn_restarts_at_a_reduction() {
    // A segment of 960 B does not reach 961 B, a second one does.
    let params =
        tailback_transport::cc::dcqcn::Params { increase_bytes: tailback_units::Size(961), ..Default::default() };
    let mut dcqcn = params.build(&setup(None), Rng::named(1, "dcqcn"));
    let line = variable(&dcqcn, "rate");
    after(&mut dcqcn, 1.0, 9.0, &Acked { ece: true, ..acked(at(1), 1) });
    near(variable(&dcqcn, "rate"), line / 2.0);
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    let sent = Sent { now: at(1), in_flight: 1, ..Sent::default() };
    dcqcn.on_sent(&mut window, &sent);
    near(variable(&dcqcn, "rate"), line / 2.0);
    dcqcn.on_sent(&mut window, &sent);
    near(variable(&dcqcn, "rate"), 0.75 * line);
}

/// RFC 9406, section 4.3: HyStart++ applies to the first slow start only, which ends when the window reaches the
/// threshold; from there on the window grows by one segment per round trip.
#[test]
fn hystart_ends_when_the_window_reaches_the_threshold() {
    let mut reno =
        Reno { hystart: true, byte_counting: 1, ..Reno::default() }.build(&setup(None), Rng::named(1, "reno"));
    // HyStart++ counts up to eight segments per acknowledgement; standard slow start with `byte_counting` of 1 counts
    // one.
    near(after(&mut reno, 10.0, 20.0, &acked(at(1), 3)), 13.0);
    near(after(&mut reno, 20.0, 20.0, &acked(at(2), 3)), 20.05);
    near(after(&mut reno, 10.0, 20.0, &acked(at(3), 3)), 11.0);
}

/// Returns BBR in ProbeBW in the first phase with pacing gain `gain`, its window and the last acknowledgement. The path
/// has 150 segments of 1000 B per second and a round-trip time of 500 ms, a bandwidth-delay product of 75 segments.
fn bbr_with_gain(gain: f64) -> (bbr::Bbr, Window, Acked) {
    let setup = Setup { payload: 1000, ..setup(None) };
    let mut control = bbr::Params::default().build(&setup, Rng::named(1, "bbr"));
    let mut window = Window { cwnd: 75.0, ssthresh: f64::INFINITY };
    let rtt = Dur::from_ms(500);
    let mut delivered = 0;
    for round in 1..100 {
        // One acknowledgement of 75 segments a round, which empties the pipe, so that Drain ends.
        let sample = RateSample {
            delivered: 75,
            interval: rtt,
            prior_delivered: delivered,
            total_delivered: delivered + 75,
            sent_in_flight: 75,
            lost: 0,
            app_limited: false,
        };
        delivered += 75;
        let ack = Acked { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, rate: Some(sample), ..acked(at(501 * round), 75) };
        let last = Acked { in_flight_before: 200, in_flight: 10, ..ack };
        control.on_ack(&mut window, &last);
        if variable(&control, "mode") == 2.0 && variable(&control, "pacing-gain") == gain {
            return (control, window, last);
        }
    }
    panic!("no phase of gain {gain}");
}

/// Section 4.3.4.3 of the draft: a phase of gain 0.75 ends when at most BBRInflight(1.0) segments are in flight, even
/// if a round-trip time has not passed. At 0.75 · 150 segments per second, 0.9 Mbit/s, the send quantum is one segment.
#[test]
fn bbr_drains_down_to_the_bandwidth_delay_product_and_three_quanta() {
    for (in_flight_before, gain) in [(79, 0.75), (78, 1.0)] {
        let (mut control, mut window, last) = bbr_with_gain(0.75);
        control.on_ack(&mut window, &Acked { now: last.now + Dur::from_ms(100), in_flight_before, ..last });
        assert_eq!(variable(&control, "pacing-gain"), gain, "{in_flight_before} segments in flight");
    }
}

/// Section 4.2.2 of the draft: the send quantum is one segment below 1.2 Mbit/s, and two segments at 1.2 Mbit/s.
#[test]
fn bbr_has_a_send_quantum_of_two_segments_from_1_2_mbit_s_on() {
    let (mut control, mut window, last) = bbr_with_gain(1.0);
    assert_eq!(control.pacing().rate, Some(150.0));
    // The window is filled up to twice the bandwidth-delay product and three quanta.
    let ack = Acked { now: last.now + Dur::from_ms(100), delivered: 1000, ..last };
    control.on_ack(&mut window, &ack);
    assert_eq!(window.cwnd, 2.0 * 75.0 + 3.0 * 2.0);
}

/// An acknowledgement with a delivery-rate sample of `rate` segments in an interval, which begins a round: the newest segment
/// was sent when one fewer than `total` segments had been delivered.
fn sampled(now: Time, rtt: Dur, total: u64, rate: (u32, Dur)) -> Acked {
    let sample = RateSample {
        delivered: rate.0,
        interval: rate.1,
        prior_delivered: total - 1,
        total_delivered: total,
        sent_in_flight: 4,
        lost: 0,
        app_limited: false,
    };
    Acked { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, rate: Some(sample), ..acked(now, 100) }
}

/// Both drafts: ProbeRTT ends after a round trip and once the time is past 200 ms, not at 200 ms. `window`: the time without
/// a smaller round-trip time after which it begins; `mode`: number of ProbeRTT.
fn assert_probe_rtt_ends_after_200_ms(mut control: impl CongestionControl, window_s: u64, mode: f64) {
    let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
    let rate = (10, Dur::from_ms(125));
    let mut ack = |total: u64, now: Time, rtt: u64| {
        control.on_ack(&mut window, &sampled(now, Dur::from_ms(rtt), total, rate));
        variable(&control, "mode")
    };
    let begin = at(1_000) + Dur::from_secs(window_s);
    assert_ne!(ack(1, at(1_000), 100), mode);
    assert_ne!(ack(2, begin, 150), mode, "the minimum has not expired at the end of its window");
    let begin = begin + Dur(1);
    let end = begin + Dur::from_ms(200);
    assert_eq!(ack(3, begin, 150), mode);
    assert_eq!(ack(4, begin + Dur::from_ms(150), 150), mode);
    assert_eq!(ack(5, end, 150), mode);
    assert_ne!(ack(6, end + Dur(1), 150), mode);
}

#[test]
fn probe_rtt_of_bbr_begins_after_10_s_and_that_of_version_3_after_5_s_and_ends_after_200_ms() {
    let rng = || Rng::named(1, "cc");
    assert_probe_rtt_ends_after_200_ms(bbr::Params::default().build(&setup(None), rng()), 10, 3.0);
    let version_3 = tailback_transport::cc::bbr3::Params {}.build(&setup(None), rng());
    assert_probe_rtt_ends_after_200_ms(version_3, 5, 6.0);
}

/// draft-cardwell-iccrg-bbr-congestion-control-00, sections 4.2.2 and 4.2.3.2: below 1.2 Mbit/s a quantum is one segment, from
/// there to below 24 Mbit/s two, and then what is sent in 1 ms, at most 64 KiB. The target is twice the bandwidth-delay product
/// and three quanta.
#[test]
fn the_window_of_bbr_is_twice_the_bandwidth_delay_product_and_three_quanta() {
    // Segments of 960 B: 156.25 of them per second are 1.2 Mbit/s, and 3125 are 24 Mbit/s.
    for (delivered, interval, quantum) in [
        (624, 4, 1.0),
        (625, 4, 2.0),
        (3_124, 1, 2.0),
        (3_125, 1, 3.125),
        (50_000, 1, 50.0),
        (100_000, 1, 65_536.0 / 960.0),
    ] {
        let mut control = bbr::Params::default().build(&setup(None), Rng::named(1, "cc"));
        let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        // A round-trip time of 1/8 s, and a round that lasts longer, so that the gain changes with each acknowledgement.
        let rtt = Dur::from_ms(125);
        let mut seen = 0;
        for i in 1..40 {
            let acked = sampled(at(200 * i), rtt, i, (delivered, Dur::from_secs(interval)));
            control.on_ack(&mut window, &Acked { delivered: 100_000, ..acked });
            if variable(&control, "mode") == 2.0 && variable(&control, "pacing-gain") == 1.0 {
                near(window.cwnd, 2.0 * f64::from(delivered) / interval as f64 / 8.0 + 3.0 * quantum);
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }
}

#[test]
fn the_byte_counter_of_dcqcn_begins_anew_at_each_increase() {
    // Two segments of 960 B do not fill 1921 B, a third one does, and so again.
    let params =
        tailback_transport::cc::dcqcn::Params { increase_bytes: tailback_units::Size(1_921), ..Default::default() };
    let mut dcqcn = params.build(&setup(None), Rng::named(1, "dcqcn"));
    let line = variable(&dcqcn, "rate");
    after(&mut dcqcn, 1.0, 9.0, &Acked { ece: true, ..acked(at(1), 1) });
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    let sent = Sent { now: at(1), in_flight: 1, ..Sent::default() };
    for share in [0.5, 0.5, 0.75, 0.75, 0.75, 0.875] {
        dcqcn.on_sent(&mut window, &sent);
        near(variable(&dcqcn, "rate"), share * line);
    }
}

/// draft-ietf-ccwg-bbr-05 section 5.3.1.3: Startup ends if a round of recovery has six losses of more than 2 %.
#[test]
fn startup_of_version_3_ends_with_the_sixth_acknowledgement_of_loss_in_a_round() {
    for (losses, mode) in [(5, 0.0), (6, 1.0)] {
        let mut control = tailback_transport::cc::bbr3::Params {}.build(&setup(None), Rng::named(1, "cc"));
        let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        let mut ack = |total: u64, prior_delivered: u64, lost: u32| {
            let first = sampled(at(1_000 + total), Dur::from_ms(100), total, (10, Dur::from_ms(125)));
            let rate = first.rate.map(|sample| RateSample { prior_delivered, lost: 1, ..sample });
            control.on_ack(&mut window, &Acked { rate, lost, recovering: true, in_flight: 100, ..first });
            variable(&control, "mode")
        };
        for i in 1..=losses {
            assert_eq!(ack(i, 0, 1), 0.0);
        }
        assert_eq!(ack(losses + 1, losses, 0), mode, "{losses} acknowledgements of loss");
    }
}
