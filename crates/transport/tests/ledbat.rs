//! LEDBAT by the pseudo-code of RFC 6817 section 2.4.2, each value computed by hand, and the one-way delays that the
//! receiver reports.

use crate::common::{Fate, MS, Net, answer, at, deliver, tcp};
use serde_json::{Value, json};
use tailback_random::Rng;
use tailback_transport::cc::ledbat::{Ledbat, Params};
use tailback_transport::cc::{Acked, Build, Congestion, CongestionControl, CongestionEvent, Window};
use tailback_transport::{Ack, Ecn, Receiver, Segment, Tcp};
use tailback_units::{Dur, Time};

/// A control and its window, without a sender.
struct Flow {
    control: Ledbat,
    window: Window,
}

impl Flow {
    fn new(params: &Params) -> Flow {
        let setup = Tcp::default().setup();
        let window = Window { cwnd: params.initial_window(&setup), ssthresh: f64::INFINITY };
        Flow { control: params.build(&setup, Rng::named(1, "ledbat")), window }
    }

    /// Processes the delay sample of an acknowledgement.
    fn sample(&mut self, now: Time, delay: Dur) {
        self.control.on_delay(now, delay);
    }

    /// Processes an acknowledgement of `delivered` segments, with `flight` outstanding before it, that carries `delay`
    /// at a round-trip time of 100 ms; returns the window.
    fn ack(&mut self, now: Time, delay: Dur, delivered: u32, flight: u32) -> f64 {
        self.sample(now, delay);
        let acked = Acked {
            now,
            delivered,
            advanced: delivered,
            rtt: Some(MS(100)),
            srtt: MS(100),
            min_rtt: MS(100),
            in_flight_before: flight,
            in_flight: flight - delivered,
            window_limited: true,
            ece: false,
            recovering: false,
            round: false,
            lost: 0,
            rate: None,
        };
        self.control.on_ack(&mut self.window, &acked);
        self.window.cwnd
    }

    /// Processes a sign of congestion; returns threshold and window.
    fn congestion(&mut self, sign: Congestion, now: Time) -> (f64, f64) {
        self.control.on_congestion(&mut self.window, &CongestionEvent::new(sign, now, 10));
        (self.window.ssthresh, self.window.cwnd)
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
}

/// Checks that `got` equals `expected` up to rounding.
#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} instead of {expected}");
}

/// Delay in ms, segments acknowledged and segments outstanding before the acknowledgement of 15 acknowledgements; the
/// queueing delay in ms and the window in segments after each.
///
/// An acknowledgement arrives every 25 ms, so that the last four are within the round-trip time of 100 ms. With W the
/// window before, n the segments acknowledged, q the queueing delay (minimum of the last four delays minus
/// the minimum of all) and F the segments outstanding: max(2, min(W + (1 − q/100) n/W, F + 1)).
const BY_HAND: [(u64, u32, u32, f64, f64); 15] = [
    (20, 2, 2, 0.0, 3.0),                  // 2 + 2/2
    (30, 1, 3, 0.0, 3.333_333_333_333),    // 3 + 1/3
    (24, 2, 3, 0.0, 3.933_333_333_333),    // 10/3 + 2·3/10
    (50, 2, 4, 0.0, 4.441_807_909_605),    // 59/15 + 2·15/59; the delay of 20 ms is one of the last four
    (60, 1, 4, 4.0, 4.657_936_121_255),    // + 0.96·1/4.4418; the minimum is now 24 ms
    (70, 2, 5, 4.0, 5.070_135_848_778),    // + 0.96·2/4.6579
    (90, 2, 6, 30.0, 5.346_262_572_353),   // + 0.7·2/5.0701
    (150, 2, 6, 40.0, 5.570_718_439_187),  // + 0.6·2/5.3463
    (180, 2, 6, 50.0, 5.750_228_498_960),  // + 0.5·2/5.5707
    (170, 2, 3, 70.0, 4.0),                // 5.7502 + 0.3·2/5.7502, but at most 3 + 1
    (620, 2, 4, 130.0, 3.85),              // 4 − 0.3·2/4
    (640, 2, 4, 150.0, 3.590_259_740_260), // 3.85 − 0.5·2/3.85
    (660, 1, 4, 150.0, 3.450_994_050_262), // − 0.5·1/3.5903; 170 ms is one of the last four
    (680, 2, 3, 600.0, 2.0),               // 3.4510 − 5·2/3.4510 = 0.5533, but at least 2
    (16, 1, 2, 0.0, 2.5),                  // 2 + 1/2; the base delay is 16 ms at once
];

