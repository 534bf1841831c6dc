//! DCTCP: the estimate of the marked fraction, the sawtooth at a queue that marks above K, the response to loss, and
//! the minimum K at which the link stays busy.

use crate::common::{Fate, Net, answer, at, tcp};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;
use tailback_random::Rng;
use tailback_transport::cc::{Build, Congestion, CongestionControl, CongestionEvent, Feedback, Window, dctcp};
use tailback_transport::{Cc, EcnEcho, Segment, Tcp};
use tailback_units::{Dur, Time};

/// Returns DCTCP with its default parameters.
fn build() -> dctcp::Dctcp {
    dctcp::Params::default().build(&Tcp::default().setup(), Rng::named(1, "cc"))
}

/// Returns an acknowledgement of one segment.
fn feedback(ece: bool, una: u32, next: u32) -> Feedback<'static> {
    Feedback { advanced: 1, ece, una, next, hops: None }
}

/// Returns the estimate of the marked fraction.
fn alpha(control: &dctcp::Dctcp) -> f64 {
    let mut alpha = f64::NAN;
    control.probe(&mut |_, value| alpha = value);
    alpha
}

#[test]
fn dctcp_needs_the_accurate_echo() {
    assert_eq!(Cc::Dctcp(dctcp::Params::default()).needs().echo, EcnEcho::Accurate);
    assert_eq!(tcp(json!({ "congestion-control": { "kind": "dctcp" } })).echo(), EcnEcho::Accurate);
}

#[test]
fn alpha_is_an_average_over_windows_of_the_fraction_of_marked_segments() {
    let mut control = build();
    let mut window = Window { cwnd: 10.0, ssthresh: 10.0 };
    // The first observation window ends with the first segment, which is unmarked. Each later one has ten segments,
    // three of them marked.
    control.on_feedback(&mut window, &feedback(false, 1, 10));
    let mut expected = 15.0 / 16.0;
    for round in 0..50 {
        for i in 1..=10 {
            let una = 1 + 10 * round + i;
            control.on_feedback(&mut window, &feedback(i <= 3, una, una + 9));
        }
        expected = expected * 15.0 / 16.0 + 0.3 / 16.0;
        assert!((alpha(&control) - expected).abs() < 1e-12, "{} instead of {expected}", alpha(&control));
    }
}

#[test]
fn without_marks_alpha_decays_by_a_sixteenth_per_window() {
    let mut control = build();
    let mut window = Window { cwnd: 1.0, ssthresh: 1.0 };
    for una in 1..=32 {
        // With a window of one segment, each acknowledgement ends an observation window.
        control.on_feedback(&mut window, &feedback(false, una, una));
    }
    let mut expected = 1.0;
    for _ in 0..32 {
        expected *= 15.0 / 16.0;
    }
    assert!((alpha(&control) - expected).abs() < 1e-12);
}

#[test]
fn an_echo_reduces_by_half_of_alpha_and_a_loss_halves_at_any_alpha() {
    let mut control = build();
    let mut window = Window { cwnd: 100.0, ssthresh: 100.0 };
    for una in 1..=32 {
        control.on_feedback(&mut window, &feedback(false, una, una));
    }
    let reduced = 100.0 * (1.0 - alpha(&control) / 2.0);
    control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Ecn, Time::ZERO, 98));
    assert_eq!((window.cwnd, window.ssthresh), (reduced, reduced));
    control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 80));
    assert_eq!(window.ssthresh, 40.0);
}

/// Results of one flow whose bandwidth-delay product is 100 segments, and whose segments are marked if they find more
/// than K segments in the queue.
struct Sawtooth {
    /// Mean of alpha.
    alpha: f64,
    /// Mean difference between the maximum and the minimum of the queue, in segments.
    swing: f64,
    /// Maximum of the queue in segments.
    peak: u64,
    /// Fraction of the link's rate that the flow uses, 0 to 1.
    used: f64,
}

