//! CUBIC, DCTCP, DCQCN, TIMELY, HPCC, Swift, SubTCP and Reno step by step: values computed by hand from the papers and
//! RFCs where quantities equal their thresholds, at floors, and after events that the other tests do not combine.

use tailback_random::Rng;
use tailback_transport::cc::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Sent, Setup, Timer, Window, cubic,
    dcqcn, dctcp, fixed, hpcc, reno, subtcp, swift, timely,
};
use tailback_transport::{Hop, Line};
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Rate of the host's link, bit/s.
const LINE: f64 = 1e10;

fn at_us(us: u64) -> Time {
    Time::ZERO + Dur::from_us(us)
}
fn rng() -> Rng {
    Rng::named(1, "cc")
}

/// Returns a connection with segments of 1000 B of payload on a link of 10 Gbit/s, which sends one in 1 us, and a path of
/// two links with a round-trip time of 10 us.
fn setup() -> Setup {
    Setup {
        payload: 1000,
        header: 250,
        initial_window: 10,
        initial_ssthresh: None,
        max_rto: Dur::from_secs(60),
        tick: None,
        pacing: false,
        selective: true,
        line: Line { rate: Rate::mbit(10_000), wire: 1250, hops: 2, base_rtt: Dur::from_us(10) },
    }
}