#[test]
fn the_window_is_that_of_the_pseudo_code_of_rfc_6817_over_fifteen_acknowledgements() {
    let mut flow = Flow::new(&Params::default());
    assert_eq!(flow.window.cwnd, 2.0);
    for (i, (delay, delivered, flight, queueing, window)) in BY_HAND.into_iter().enumerate() {
        let got = flow.ack(at(25 * (i as u64 + 1)), MS(delay), delivered, flight);
        assert!((got - window).abs() < 1e-11, "acknowledgement {}: {got} instead of {window}", i + 1);
        near(flow.variable("queueing-delay"), queueing * 1e-3);
        near(flow.variable("base-delay"), if i < 14 { 0.02 } else { 0.016 });
        assert!(flow.window.ssthresh <= got, "no slow start");
    }
}

/// As above, each parameter other than its default: W = 3 + 0.5·(1 − q/40)·2/3, at most F + 2, at least 1.
#[test]
fn target_gain_allowed_increase_filter_and_least_window_are_those_of_the_parameters() {
    let params = Params {
        target: MS(40),
        gain: tailback_units::Fraction(0.5),
        allowed_increase: 2,
        current_filter: 1,
        init_cwnd: 3,
        min_cwnd: 1,
        ..Params::default()
    };
    let mut flow = Flow::new(&params);
    near(flow.ack(at(0), MS(10), 2, 9), 3.0 + 1.0 / 3.0);
    // q = 60 ms without a filter: 10/3 − 0.5·0.5·2·3/10.
    near(flow.ack(at(1), MS(70), 2, 9), 10.0 / 3.0 - 0.15);
    let mut flow = Flow::new(&params);
    near(flow.ack(at(0), MS(10), 2, 1 + 1), 3.0 + 1.0 / 3.0);
    near(flow.ack(at(1), MS(10), 1, 1), 3.0);
    // 3 − 0.5·99·1/3 is below the minimum.
    near(flow.ack(at(2), MS(4010), 1, 9), 1.0);
}

// RFC 6817 section 2.4.2, `update_base_delay`; section 2.5: with a BASE_HISTORY of 10 the sender adapts to a larger base
// delay after ten minutes, and to a smaller one at once.
#[test]
fn a_larger_base_delay_is_noticed_after_ten_minutes_and_a_smaller_one_at_once() {
    let mut flow = Flow::new(&Params::default());
    let base = |flow: &mut Flow, minute: u64, second: u64, delay: u64| {
        flow.sample(at((60 * minute + second) * 1000), MS(delay));
        let base = flow.variable("base-delay");
        // Without an earlier round trip the filter has this sample only.
        near(flow.variable("queueing-delay"), delay as f64 * 1e-3 - base);
        base
    };
    near(base(&mut flow, 0, 50, 30), 0.030);
    near(base(&mut flow, 0, 59, 20), 0.020);
    // The route is longer from the first minute on: the minimum of minute 0 is the oldest of ten until minute 9.
    for minute in 1..10 {
        near(base(&mut flow, minute, 0, 90 + minute), 0.020);
        near(base(&mut flow, minute, 59, 50 + minute), 0.020);
    }
    near(base(&mut flow, 10, 0, 70), 0.051);
    near(base(&mut flow, 11, 0, 75), 0.052);
    near(base(&mut flow, 11, 1, 33), 0.033);
}

