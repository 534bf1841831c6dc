//! DCQCN, TIMELY, HPCC and Swift by the equations of their papers, and loss recovery of network adapters.

use crate::common::{Fate, Net, answer, tcp};
use serde_json::json;
use std::cell::Cell;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Sent, Timer, Window, dcqcn, hpcc, swift,
    timely,
};
use tailback_transport::{Cc, Ecn, EcnMode, Hop, Line, Rdma, Receiver, Sender, Tcp};
use tailback_units::{Dur, Rate, Time};

/// Rate of the host's link, bit/s.
const LINE: f64 = 1e10;
/// Round-trip time without queues.
const BASE: Dur = Dur::from_us(10);

/// Returns a connection of an adapter on a link of rate [`LINE`] and a path of round-trip time [`BASE`].
fn known() -> Tcp {
    let line = Line { rate: Rate::mbit(10_000), wire: 1250, hops: 2, base_rtt: BASE };
    Tcp { line: Some(line), ..Rdma::default().connection() }
}
fn rng() -> Rng {
    Rng::named(1, "cc")
}
fn at_us(us: u64) -> Time {
    Time::ZERO + Dur::from_us(us)
}

/// Returns an acknowledgement of one segment.
fn acked(now: Time, rtt: Dur, ece: bool) -> Acked {
    Acked {
        now,
        delivered: 1,
        advanced: 1,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: BASE,
        in_flight_before: 10,
        in_flight: 9,
        window_limited: true,
        ece,
        recovering: false,
        round: false,
        lost: 0,
        rate: None,
    }
}

/// Returns an acknowledgement of one segment with the telemetry `hops`.
fn telemetry(hops: &[Hop]) -> Feedback<'_> {
    Feedback { advanced: 1, ece: false, una: 1, next: 10, hops: Some(hops) }
}

/// Returns variable `name` of a control; NaN if there is none of this name.
fn variable(control: &impl CongestionControl, name: &str) -> f64 {
    let mut found = f64::NAN;
    control.probe(&mut |key, value| {
        if key == name {
            found = value;
        }
    });
    found
}

fn window() -> Window {
    Window { cwnd: 10.0, ssthresh: f64::INFINITY }
}

/// Checks that `value` equals `expected` up to the fraction `relative`.
#[track_caller]
fn near(value: f64, expected: f64, relative: f64) {
    assert!((value / expected - 1.0).abs() <= relative, "{value} instead of {expected}");
}

#[test]
fn dcqcn_halves_the_gap_to_the_target_five_times_and_then_adds_steps_while_alpha_decays() {
    let mut control = dcqcn::Params::default().build(&known().setup(), rng());
    let mut window = window();
    control.on_ack(&mut window, &acked(at_us(0), BASE, true));
    // Equation 1: with alpha = 1 the rate is halved.
    near(variable(&control, "rate"), LINE / 2.0, 1e-12);
    near(variable(&control, "target"), LINE, 1e-12);
    // At the second notification alpha is still (1 - g) 1 + g = 1.
    control.on_ack(&mut window, &acked(at_us(50), BASE, true));
    near(variable(&control, "rate"), LINE / 4.0, 1e-12);
    for step in 1..=5 {
        control.on_timer(&mut window, at_us(50 + 55 * step), Timer::Control);
        let gap = LINE / 4.0 / f64::from(1u32 << step);
        near(variable(&control, "rate"), LINE / 2.0 - gap, 1e-12);
        near(variable(&control, "alpha"), tailback_random::maths::pow(255.0 / 256.0, f64::from(step as u32)), 1e-12);
    }
    let (rate, target) = (variable(&control, "rate"), variable(&control, "target"));
    control.on_timer(&mut window, at_us(50 + 55 * 6), Timer::Control);
    near(variable(&control, "target"), target + 40e6, 1e-12);
    near(variable(&control, "rate"), f64::midpoint(rate, target + 40e6), 1e-12);
}

/// Halving the gap to the target never reaches the target, so above 0.9999 of the link's rate the rate is set to the
/// link's.
#[test]
fn dcqcn_sends_at_the_rate_of_the_line_once_it_is_above_0_9999_of_it() {
    let line = Line { rate: Rate(20_000), ..known().line.expect("a known path") };
    let params = dcqcn::Params { least: Rate(19_996), ..dcqcn::Params::default() };
    let mut control = params.build(&Tcp { line: Some(line), ..known() }.setup(), rng());
    let mut window = window();
    control.on_ack(&mut window, &acked(at_us(0), BASE, true));
    let mut rates = vec![variable(&control, "rate")];
    for step in 1..=2 {
        control.on_timer(&mut window, at_us(55 * step), Timer::Control);
        rates.push(variable(&control, "rate"));
    }
    // 0.9999 · 20,000 bit/s are 19,998 bit/s.
    assert_eq!(rates, [19_996.0, 19_998.0, 20_000.0]);
}