/// Runs the flow for two seconds, and returns the results of the second one.
fn sawtooth(k: u64) -> Sawtooth {
    let per_segment = Dur::from_us(10);
    let queue = Rc::new(RefCell::new((Time::ZERO, Vec::new())));
    let seen = Rc::clone(&queue);
    let fate = move |now: Time, _: &Segment| {
        let (free, lengths) = &mut *seen.borrow_mut();
        let length = free.since(now).0.div_ceil(per_segment.0);
        lengths.push((now, length));
        *free = (*free).max(now) + per_segment;
        Fate { marked: length > k, ..Fate::default() }
    };
    let parameters = json!({
        "congestion-control": { "kind": "dctcp" }, "ecn": "classic", "delayed-ack": { "every": 1 },
        "handshake": false, "initial-ssthresh": 50,
    });
    let tcp = tcp(parameters);
    let segment = tcp.segment.0 as f64;
    let mut net = Net::new(tcp, Dur::from_us(495), fate, answer);
    net.per_segment = per_segment;
    net.keep_log = false;
    net.offer(u64::MAX);
    net.run_until(at(1_000));
    queue.borrow_mut().1.clear();
    let before = net.receiver.delivered();
    let (mut sum, mut n) = (0.0, 0);
    for i in 0..10_000 {
        net.run_until(at(1_000) + Dur::from_us(100 * i));
        net.sender.probe(&mut |name, value| {
            if name == "alpha" {
                sum += value;
                n += 1;
            }
        });
    }
    assert_eq!(net.sender.statistics().retransmissions, 0);
    // The link sends a segment every 10 us, so 100,000 in the 10,000 steps of 100 us.
    let used = (net.receiver.delivered() - before) as f64 / segment / 100_000.0;
    let lengths = &queue.borrow().1;
    // Each window of 40 ms contains a few teeth of the sawtooth.
    let (mut swings, mut count, mut most) = (0, 0, 0);
    let mut start = 0;
    for end in 0..lengths.len() {
        if lengths[end].0.since(lengths[start].0) > Dur::from_ms(40) {
            let window = lengths[start..end].iter().map(|(_, q)| *q);
            let (high, low) = (window.clone().max().unwrap(), window.min().unwrap());
            swings += high - low;
            count += 1;
            most = most.max(high);
            start = end;
        }
    }
    Sawtooth { alpha: sum / f64::from(n), swing: swings as f64 / f64::from(count), peak: most, used }
}

#[test]
fn alpha_swing_and_peak_of_the_queue_are_those_of_alizadeh_and_others() {
    for k in [20u64, 40, 100] {
        let Sawtooth { alpha, swing, peak, .. } = sawtooth(k);
        let w = 100.0 + k as f64;
        let (want_alpha, want_swing) = ((2.0 / w).sqrt(), 0.5 * (2.0 * w).sqrt());
        println!(
            "K {k}: alpha {alpha:.4} (sqrt(2/W) {want_alpha:.4}), swing {swing:.2} ({want_swing:.2}), peak {peak}"
        );
        assert!((alpha / want_alpha - 1.0).abs() < 0.2, "K {k}: alpha {alpha} instead of {want_alpha}");
        assert!((swing - want_swing).abs() < 2.0 + 0.15 * want_swing, "K {k}: swing {swing} instead of {want_swing}");
        assert!((k..=k + 3).contains(&peak), "K {k}: peak {peak}");
    }
}

/// Alizadeh and others, section 3.4: with K > C·RTT/7 the queue never becomes empty, for any number of flows. For a
/// single flow the minimum of the queue is K + 1 − sqrt((C·RTT + K)/2), which at C·RTT = 100 is below zero for K up to
/// 6.
#[test]
fn the_line_is_always_busy_with_k_above_a_seventh_of_the_bandwidth_delay_product_and_not_with_k_far_below() {
    for k in [15u64, 20, 40] {
        let used = sawtooth(k).used;
        assert!(used > 0.9995, "K {k}: {used}");
    }
    let [low, lower] = [3, 1].map(|k| sawtooth(k).used);
    println!("K 3: {low}, K 1: {lower}");
    assert!(low < 0.999 && lower < low, "K 3: {low}, K 1: {lower}");
}