#[test]
fn minutes_without_samples_do_not_shorten_the_history() {
    let mut flow = Flow::new(&Params { base_history: 2, ..Params::default() });
    flow.sample(at(0), MS(20));
    flow.sample(at(3_600_000), MS(50));
    near(flow.variable("base-delay"), 0.020);
    flow.sample(at(3_660_000), MS(60));
    near(flow.variable("base-delay"), 0.050);
    // Two samples of a round trip, the second in the next minute: the base delay is then newer than one of the filter.
    let mut flow = Flow::new(&Params { base_history: 1, ..Params::default() });
    flow.window.cwnd = 4.0;
    near(flow.ack(at(59_990), MS(50), 2, 9), 4.5);
    // RFC 6817 does not limit the offset: 4.5 + (1 + 10/100)·2/4.5.
    near(flow.ack(at(60_010), MS(60), 2, 9), 4.5 + 2.2 / 4.5);
    near(flow.variable("queueing-delay"), -0.010);
}

// RFC 6817 section 2.5: "CURRENT_FILTER MUST be limited such that samples in the list are not older than an RTT".
#[test]
fn a_sample_older_than_a_round_trip_is_not_part_of_the_current_delay() {
    let mut flow = Flow::new(&Params::default());
    let mut queueing = |ms: u64, delay: u64| {
        flow.ack(at(ms), MS(delay), 1, 9);
        flow.variable("queueing-delay")
    };
    near(queueing(1000, 20), 0.0);
    near(queueing(1050, 60), 0.0);
    near(queueing(1100, 90), 0.0);
    // 20 ms is 101 ms old, and the round-trip time is 100 ms.
    near(queueing(1101, 80), 0.040);
    // All are older.
    near(queueing(1301, 95), 0.075);
    // The fifth of five samples within a round trip removes the first.
    for (ms, delay, expected) in [(1310, 99, 0.075), (1320, 98, 0.075), (1330, 97, 0.075), (1340, 97, 0.077)] {
        near(queueing(ms, delay), expected);
    }
}