#[test]
fn dcqcn_uses_hyper_increases_when_timer_and_byte_counter_have_both_passed_five_steps() {
    let params = dcqcn::Params { increase_bytes: tailback_units::Size(1000), ..dcqcn::Params::default() };
    let mut control = params.build(&known().setup(), rng());
    let mut window = window();
    control.on_ack(&mut window, &acked(at_us(0), BASE, true));
    control.on_ack(&mut window, &acked(at_us(1), BASE, true));
    control.on_timer(&mut window, at_us(1 + 55 * 6), Timer::Control);
    for _ in 0..5 {
        control.on_sent(&mut window, &Sent { now: at_us(340), in_flight: 1, ..Sent::default() });
    }
    let before = variable(&control, "target");
    control.on_sent(&mut window, &Sent { now: at_us(340), in_flight: 1, ..Sent::default() });
    // After the sixth event of both timer and byte counter: i = 1, R_HAI = 100 Mbit/s.
    near(variable(&control, "target") - before, 100e6, 1e-9);
    // The next event of the timer adds 100 Mbit/s (i = 1), that of the byte counter 200 (i = 2).
    control.on_timer(&mut window, at_us(1 + 55 * 7), Timer::Control);
    control.on_sent(&mut window, &Sent { now: at_us(400), in_flight: 1, ..Sent::default() });
    near(variable(&control, "target") - before, 400e6, 1e-9);
}

#[test]
fn a_receiver_notifies_at_most_once_in_fifty_microseconds() {
    let mut receiver = Receiver::new(&known());
    let mut notified = Vec::new();
    for seq in 0..200u32 {
        let now = at_us(u64::from(seq));
        let ack = receiver.on_segment(now, seq, 1000, now, Ecn::Ce, false).expect("each is acknowledged");
        if ack.ece {
            notified.push(seq);
        }
    }
    assert_eq!(notified, [0, 50, 100, 150]);
    let ack = receiver.on_segment(at_us(300), 200, 1000, at_us(300), Ecn::Ect0, false).unwrap();
    assert!(!ack.ece, "an unmarked segment brings no notification");
}

#[test]
fn a_notification_does_not_wait_for_the_acknowledgement_of_other_segments() {
    let tcp = Rdma { acknowledge_every: 16, ..Rdma::default() }.connection();
    let mut receiver = Receiver::new(&tcp);
    assert!(receiver.on_segment(at_us(0), 0, 1000, at_us(0), Ecn::Ect0, false).is_none());
    let ack = receiver.on_segment(at_us(1), 1, 1000, at_us(1), Ecn::Ce, false).expect("at once");
    assert!(ack.ece && ack.next == 2);
    assert!(
        receiver.on_segment(at_us(2), 2, 1000, at_us(2), Ecn::Ce, false).is_none(),
        "no second notification within 50 us"
    );
}

/// Acknowledges 16 segments of 1000 B, one completion event, each with a round-trip time of `rtt_us` us.
fn complete(control: &mut timely::Timely, rtt_us: u64) {
    let mut window = window();
    (0..16).for_each(|_| control.on_ack(&mut window, &acked(at_us(0), Dur::from_us(rtt_us), false)));
}

#[test]
fn timely_follows_the_gradient_between_its_thresholds_and_ignores_it_beyond() {
    let mut control = timely::Params::default().build(&known().setup(), rng());
    complete(&mut control, 100);
    complete(&mut control, 110);
    // Gradient: difference 10 us · weight 0.875 / 20 us = 0.4375; beta is 0.8.
    let mut rate = LINE * (1.0 - 0.8 * 0.4375);
    near(variable(&control, "rate"), rate, 1e-9);
    near(variable(&control, "gradient"), 0.4375, 1e-9);
    complete(&mut control, 600);
    rate *= 1.0 - 0.8 * (1.0 - 500.0 / 600.0);
    near(variable(&control, "rate"), rate, 1e-9);
    complete(&mut control, 40);
    rate += 10e6;
    near(variable(&control, "rate"), rate, 1e-9);
}