/// Returns an acknowledgement of `advanced` segments, 0 for a duplicate, with a round-trip time of `rtt_us`
/// microseconds, to a sender that is limited by its window.
fn acked(now: Time, advanced: u32, rtt_us: u64) -> Acked {
    let rtt = Dur::from_us(rtt_us);
    Acked {
        now,
        delivered: advanced.max(1),
        advanced,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight_before: 10,
        in_flight: 9,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: 0,
        rate: None,
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

/// Returns the window after an acknowledgement at window `cwnd` and threshold `ssthresh`.
fn after(control: &mut impl CongestionControl, cwnd: f64, ssthresh: f64, acked: &Acked) -> f64 {
    let mut window = Window { cwnd, ssthresh };
    control.on_ack(&mut window, acked);
    window.cwnd
}

/// Returns window and threshold after a sign of congestion at window `cwnd` with `in_flight` segments outstanding.
fn reduced(control: &mut impl CongestionControl, sign: Congestion, cwnd: f64, in_flight: u32) -> (f64, f64) {
    let mut window = Window { cwnd, ssthresh: 99.0 };
    control.on_congestion(&mut window, &CongestionEvent::new(sign, at_us(0), in_flight));
    (window.cwnd, window.ssthresh)
}

#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} instead of {expected}");
}

fn without_hystart() -> cubic::Params {
    cubic::Params { hystart: false, ..Default::default() }
}

/// RFC 9438 sections 4.6 to 4.8: the threshold is at least two segments, and the window after an echo at least one. A
/// window equal to the plateau is not below it, so that fast convergence does not lower the plateau.
#[test]
fn cubic_reduces_to_at_least_two_segments_and_lowers_its_plateau_only_below_it() {
    let mut control = without_hystart().build(&setup(), rng());
    assert_eq!(["w-max", "w-est", "k"].map(|name| variable(&control, name)), [0.0; 3]);
    assert_eq!(reduced(&mut control, Congestion::Loss, 100.0, 100), (100.0, 70.0));
    assert_eq!(variable(&control, "w-max"), 100.0);
    assert_eq!(reduced(&mut control, Congestion::Loss, 100.0, 2), (100.0, 2.0));
    assert_eq!(variable(&control, "w-max"), 100.0);
    assert_eq!(reduced(&mut control, Congestion::Loss, 80.0, 80), (80.0, 56.0));
    assert_eq!(variable(&control, "w-max"), 80.0 * (1.0 + 0.7) / 2.0);
    assert_eq!(reduced(&mut control, Congestion::Ecn, 2.0, 2), (1.4, 2.0));
    assert_eq!(reduced(&mut control, Congestion::Ecn, 1.2, 1), (1.0, 2.0));
    assert_eq!(reduced(&mut control, Congestion::Timeout, 9.0, 2), (9.0, 2.0));
    assert_eq!(reduced(&mut control, Congestion::Timeout, 9.0, 10), (9.0, 7.0));
}

/// RFC 9438 section 4.9: the state before a spurious timeout is restored; of several in a row, that before the first.
#[test]
fn cubic_restores_the_plateau_before_the_first_of_several_timeouts() {
    for timeouts in [1, 2] {
        let mut control = without_hystart().build(&setup(), rng());
        reduced(&mut control, Congestion::Loss, 100.0, 100);
        for cwnd in [50.0, 1.0].into_iter().take(timeouts) {
            reduced(&mut control, Congestion::Timeout, cwnd, 10);
        }
        assert!(variable(&control, "w-max") < 50.0);
        control.on_spurious(&mut Window { cwnd: 50.0, ssthresh: 50.0 }, Time::ZERO);
        assert_eq!(variable(&control, "w-max"), 100.0, "{timeouts} timeouts");
    }
}

/// A slow start after an idle time ends the stage: the next one starts at the current window, and its plateau is still the
/// last one, K = ∛((W_max − cwnd)/C) seconds later (RFC 9438 figure 2).
#[test]
fn after_a_slow_start_cubic_starts_a_new_stage_towards_the_same_plateau() {
    let mut control = without_hystart().build(&setup(), rng());
    after(&mut control, 100.0, 100.0, &acked(at_us(1), 1, 100));
    assert_eq!((variable(&control, "k"), variable(&control, "w-max")), (0.0, 100.0));
    after(&mut control, 50.0, 60.0, &acked(at_us(2), 1, 100));
    after(&mut control, 60.0, 60.0, &acked(at_us(3), 1, 100));
    // The cube of K is 40/0.4.
    near(variable(&control, "k"), 4.641_588_833_612_778);
    // Below the window at which slow start ended, W_est grows by 3 (1 − 0.7)/(1 + 0.7) segments per round trip (section
    // 4.3).
    near(variable(&control, "w-est"), 60.0 + 0.9 / 1.7 / 60.0);
    assert_eq!(variable(&control, "w-max"), 100.0);
}

/// RFC 9438 section 4.3: the window is W_est only if W_cubic is below it. With C = 0.9 and a plateau at 2 segments both are
/// 2.9 after 1 s: W_est is 2 + 1/2 + 1/2.5. The target of section 4.2, 1.5 · 2.5, adds half a segment.
#[test]
fn cubic_is_above_the_reno_friendly_region_if_both_estimates_are_equal() {
    let mut control = cubic::Params { c: 0.9, ..without_hystart() }.build(&setup(), rng());
    let second = 1_000_000;
    assert_eq!(after(&mut control, 2.0, 2.0, &acked(at_us(second), 1, second)), 2.5);
    assert_eq!(after(&mut control, 2.5, 2.0, &acked(at_us(2 * second), 1, second)), 3.0);
    assert_eq!(variable(&control, "w-est"), 2.9);
}

/// RFC 9438 section 4.2: the time during which the window does not limit the sender does not count. It is the time since
/// the last acknowledgement or, after an idle time, since the transmission that ended it.
#[test]
fn cubic_s_curve_is_shifted_by_the_time_without_a_limit_by_the_window() {
    let second = 1_000_000;
    let begun = || {
        let mut control = without_hystart().build(&setup(), rng());
        reduced(&mut control, Congestion::Loss, 100.0, 100);
        let mut cwnd = 70.0;
        for seconds in [10, 11] {
            cwnd = after(&mut control, cwnd, 70.0, &acked(at_us(seconds * second), 1, second));
        }
        (control, cwnd)
    };
    let limited = |seconds: u64| Acked { window_limited: false, ..acked(at_us(seconds * second), 1, second) };
    // W_cubic(2 s + 1 s) = 0.4 (3 − ∛75)³ + 100 is the target 2 s after the start.
    let (mut control, cwnd) = begun();
    let expected = after(&mut control, cwnd, 70.0, &acked(at_us(12 * second), 1, second));
    let before_plateau = 4.217_163_326_508_746 - 3.0;
    let target = 100.0 - 0.4 * before_plateau * before_plateau * before_plateau;
    near(expected, cwnd + (target - cwnd) / cwnd);
    // From 11 s to 15 s the application limits the sender.
    let (mut control, cwnd) = begun();
    after(&mut control, cwnd, 70.0, &limited(15));
    assert_eq!(after(&mut control, cwnd, 70.0, &acked(at_us(16 * second), 1, second)), expected);
    // The sender is idle from 11 s to 15 s, and limited by the application from then to 16 s.
    let (mut control, cwnd) = begun();
    let mut window = Window { cwnd, ssthresh: 70.0 };
    control.on_sent(&mut window, &Sent { now: at_us(15 * second), idle: true, in_flight: 1, ..Sent::default() });
    after(&mut control, cwnd, 70.0, &limited(16));
    assert_eq!(after(&mut control, cwnd, 70.0, &acked(at_us(17 * second), 1, second)), expected);
}

/// RFC 9406 section 4.3: HyStart++, which counts up to eight segments per acknowledgement, ends at the first congestion. A
/// duplicate acknowledgement is none.
#[test]
fn hystart_of_cubic_and_reno_ends_at_the_first_congestion() {
    fn grows_by(control: &mut impl CongestionControl, expected: f64) {
        let grown = after(control, 10.0, 50.0, &acked(at_us(1), 20, 100));
        assert_eq!(grown, 10.0 + expected);
    }
    let mut control = cubic::Params::default().build(&setup(), rng());
    grows_by(&mut control, 8.0);
    assert_eq!(after(&mut control, 10.0, 50.0, &acked(at_us(1), 0, 100)), 10.0);
    grows_by(&mut control, 8.0);
    reduced(&mut control, Congestion::Ecn, 10.0, 10);
    grows_by(&mut control, 2.0);
    let mut control = reno::Params { hystart: true, ..Default::default() }.build(&setup(), rng());
    grows_by(&mut control, 8.0);
    assert_eq!(after(&mut control, 10.0, 50.0, &acked(at_us(1), 1, 100)), 11.0);
    assert_eq!(after(&mut control, 10.0, 50.0, &acked(at_us(1), 0, 100)), 10.0);
    grows_by(&mut control, 8.0);
    reduced(&mut control, Congestion::Ecn, 10.0, 10);
    grows_by(&mut control, 2.0);
}

/// RFC 9406 section 4.2: eight samples in a round end standard slow start if the round-trip time has risen, here from 80
/// to 100 ms. Duplicate acknowledgements are no samples.
#[test]
fn duplicates_are_no_samples_for_hystart_of_reno() {
    let mut control = reno::Params { hystart: true, ..Default::default() }.build(&setup(), rng());
    let mut ack = |advanced: u32, ms: u64, round: bool| {
        let acked = Acked { round, ..acked(at_us(1), advanced, 1_000 * ms) };
        after(&mut control, 10.0, 50.0, &acked) - 10.0
    };
    (0..8).for_each(|n| assert_eq!(ack(1, 80, n == 0), 1.0));
    assert_eq!(ack(1, 100, true), 1.0);
    (0..7).for_each(|_| assert_eq!(ack(0, 100, false), 0.0));
    (0..7).for_each(|_| assert_eq!(ack(1, 100, false), 1.0));
    // Conservative slow start grows by a quarter.
    assert_eq!(ack(1, 100, false), 0.25);
}

/// RFC 8257 sections 3.3 to 3.5: growth and the response to loss are those of Reno.
#[test]
fn dctcp_grows_and_responds_to_loss_like_reno() {
    let mut control = dctcp::Params::default().build(&setup(), rng());
    assert_eq!(after(&mut control, 10.0, 20.0, &acked(at_us(1), 3, 100)), 12.0);
    assert_eq!(after(&mut control, 20.0, 20.0, &acked(at_us(1), 4, 100)), 20.2);
    assert_eq!(after(&mut control, 20.0, 20.0, &acked(at_us(1), 1, 100)), 20.05);
    assert_eq!(after(&mut control, 10.0, 20.0, &acked(at_us(1), 0, 100)), 10.0);
    let limited = Acked { window_limited: false, ..acked(at_us(1), 1, 100) };
    assert_eq!(after(&mut control, 10.0, 20.0, &limited), 10.0);
    assert_eq!(reduced(&mut control, Congestion::Loss, 20.0, 11), (20.0, 5.5));
    assert_eq!(reduced(&mut control, Congestion::Loss, 20.0, 3), (20.0, 2.0));
    assert_eq!(after(&mut control, 1.0, 20.0, &acked(at_us(1), 2, 100)), 3.0);
    assert_eq!(reduced(&mut control, Congestion::Timeout, 20.0, 11), (20.0, 5.5));
    assert_eq!(after(&mut control, 1.0, 20.0, &acked(at_us(1), 2, 100)), 2.0);
    for (least_window, below_one) in [(1, None), (2, Some(BackOff::None))] {
        let control = dctcp::Params { least_window, ..Default::default() }.build(&setup(), rng());
        assert_eq!(control.profile().below_one, below_one);
    }
}

/// Equations 1 to 4 of the paper of 2015, with g = 1/2.
#[test]
fn dcqcn_averages_alpha_and_restarts_its_steps_at_each_notification() {
    let params = dcqcn::Params { g: Fraction(0.5), recovery_steps: 1, ..Default::default() };
    assert_eq!(params.initial_window(&setup()), 1e9);
    let mut control = params.build(&setup(), rng());
    let mut window = Window { cwnd: 1.0, ssthresh: 1.0 };
    let notify = |control: &mut dcqcn::Dcqcn, us: u64| {
        let mut window = Window { cwnd: 1.0, ssthresh: 1.0 };
        control.on_ack(&mut window, &Acked { ece: true, ..acked(at_us(us), 1, 10) });
        window.cwnd
    };
    // The window does not limit the sender.
    assert_eq!(notify(&mut control, 0), 1e9);
    assert_eq!([variable(&control, "rate"), variable(&control, "alpha")], [LINE / 2.0, 1.0]);
    // After 55 us alpha decays by half and the timer raises the rate halfway to the target, before the second
    // notification reduces the rate by alpha/2 and averages alpha with 1.
    notify(&mut control, 60);
    assert_eq!([variable(&control, "rate"), variable(&control, "alpha")], [0.75 * LINE * 0.75, 0.75]);
    assert_eq!(variable(&control, "target"), 0.75 * LINE);
    // Two steps of the timer: fast recovery, and additive increase by 40 Mbit/s.
    control.on_timer(&mut window, at_us(60 + 110), Timer::Control);
    assert_eq!(variable(&control, "target"), 0.75 * LINE + 40e6);
    // The steps are counted from the last notification.
    notify(&mut control, 171);
    let target = variable(&control, "target");
    control.on_timer(&mut window, at_us(171 + 55), Timer::Control);
    assert_eq!(variable(&control, "target"), target);
}

/// Figure 7 of the paper: hyper increase needs more than F steps of both timer and byte counter. With F of each, the step
/// is additive.
#[test]
fn dcqcn_adds_an_additive_step_while_one_counter_has_made_f_steps() {
    let params = dcqcn::Params { recovery_steps: 1, increase_bytes: Size(1000), ..Default::default() };
    let mut control = params.build(&setup(), rng());
    let mut window = Window { cwnd: 1.0, ssthresh: 1.0 };
    for us in [0, 1] {
        control.on_ack(&mut window, &Acked { ece: true, ..acked(at_us(us), 1, 10) });
    }
    control.on_timer(&mut window, at_us(1 + 110), Timer::Control);
    let target = LINE / 2.0 + 40e6;
    assert_eq!(variable(&control, "target"), target);
    control.on_sent(&mut window, &Sent { now: at_us(112), in_flight: 1, ..Sent::default() });
    assert_eq!(variable(&control, "target"), target + 40e6);
}

/// The target never exceeds the rate of the link, and at that rate the timer for increases is stopped.
#[test]
fn dcqcn_stops_its_timers_at_the_rate_of_the_line() {
    let line = Line { rate: Rate(20_000), ..setup().line };
    let params = dcqcn::Params {
        g: Fraction(1.0),
        recovery_steps: 1,
        least: Rate(19_997),
        additive: Rate(1),
        ..Default::default()
    };
    let mut control = params.build(&Setup { line, ..setup() }, rng());
    assert_eq!(control.pacing().changes_at, Time::NEVER);
    let mut window = Window { cwnd: 1.0, ssthresh: 1.0 };
    for us in [0, 0] {
        control.on_ack(&mut window, &Acked { ece: true, ..acked(at_us(us), 1, 10) });
    }
    assert_eq!(control.pacing().changes_at, at_us(55));
    let mut rates = Vec::new();
    for step in 1..=3 {
        control.on_timer(&mut window, at_us(55 * step), Timer::Control);
        rates.push((variable(&control, "rate"), variable(&control, "target")));
    }
    // Above 0.9999 of 20,000 bit/s, 19,998 bit/s, both are set to the rate of the link.
    assert_eq!(rates, [(19_997.0, 19_997.0), (19_997.5, 19_998.0), (20_000.0, 20_000.0)]);
    assert_eq!(control.pacing().changes_at, Time::NEVER);
    // One reduction: in the second step the target would exceed the link's rate.
    let params = dcqcn::Params { recovery_steps: 1, ..Default::default() };
    let mut control = params.build(&setup(), rng());
    control.on_ack(&mut window, &Acked { ece: true, ..acked(at_us(0), 1, 10) });
    control.on_timer(&mut window, at_us(110), Timer::Control);
    assert_eq!(variable(&control, "target"), LINE);
}

/// Algorithm 1 of the paper of 2015 at its thresholds: a round-trip time equal to T_low or T_high is between them. A
/// gradient of 0 does not rise; one above 1 counts as 1.
#[test]
fn timely_follows_the_gradient_at_its_thresholds() {
    let begun = |rtt: u64| {
        let params = timely::Params { chunk: Size(1000), start: Fraction(0.5), ..Default::default() };
        assert_eq!(params.initial_window(&setup()), 1e9);
        let mut control = params.build(&setup(), rng());
        assert_eq!(variable(&control, "rate"), LINE / 2.0);
        // The window does not limit the sender.
        assert_eq!(after(&mut control, 1.0, 1.0, &acked(at_us(0), 1, rtt)), 1e9);
        control
    };
    for (before, rtt, expected) in [
        // A rise by 10 us: the average difference is 8.75 us, 0.4375 of the minimum of 20 us.
        (40, 50, LINE / 2.0 * (1.0 - 0.8 * 0.4375)),
        (490, 500, LINE / 2.0 * (1.0 - 0.8 * 0.4375)),
        (100, 200, LINE / 2.0 * (1.0 - 0.8)),
        (40, 49, LINE / 2.0 + 10e6),
    ] {
        let mut control = begun(before);
        after(&mut control, 1.0, 1.0, &acked(at_us(1), 1, rtt));
        near(variable(&control, "rate"), expected);
    }
    // The fifth consecutive event without a rise multiplies the step by five.
    let mut control = begun(100);
    for steps in [1.0, 2.0, 3.0, 4.0, 9.0, 14.0] {
        after(&mut control, 1.0, 1.0, &acked(at_us(1), 1, 100));
        near(variable(&control, "rate"), LINE / 2.0 + steps * 10e6);
    }
}

/// The rate is at most that of the link and at least `least`; a completion event needs a whole chunk.
#[test]
fn timely_keeps_its_rate_within_bounds_and_counts_whole_chunks() {
    let mut control = timely::Params { chunk: Size(1001), ..Default::default() }.build(&setup(), rng());
    for (n, rtt, expected) in [
        // The second segment completes the first chunk, which gives no difference, and the fourth the second.
        (1, 500, LINE),
        (2, 100, LINE),
        (3, 500, LINE),
        (4, 101, LINE * (1.0 - 0.8 * 0.875 / 20.0)),
        (5, 500, LINE * (1.0 - 0.8 * 0.875 / 20.0)),
    ] {
        after(&mut control, 1.0, 1.0, &acked(at_us(n), 1, rtt));
        near(variable(&control, "rate"), expected);
    }
    let mut control = timely::Params { chunk: Size(1000), ..Default::default() }.build(&setup(), rng());
    for rtt in [40, 40] {
        after(&mut control, 1.0, 1.0, &acked(at_us(1), 1, rtt));
    }
    assert_eq!(variable(&control, "rate"), LINE);
    for rtt in 1..50 {
        after(&mut control, 1.0, 1.0, &acked(at_us(1), 1, 100 * rtt));
    }
    assert_eq!(variable(&control, "rate"), 10e6);
}

fn hop(port: u32, at: u64, busy: u64, queue: u32) -> Hop {
    Hop { port, queue, at: at_us(at), busy: Dur::from_us(busy), rate: Rate::mbit(10_000) }
}

/// Returns the number of segments of HPCC's reference window after the telemetry `hops` and an acknowledgement that ends a
/// round trip.
fn hpcc_after(control: &mut hpcc::Hpcc, hops: &[Hop]) -> f64 {
    let mut window = Window { cwnd: 10.0, ssthresh: 1.0 };
    control.on_feedback(&mut window, &Feedback { advanced: 1, ece: false, una: 1, next: 10, hops: Some(hops) });
    control.on_ack(&mut window, &Acked { round: true, ..acked(at_us(0), 1, 10) });
    variable(control, "reference")
}

/// Algorithm 1 of the paper of 2019. The bandwidth-delay product is 10 segments; W_AI is 0.05 segments, 50 Mbit/s for 10
/// us. With `stages` of 1 there is one round of additive increase between two adjustments.
#[test]
fn hpcc_adjusts_multiplicatively_at_its_target_and_starts_its_stages_anew() {
    let params = hpcc::Params { target: 0.5, stages: 1, ..Default::default() };
    let mut control = params.build(&setup(), rng());
    // Each sample covers a round trip, so that the utilisation U is that of the sample.
    let steps = [
        (0, 0, 10.0),
        // U = 1: W = 10/(1/0.5) + 0.05.
        (10, 10, 5.05),
        // U = 0.5, equal to the target: the window is adjusted by the factor 1, and the stage stays 0.
        (20, 15, 5.1),
        // U = 0.25: additive increase.
        (30, 17, 5.15),
        // U = 0.5 again, after the one round of additive increase.
        (40, 22, 5.2),
    ];
    for (at, busy, expected) in steps {
        near(hpcc_after(&mut control, &[hop(1, at, busy, 0)]), expected);
    }
    assert_eq!(variable(&control, "utilisation"), 0.5);
    // The window is at most the bandwidth-delay product.
    let mut control = hpcc::Params::default().build(&setup(), rng());
    for at in [0, 10, 20] {
        assert_eq!(hpcc_after(&mut control, &[hop(1, at, 0, 0)]), 10.0);
    }
    assert_eq!(variable(&control, "utilisation"), 0.0);
}

/// MeasureInflight: of two links with equal load the first counts, whose sample has its own weight. Telemetry of the same
/// instant, or of another path, gives no sample, also if an earlier one has not been used yet.
#[test]
fn hpcc_measures_the_first_of_equally_busy_links_and_only_links_whose_clock_has_advanced() {
    let mut control = hpcc::Params::default().build(&setup(), rng());
    hpcc_after(&mut control, &[hop(1, 0, 0, 0), hop(2, 0, 0, 0)]);
    // Both are idle, for 5 us, half a round trip, and 10 us.
    hpcc_after(&mut control, &[hop(1, 5, 0, 0), hop(2, 10, 0, 0)]);
    assert_eq!(variable(&control, "utilisation"), 0.5);
    for second in [[hop(1, 5, 0, 0), hop(2, 20, 0, 0)], [hop(1, 15, 0, 0), hop(3, 20, 0, 0)]] {
        let mut control = hpcc::Params::default().build(&setup(), rng());
        let (mut window, full) = (Window { cwnd: 10.0, ssthresh: 1.0 }, 1_000_000);
        let mut utilisations = Vec::new();
        for hops in [[hop(1, 0, 0, full), hop(2, 0, 0, 0)], [hop(1, 5, 0, full), hop(2, 10, 0, 0)], second] {
            let feedback = Feedback { advanced: 1, ece: false, una: 1, next: 10, hops: Some(&hops) };
            control.on_feedback(&mut window, &feedback);
            utilisations.push(variable(&control, "utilisation"));
        }
        assert!(utilisations[1] > 40.0 && utilisations[2] == utilisations[1], "{utilisations:?}");
        control.on_ack(&mut window, &acked(at_us(0), 1, 10));
        assert_eq!(window.cwnd, 10.0);
    }
    for (base_rtt, own_rtt, shares) in [(None, false, true), (None, true, false), (Some(Dur::from_us(8)), false, false)]
    {
        assert_eq!(hpcc::Params { base_rtt, own_rtt, ..Default::default() }.needs().shares_base_rtt, shares);
    }
}

/// Algorithm 1 of the paper of 2020. Without a delay per hop the target at 100 segments is the base delay of 20 us.
#[test]
fn swift_neither_grows_nor_shrinks_at_its_target_and_reduces_after_exactly_a_round_trip() {
    let params = swift::Params { per_hop: Dur::ZERO, ..Default::default() };
    let mut control = params.build(&Setup { initial_window: 100, ..setup() }, rng());
    assert_eq!(variable(&control, "target"), Dur::from_us(20).as_secs());
    assert_eq!(after(&mut control, 100.0, 1.0, &acked(at_us(0), 4, 20)), 100.0);
    // Growth by one segment per round trip.
    assert_eq!(after(&mut control, 100.0, 1.0, &acked(at_us(0), 4, 10)), 100.04);
    // The sample at the target counts as a reduction, so that the next one is a round trip, 20 us, later.
    for (us, cwnd) in [(19, 100.04), (20, 100.04 * (1.0 - 0.8 * 0.5))] {
        let late = Acked { srtt: Dur::from_us(20), ..acked(at_us(us), 1, 40) };
        after(&mut control, 100.0, 1.0, &late);
        near(variable(&control, "fraction"), cwnd);
    }
}

#[test]
fn swift_paces_below_one_segment_and_grows_there_by_its_step_for_each_segment() {
    let build = |initial_window: u32, params: swift::Params| params.build(&Setup { initial_window, ..setup() }, rng());
    let mut control = build(1, swift::Params::default());
    control.on_ack(&mut Window { cwnd: 1.0, ssthresh: 1.0 }, &Acked { rtt: None, ..acked(at_us(0), 1, 10) });
    assert_eq!(control.pacing().interval, Dur::ZERO);
    // Halved three times by delays of more than a round trip: 1/8 segment, a segment in 8 round trips.
    for us in [100, 200, 300] {
        let late = Acked { srtt: Dur::from_us(10), ..acked(at_us(us), 1, 1_000_000) };
        assert_eq!(after(&mut control, 1.0, 1.0, &late), 1.0);
    }
    assert_eq!(variable(&control, "fraction"), 0.125);
    assert_eq!(control.pacing().interval, Dur::from_us(80));
    // Below one segment, two segments add twice the step of 1/4, even if the window does not limit the sender.
    let mut control = build(1, swift::Params { additive: 0.25, ..Default::default() });
    reduced(&mut control, Congestion::Loss, 1.0, 1);
    let free = Acked { window_limited: false, ..acked(at_us(1), 2, 10) };
    assert_eq!(after(&mut control, 1.0, 1.0, &free), 1.0);
    assert_eq!(variable(&control, "fraction"), 1.0);
    // From there on by the step per round trip: 1 + 2 · 0.25 / 1 and 1.5 + 2 · 0.25 / 1.5.
    after(&mut control, 1.0, 1.0, &acked(at_us(2), 2, 10));
    assert_eq!(variable(&control, "fraction"), 1.5);
    assert_eq!(control.pacing().interval, Dur::ZERO);
    near(after(&mut control, 1.0, 1.0, &acked(at_us(3), 2, 10)), 1.5 + 0.5 / 1.5);
    // The fifth expiry without an acknowledgement sets the minimum, from the start on.
    let mut control = build(10, swift::Params::default());
    for expiry in 1..=5 {
        reduced(&mut control, Congestion::Timeout, 1.0, 1);
        assert_eq!(variable(&control, "fraction") == 0.01, expiry == 5, "expiry {expiry}");
    }
}

/// SubTCP with x = 1: an interval of twice the round-trip time is halved to the round-trip time, which ends it. Until then
/// the window is one segment.
#[test]
fn subtcp_s_interval_ends_at_the_round_trip_time() {
    let mut control = subtcp::Params { x: Fraction(1.0), ..Default::default() }.build(&setup(), rng());
    after(&mut control, 1.0, 1.0, &acked(at_us(0), 0, 100_000));
    reduced(&mut control, Congestion::Ecn, 1.0, 1);
    reduced(&mut control, Congestion::Ecn, 1.0, 1);
    assert_eq!(control.pacing().interval, Dur::from_ms(400));
    assert_eq!(after(&mut control, 5.0, 1.0, &acked(at_us(1), 1, 100_000)), 1.0);
    assert_eq!(control.pacing().interval, Dur::from_ms(200));
    after(&mut control, 1.0, 1.0, &acked(at_us(1), 1, 100_000));
    assert_eq!(control.pacing().interval, Dur::ZERO);
}

#[test]
fn a_fixed_window_is_restored_by_each_acknowledgement() {
    let mut control = fixed::Params {}.build(&Setup { initial_window: 7, ..setup() }, rng());
    assert_eq!(after(&mut control, 1.0, 1.0, &acked(at_us(0), 1, 10)), 7.0);
}