// RFC 6817 section 2.4.2, "on data loss": min(cwnd, max(cwnd/2, 2)), at most once per round trip (here 100 ms).
#[test]
fn a_loss_or_an_echo_halves_the_window_once_per_round_trip_and_not_below_two() {
    for sign in [Congestion::Loss, Congestion::Ecn] {
        let mut flow = Flow::new(&Params::default());
        flow.ack(at(900), MS(20), 1, 30);
        // Of a loss the sender sets the window, to the threshold; of an echo the control does.
        let set = |flow: &mut Flow, now: u64| {
            let (ssthresh, cwnd) = flow.congestion(sign, at(now));
            assert!(sign == Congestion::Loss || cwnd == ssthresh, "{sign:?}");
            flow.window.cwnd = ssthresh;
            ssthresh
        };
        flow.window.cwnd = 9.0;
        assert_eq!(set(&mut flow, 1000), 4.5, "{sign:?}");
        assert_eq!(set(&mut flow, 1099), 4.5, "{sign:?}: within a round trip");
        assert_eq!(set(&mut flow, 1100), 2.25, "{sign:?}");
        assert_eq!(set(&mut flow, 1300), 2.0, "{sign:?}");
        assert_eq!(set(&mut flow, 1500), 2.0, "{sign:?}");
        // The window of one segment after a timeout does not grow by a loss.
        flow.window.cwnd = 1.0;
        assert_eq!(set(&mut flow, 1700), 1.0, "{sign:?}");
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    for (field, value) in [
        ("target", json!("100.001ms")),
        ("target", json!("999ns")),
        ("gain", json!(0.0)),
        ("gain", json!(1.01)),
        ("allowed-increase", json!(0)),
        ("base-history", json!(0)),
        ("current-filter", json!(0)),
        ("init-cwnd", json!(0)),
        ("init-cwnd", json!(5)),
        ("min-cwnd", json!(0)),
        ("min-cwnd", json!(3)),
    ] {
        let control = json!({ "kind": "ledbat", field: value });
        // Either the type or the check refuses it; both name the key.
        let error = match tailback_document::decode::<Tcp>(json!({ "congestion-control": control })) {
            Ok(tcp) => tcp.check().expect_err("it is out of range").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(&format!("congestion-control.{field}")), "{control}: {error}");
    }
}

/// Returns a receiver for LEDBAT.
fn receiver(more: Value) -> Receiver {
    let mut document = json!({ "congestion-control": { "kind": "ledbat" } });
    document.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    Receiver::new(&tcp(document))
}

// RFC 6817 section 2.3: the delay is the receiver's time at the arrival minus the timestamp of the data packet.
#[test]
fn an_acknowledgement_carries_the_one_way_delay_of_the_last_arrival_without_its_own_delay() {
    let mut r = receiver(json!({}));
    assert_eq!(r.on_segment(at(100), 0, 100, at(90), Ecn::Ect0, false), None);
    let ack = r.on_segment(at(105), 1, 100, at(91), Ecn::Ect0, false).expect("the second is acknowledged");
    assert_eq!((ack.delay, ack.echo), (MS(14), at(90)));
    assert_eq!(r.on_segment(at(200), 2, 100, at(183), Ecn::Ect0, false), None);
    assert_eq!(r.on_timer(at(240)).expect("the timer acknowledges").delay, MS(17));
    // Out of order, and a duplicate.
    assert_eq!(r.on_segment(at(300), 5, 100, at(290), Ecn::Ect0, false).expect("at once").delay, MS(10));
    assert_eq!(r.on_segment(at(301), 5, 100, at(290), Ecn::Ect0, false).expect("at once").delay, MS(11));
    // A SYN-ACK has no sample, and the receivers of other controls do not measure.
    assert_eq!(r.on_segment(at(400), u32::MAX, 0, at(390), Ecn::Ect0, false).expect("a SYN-ACK").delay, Dur::ZERO);
    let mut other = Receiver::new(&Tcp::default());
    other.on_segment(at(100), 0, 100, at(90), Ecn::Ect0, false);
    assert_eq!(other.on_segment(at(105), 1, 100, at(91), Ecn::Ect0, false).expect("the second").delay, Dur::ZERO);
}

#[test]
fn delays_are_measured_whatever_the_echo_of_marks() {
    // Without ECN nothing is echoed.
    let mut r = receiver(json!({ "delayed-ack": { "every": 1 } }));
    let ack = r.on_segment(at(100), 0, 100, at(90), Ecn::Ce, false).expect("at once");
    assert_eq!((ack.ece, ack.delay), (false, MS(10)));
    let ack = r.on_segment(at(101), u32::MAX, 0, at(90), Ecn::Ect0, true).expect("a SYN-ACK");
    assert!(!ack.ece);
    // Classic echoes continue until CWR.
    let mut r = receiver(json!({ "ecn": "classic", "delayed-ack": { "every": 1 } }));
    let acks = [(0, true, false), (1, false, false), (2, false, true)].map(|(seq, ce, cwr)| {
        let ack = r
            .on_segment(at(100), seq, 100, at(90 + u64::from(seq)), if ce { Ecn::Ce } else { Ecn::Ect0 }, cwr)
            .expect("at once");
        (ack.ece, ack.delay)
    });
    assert_eq!(acks, [(true, MS(10)), (true, MS(9)), (false, MS(8))]);
    // A mark does not release the acknowledgement, as it would with congestion notifications.
    let mut r = receiver(json!({ "ecn": "classic" }));
    assert_eq!(r.on_segment(at(100), 0, 100, at(90), Ecn::Ce, false), None);
    // The early acknowledgement of an accurate echo has the delay of the last segment that it is about.
    let mut r = receiver(json!({ "ecn": "classic", "ecn-echo": "accurate" }));
    assert_eq!(r.on_segment(at(100), 0, 100, at(90), Ecn::Ect0, false), None);
    let early = r.on_segment(at(105), 1, 100, at(91), Ecn::Ce, false).expect("the mark has changed");
    assert_eq!((early.next, early.ece, early.delay), (1, false, MS(10)));
    let ack = r.on_segment(at(106), 2, 100, at(93), Ecn::Ce, false).expect("the second of two");
    assert_eq!((ack.next, ack.ece, ack.delay), (3, true, MS(13)));
}

/// Runs a flow of LEDBAT over a path of 20 ms each way and 1 ms per segment for `seconds`.
fn run<F, G>(forward: F, backward: G, seconds: u64) -> Net<F, G>
where
    F: FnMut(Time, &Segment) -> Fate,
    G: FnMut(Time, &Ack) -> Fate,
{
    let mut net = Net::new(tcp(json!({ "congestion-control": { "kind": "ledbat" } })), MS(20), forward, backward);
    net.per_segment = MS(1);
    net.strict = true;
    net.offer(u64::MAX);
    net.run_until(at(1000 * seconds));
    net
}

/// Returns a delay of 300 ms from 20 s on.
fn later(now: Time) -> Fate {
    Fate { later: if now >= at(20_000) { MS(300) } else { Dur::ZERO }, ..Fate::default() }
}

#[test]
fn a_delay_on_the_way_back_does_not_count_and_one_on_the_way_there_shrinks_the_window() {
    let before = run(deliver, answer, 20).sender.cwnd();
    let back = run(deliver, |now: Time, _: &Ack| later(now), 60).sender.cwnd();
    let there = run(|now: Time, _: &Segment| later(now), answer, 60).sender.cwnd();
    println!("{before} {back} {there}");
    assert!(before > 80.0, "{before}");
    assert!(back > before, "{back}");
    // 300 ms more are above the target even without a queue.
    assert_eq!(there, 2.0);
}

// RFC 6817 section 2.4.2: after a congestion timeout the window is one segment, and the timeout is doubled.
#[test]
fn a_timeout_sets_the_window_to_one_segment_and_the_next_acknowledgement_to_at_least_two() {
    let outage = |now: Time, _: &Segment| Fate { lost: at(5_000) <= now && now < at(6_500), ..Fate::default() };
    let mut net = run(outage, answer, 5);
    assert!(net.sender.cwnd() > 20.0, "{}", net.sender.cwnd());
    net.run_until(at(6_400));
    assert_eq!(net.sender.cwnd(), 1.0);
    // Timeouts of at least 200 ms, doubled: at most three expiries in 1.4 s.
    let timeouts = net.sender.statistics().timeouts;
    assert!((2..=3).contains(&timeouts), "{timeouts}");
    let mut grown = 1.0;
    while grown == 1.0 {
        net.run_for(MS(1));
        grown = net.sender.cwnd();
        assert!(net.now < at(9_000), "no acknowledgement");
    }
    assert_eq!(grown, 2.0, "1 + 1/1, at most one more than the single segment outstanding");
}

#[test]
fn the_window_before_the_first_acknowledgement_is_init_cwnd_and_there_is_no_slow_start() {
    let mut net = Net::new(
        tcp(json!({ "congestion-control": { "kind": "ledbat" }, "handshake": false, "initial-window": 10,
                    "initial-ssthresh": 1000, "delayed-ack": { "every": 1 } })),
        MS(50),
        deliver,
        answer,
    );
    net.offer(u64::MAX);
    let mut windows = Vec::new();
    for round in 0..6 {
        net.run_until(at(100 * round));
        windows.push(net.sender.cwnd());
    }
    // Without a queue each acknowledgement adds 1/W: 2 + 1/2 + 1/2.5. In the next round trip the first of two
    // acknowledgements may set the window to at most 2 + 1, and the second adds 1/3.
    near(windows[0], 2.0);
    near(windows[1], 2.9);
    near(windows[2], 10.0 / 3.0);
    assert!(windows[5] < 2.0 + 5.0, "at most one segment per round trip: {windows:?}");
}