#[test]
fn timely_steps_five_times_as_far_after_five_events_without_a_rising_round_trip() {
    let mut control = timely::Params::default().build(&known().setup(), rng());
    complete(&mut control, 100);
    complete(&mut control, 120);
    // The rises make the average difference positive, and the fall of 100 us makes it negative.
    complete(&mut control, 300);
    complete(&mut control, 200);
    let mut rate = variable(&control, "rate");
    let steps: Vec<f64> = (0..6)
        .map(|_| {
            complete(&mut control, 100);
            let step = variable(&control, "rate") - rate;
            rate += step;
            step
        })
        .collect();
    let expected = [10e6, 10e6, 10e6, 50e6, 50e6, 50e6];
    for (step, expected) in steps.iter().zip(expected) {
        near(*step, expected, 1e-6);
    }
}

#[test]
fn patched_timely_weights_its_step_and_its_error_by_the_gradient() {
    let params = timely::Params { variant: timely::Variant::Patched, ..timely::Params::default() };
    let mut control = params.build(&known().setup(), rng());
    complete(&mut control, 100);
    complete(&mut control, 102);
    // Gradient: 2 us · 0.875 / 20 us = 0.0875, so w = 2 · 0.0875 + 1/2; error = 102/50 − 1; beta is 0.008.
    let (w, error) = (0.675, 1.04);
    let mut rate = 10e6 * (1.0 - w) + LINE * (1.0 - 0.008 * w * error);
    near(variable(&control, "rate"), rate, 1e-9);
    // A steep fall gives w = 0, so only the step counts; a steep rise gives w = 1, so only the error counts.
    complete(&mut control, 80);
    rate += 10e6;
    near(variable(&control, "rate"), rate.min(LINE), 1e-9);
    rate = variable(&control, "rate");
    complete(&mut control, 200);
    near(variable(&control, "rate"), rate * (1.0 - 0.008 * 3.0), 1e-9);
}

#[test]
fn timely_with_update_round_trip_is_updated_once_in_a_round_trip() {
    let params = timely::Params { update: timely::Update::RoundTrip, ..timely::Params::default() };
    let mut control = params.build(&known().setup(), rng());
    let mut window = window();
    let mut rate_after = |rtt: u64, round: bool| {
        control.on_ack(&mut window, &Acked { round, ..acked(at_us(0), Dur::from_us(rtt), false) });
        variable(&control, "rate")
    };
    assert_eq!(rate_after(100, true), LINE, "the first sample gives no difference");
    for _ in 0..100 {
        assert_eq!(rate_after(110, false), LINE, "100 segments are six chunks, and no round trip");
    }
    near(rate_after(110, true), LINE * (1.0 - 0.8 * 0.4375), 1e-9);
}

#[test]
fn hpcc_s_additive_increase_is_the_free_part_of_the_initial_window_divided_by_the_number_of_senders() {
    // Section 3.3 of the paper: W_AI = W_init (1 − eta)/N; at 100 Gbit/s, 13 us and N = 100 about the 80 B of the paper.
    for (rate, flows, bytes) in [(100_000, 100, 81.25), (10_000, 100, 8.125), (10_000, 15, 54.1667)] {
        let line = Line { rate: Rate::mbit(rate), wire: 1000, hops: 4, base_rtt: Dur::from_us(13) };
        let tcp = Tcp { line: Some(line), ..known() };
        let params = hpcc::Params { flows: Some(flows), ..hpcc::Params::default() };
        let mut control = params.build(&tcp.setup(), rng());
        let mut window = window();
        // The link sends nothing while a bandwidth-delay product waits, so that U = 1 and W = 0.95 W_c + W_AI.
        let product = rate as f64 * 1e6 / 8.0 * 13e-6;
        let queue = product.round() as u32;
        for at in [0, 13] {
            control.on_feedback(
                &mut window,
                &telemetry(&[Hop { port: 1, queue, at: at_us(at), busy: Dur::ZERO, rate: Rate::mbit(rate) }]),
            );
            control.on_ack(&mut window, &Acked { round: true, ..acked(at_us(at), Dur::from_us(13), false) });
        }
        near(1000.0 * variable(&control, "reference") - 0.95 * product, bytes, 1e-3);
    }
}

/// Four equal HPCC senders share a link. Each acknowledgement arrives a round trip after its segment, and reports the
/// data in flight in excess of a bandwidth-delay product as the queue.
#[test]
fn hpcc_keeps_the_mean_load_of_the_busiest_link_at_95_per_cent_plus_its_additive_increase() {
    let senders = 4.0;
    let mut control = hpcc::Params::default().build(&known().setup(), rng());
    let mut window = window();
    window.cwnd = hpcc::Params::default().initial_window(&known().setup());
    let product = 10.0; // 1250 B at 10 Gbit/s take 1 us, and the base round trip 10 us.
    near(window.cwnd, product, 1e-12);
    let (mut now, mut busy) = (Time::ZERO, 0u64);
    let mut loads = Vec::new();
    let mut pace = control.pacing().rate.unwrap();
    for round in 0..400u32 {
        let in_flight = senders * pace * BASE.as_secs();
        let load = in_flight / product;
        let queue = ((load - 1.0).max(0.0) * product * 1250.0) as u32;
        now += BASE;
        busy += (load.min(1.0) * BASE.0 as f64) as u64;
        let idle = Hop { port: 1, queue: 0, at: now, busy: Dur(0), rate: Rate::mbit(10_000) };
        control.on_feedback(&mut window, &telemetry(&[idle, Hop { port: 2, queue, busy: Dur(busy), ..idle }]));
        control.on_ack(&mut window, &Acked { round: true, ..acked(now, BASE, false) });
        pace = control.pacing().rate.unwrap();
        if round >= 200 {
            loads.push(load);
        }
    }
    let mean = loads.iter().sum::<f64>() / loads.len() as f64;
    // Each of the four senders adds up to five steps of W_AI, which is 0.5 % of the link's rate; 1 % is for rounding.
    assert!((0.95..0.95 + 4.0 * 5.0 * 0.005 + 0.01).contains(&mean), "{mean}");
}

#[test]
fn after_a_change_of_path_hpcc_reacts_to_the_second_sample() {
    let mut control = hpcc::Params::default().build(&known().setup(), rng());
    let mut window = window();
    let hop = Hop { port: 1, queue: 1_000_000, at: at_us(1), busy: Dur(0), rate: Rate::mbit(10_000) };
    for (port, at, reacts) in [(1, 1, false), (1, 11, true), (2, 21, false), (2, 31, true)] {
        let before = control.pacing().rate.unwrap();
        control.on_feedback(&mut window, &telemetry(&[Hop { port, at: at_us(at), ..hop }]));
        control.on_ack(&mut window, &Acked { round: true, ..acked(at_us(at), BASE, false) });
        assert_eq!(control.pacing().rate.unwrap() < before, reacts, "port {port} at {at} us");
    }
}

#[test]
fn swift_converges_to_its_target_delay() {
    let tcp = known();
    let mut control = swift::Params::default().build(&tcp.setup(), rng());
    let mut window = window();
    let mut now = Time::ZERO;
    let mut ratios = Vec::new();
    for step in 0..20_000 {
        // This is one of 8 equal senders at a link that sends a segment in 1 us.
        let delay = (8.0 * window.cwnd).max(10.0);
        now += Dur::from_secs_f64(delay * 1e-6 / window.cwnd);
        control.on_ack(&mut window, &acked(now, Dur::from_secs_f64(delay * 1e-6), false));
        if step > 10_000 {
            ratios.push(delay * 1e-6 / variable(&control, "target"));
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((0.9..=1.05).contains(&mean), "{mean}");
}

#[test]
fn swift_reduces_by_the_excess_delay_at_most_by_half_and_once_a_round_trip() {
    let tcp = known();
    let mut control = swift::Params::default().build(&tcp.setup(), rng());
    let mut window = window();
    let target = variable(&control, "target");
    // The target is 20 us for the base, 3.053 us for each of two hops, and flow scaling for a window of ten.
    let inverse_root = |w: f64| 1.0 / w.sqrt();
    let scaling = 100e-6 * (inverse_root(10.0) - inverse_root(100.0)) / (inverse_root(0.1) - inverse_root(100.0));
    near(target, 20e-6 + 2.0 * 3.053e-6 + scaling, 1e-9);
    let delay = Dur::from_secs_f64(target * 1.5);
    control.on_ack(&mut window, &acked(at_us(1000), delay, false));
    near(window.cwnd, 10.0 * (1.0 - 0.8 / 3.0), 1e-6);
    let reduced = window.cwnd;
    control.on_ack(&mut window, &acked(at_us(1001), delay, false));
    assert_eq!(window.cwnd, reduced, "not twice in a round trip");
    control.on_ack(&mut window, &acked(at_us(9000), Dur::from_ms(5), false));
    near(window.cwnd, reduced / 2.0, 1e-9);
}

#[test]
fn swift_below_one_segment_spaces_segments_by_more_than_a_round_trip() {
    let mut control = swift::Params::default().build(&known().setup(), rng());
    let mut window = window();
    for round in 0..20 {
        control.on_ack(&mut window, &acked(at_us(10_000 * (round + 1)), Dur::from_ms(5), false));
    }
    near(variable(&control, "fraction"), 0.01, 1e-9);
    assert_eq!((window.cwnd, control.pacing().interval), (1.0, Dur::from_ms(500)));
}

#[test]
fn go_back_n_resends_all_segments_from_a_gap_and_the_receiver_discards_those_beyond_it() {
    let rdma = Rdma { window: Some(64), ..Rdma::default() };
    let tcp = Tcp { ecn: EcnMode::Off, ..rdma.connection() };
    let mut receiver = Receiver::new(&tcp);
    let mut acknowledgement =
        |seq: u32| receiver.on_segment(at_us(u64::from(seq)), seq, 1000, at_us(0), Ecn::Ect0, false);
    assert_eq!(acknowledgement(0).unwrap().next, 1);
    let beyond = acknowledgement(2).expect("acknowledged at once");
    assert!(beyond.next == 1 && !beyond.has_sack());
    assert_eq!(acknowledgement(1).unwrap().next, 2, "segment 2 was discarded");

    let lost = Cell::new(false);
    let fate = |_: Time, segment: &tailback_transport::Segment| {
        let first = segment.seq == 100 && !lost.replace(lost.get() || segment.seq == 100);
        Fate { lost: first, ..Fate::default() }
    };
    let mut net = Net::new(tcp, Dur::from_us(5), fate, answer);
    net.per_segment = Dur::from_us(1);
    net.offer(500_000);
    net.run_until(Time::ZERO + Dur::from_ms(20));
    assert_eq!(net.receiver.delivered(), 500_000);
    let statistics = net.sender.statistics();
    // All segments sent in the round trip from the loss to its report are retransmitted.
    assert!((10..=14).contains(&statistics.retransmissions), "{statistics:?}");
    assert_eq!(statistics.timeouts, 0);
}

/// A marking queue drops packets that are not ECN-capable, so that retransmissions without ECT would be lost even in a
/// lossless network.
#[test]
fn retransmissions_of_an_adapter_are_ecn_capable() {
    let (lost, again) = (Cell::new(false), Cell::new(0));
    let fate = |_: Time, segment: &tailback_transport::Segment| {
        assert_eq!(segment.ecn, Ecn::Ect0, "{segment:?}");
        again.set(again.get() + u32::from(segment.retransmission));
        Fate { lost: segment.seq == 100 && !lost.replace(lost.get() || segment.seq == 100), ..Fate::default() }
    };
    let mut net = Net::new(Rdma::default().connection(), Dur::from_us(5), fate, answer);
    net.per_segment = Dur::from_us(1);
    net.offer(500_000);
    net.run_until(Time::ZERO + Dur::from_ms(20));
    assert_eq!(net.receiver.delivered(), 500_000);
    assert!(again.get() > 0);
}

#[test]
fn without_congestion_control_an_adapter_is_limited_by_its_window_only() {
    for (window, outstanding) in [(None, 5_000), (Some(64), 64), (Some(4), 4)] {
        let rdma = Rdma {
            window,
            congestion_control: Cc::Fixed(tailback_transport::cc::fixed::Params::default()),
            ..Rdma::default()
        };
        let mut sender = Sender::new(&Arc::new(rdma.connection()), rng());
        sender.offer(at_us(0), 5_000_000);
        let sent = (0..).map_while(|_| sender.poll(at_us(0))).count();
        assert_eq!(sent, outstanding, "{window:?}");
    }
}

#[test]
fn an_adapter_whose_segments_are_all_marked_continues_with_a_window_of_one_without_timeouts() {
    let rdma =
        Rdma { congestion_control: Cc::Dctcp(tailback_transport::cc::dctcp::Params::default()), ..Rdma::default() };
    let fate = |_: Time, _: &tailback_transport::Segment| Fate { marked: true, ..Fate::default() };
    let mut net = Net::new(rdma.connection(), Dur::from_us(5), fate, answer);
    net.per_segment = Dur::from_us(1);
    net.offer(40_000);
    // The window falls from 10 to 1 within some round trips of 11 us, long before the timeout of 4 ms.
    net.run_until(at_us(1000));
    assert_eq!(net.receiver.delivered(), 40_000);
    assert_eq!(net.sender.statistics().timeouts, 0);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    for (control, field) in [
        (json!({ "kind": "dcqcn", "g": 0.0 }), "g"),
        (json!({ "kind": "dcqcn", "additive": "0Mbit/s" }), "additive"),
        (json!({ "kind": "dcqcn", "notification-interval": "0s" }), "notification-interval"),
        (json!({ "kind": "timely", "low": "1ms" }), "high"),
        (json!({ "kind": "timely", "beta": 1.0 }), "beta"),
        (json!({ "kind": "hpcc", "target": 1.0 }), "target"),
        (json!({ "kind": "swift", "scaling-from": 200.0 }), "scaling-from"),
        (json!({ "kind": "swift", "least": 1.0 }), "least"),
        (json!({ "kind": "swift", "most": 0.5 }), "most"),
        (json!({ "kind": "swift", "reset-after": 0 }), "reset-after"),
        (json!({ "kind": "timely", "reference": "60us" }), "reference"),
        (json!({ "kind": "timely", "variant": "patched", "reference": "20us" }), "reference"),
        (json!({ "kind": "hpcc", "flows": 0 }), "flows"),
        (json!({ "kind": "hpcc", "base-rtt": "8us", "own-rtt": true }), "own-rtt"),
    ] {
        // Either the type or the check refuses it; both name the key.
        let error = match tailback_document::decode::<Tcp>(json!({ "congestion-control": control.clone() })) {
            Ok(tcp) => tcp.check().expect_err("it is out of range").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(&format!("congestion-control.{field}")), "{control}: {error}");
    }
    assert!(Rdma { acknowledge_every: 0, ..Rdma::default() }.check().is_err());
    // The documented range is 1 us to 10 s.
    for timeout in [Dur::ZERO, Dur::from_ns(999), Dur(Dur::from_secs(10).0 + 1)] {
        let error = Rdma { timeout, ..Rdma::default() }.check().expect_err("it is out of range");
        assert_eq!(error.path, "timeout");
    }
    for timeout in [Dur::from_us(1), Dur::from_secs(10)] {
        assert_eq!(Rdma { timeout, ..Rdma::default() }.check(), Ok(()));
    }
    assert!(tcp(json!({ "congestion-control": { "kind": "hpcc" } })).congestion_control.needs().telemetry);
}

#[test]
fn swift_reduces_once_per_round_trip_for_losses_and_resets_at_the_fifth_consecutive_expiry() {
    let mut control = swift::Params::default().build(&known().setup(), rng());
    let mut window = window();
    control.on_ack(&mut window, &acked(at_us(0), Dur::from_us(10), false));
    let start = window.cwnd;
    // Returns Swift's window, which may be below one segment, and the sender's window after a loss or timeout.
    let mut lose = |at: u64, why| {
        control.on_congestion(&mut window, &CongestionEvent::new(why, at_us(at), 10));
        (variable(&control, "fraction"), window.cwnd)
    };
    near(lose(100, Congestion::Loss).0, start / 2.0, 1e-9);
    near(lose(105, Congestion::Loss).0, start / 2.0, 1e-9);
    near(lose(111, Congestion::Loss).0, start / 4.0, 1e-9);
    // Four expiries within a round trip do not reduce the window again; the fifth resets it to the minimum.
    for _ in 0..4 {
        near(lose(115, Congestion::Timeout).0, start / 4.0, 1e-9);
    }
    assert_eq!(lose(116, Congestion::Timeout), (0.01, 1.0));
    // An acknowledgement resets the count of expiries.
    control.on_ack(&mut window, &acked(at_us(200), Dur::from_us(10), false));
    let after = variable(&control, "fraction");
    control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Timeout, at_us(300), 10));
    near(variable(&control, "fraction"), after / 2.0, 1e-9);

    let mut capped = swift::Params { most: Some(12.0), ..swift::Params::default() }.build(&known().setup(), rng());
    for at in 0..200 {
        capped.on_ack(&mut window, &acked(at_us(at), Dur::from_us(10), false));
    }
    assert_eq!(window.cwnd, 12.0);
}
