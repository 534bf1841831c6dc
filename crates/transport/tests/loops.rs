//! Mechanisms in a loop of sender and receiver: RACK, tail loss probes, detection of spurious timeouts and a fixed
//! window; and repeatability of runs.

use crate::common::{Fate, MS, Net, answer, at, tcp};
use serde_json::{Value, json};
use tailback_random::Rng;
use tailback_transport::{Segment, State, Statistics};
use tailback_units::{Dur, Time};

/// Returns the statistics of a flow of 20 s with 2 % of its segments delayed by 8 ms.
fn reordered(recovery: Value) -> Statistics {
    let mut rng = Rng::named(1, "reordering");
    let fate =
        move |_: Time, _: &Segment| Fate { later: if rng.chance(0.02) { MS(8) } else { Dur::ZERO }, ..Fate::default() };
    let parameters = json!({ "recovery": recovery, "receive-window": 100, "delayed-ack": { "every": 1 } });
    let mut net = Net::new(tcp(parameters), MS(50), fate, answer);
    net.per_segment = MS(1);
    net.offer(u64::MAX);
    net.run_until(at(20_000));
    net.sender.statistics()
}

#[test]
fn rack_tolerates_reordering_that_counting_considers_a_loss() {
    let rack = reordered(json!({ "kind": "sack" }));
    let count = reordered(json!({ "kind": "sack", "rack": false }));
    println!("rack {rack:?}\ncount {count:?}");
    // RACK detects reordering, and then waits, once a segment that was not retransmitted has arrived out of order.
    // Until then it may retransmit needlessly.
    assert!(rack.fast_retransmits <= 3, "{rack:?}");
    assert!(count.fast_retransmits > 10 && count.sent * 2 < rack.sent, "{count:?}");
}

/// Returns the time until 100 segments are acknowledged, and the statistics. The last three segments are lost at their
/// first transmission.
fn lost_tail(tlp: bool) -> (Dur, Statistics) {
    let fate = |_: Time, s: &Segment| Fate { lost: s.seq >= 97 && !s.retransmission, ..Fate::default() };
    let parameters = json!({ "recovery": { "kind": "sack", "tlp": tlp }, "handshake": false,
                             "timers": { "min-rto": "1s" } });
    let mut net = Net::new(tcp(parameters), MS(50), fate, answer);
    net.offer(100 * 1460);
    while !net.sender.done() {
        net.run_for(MS(1));
        assert!(net.now < at(60_000), "the lost tail is never repaired: {:?}", net.sender.statistics());
    }
    (net.now.since(Time::ZERO), net.sender.statistics())
}

#[test]
fn a_probe_repairs_a_lost_tail_without_a_timeout() {
    let ((time_with, with), (time_without, without)) = (lost_tail(true), lost_tail(false));
    println!("with {time_with:?} {with:?}\nwithout {time_without:?} {without:?}");
    assert_eq!((with.timeouts, without.timeouts), (0, 1));
    assert!(time_without > time_with + MS(500));
}

/// Returns the statistics of a flow whose path delays all segments sent in one second to the end of that second.
fn spike(detection: &str, recovery: &str) -> Statistics {
    let until = at(3_000);
    let fate = move |now: Time, _: &Segment| Fate {
        later: if now >= at(2_000) { until.since(now) } else { Dur::ZERO },
        ..Fate::default()
    };
    let parameters = json!({
        "recovery": { "kind": recovery }, "receive-window": 50, "spurious-timeout": detection,
        "delayed-ack": { "every": 1 },
    });
    let mut net = Net::new(tcp(parameters), MS(50), fate, answer);
    net.offer(u64::MAX);
    net.run_until(at(6_000));
    assert_eq!(net.sender.state(), State::Open);
    net.sender.statistics()
}

#[test]
fn a_delay_spike_reduces_the_window_unless_the_timeout_is_detected_as_spurious() {
    for recovery in ["newreno", "sack"] {
        let [off, f_rto, eifel] = ["off", "f-rto", "eifel"].map(|detection| spike(detection, recovery));
        println!("{recovery}: off {off:?}\nf-rto {f_rto:?}\neifel {eifel:?}");
        assert!(off.retransmissions >= 45 && off.spurious == 0, "{recovery} {off:?}");
        for (name, found) in [("f-rto", f_rto), ("eifel", eifel)] {
            assert_eq!(found.spurious, 1, "{recovery} {name}: {found:?}");
            assert!(found.retransmissions <= 3, "{recovery} {name}: {found:?}");
        }
    }
}

#[test]
fn two_runs_of_a_flow_send_the_same_segments_at_the_same_times() {
    let run = || {
        let mut rng = Rng::named(9, "loss");
        let fate = move |_: Time, _: &Segment| Fate { lost: rng.chance(0.03), ..Fate::default() };
        let mut net = Net::new(tcp(json!({})), MS(20), fate, answer);
        net.per_segment = Dur::from_us(100);
        net.offer(u64::MAX);
        net.run_until(at(20_000));
        net.log
    };
    let log = run();
    assert!(log.len() > 1_000);
    assert_eq!(log, run());
}

/// A sender with a fixed window of 8 segments and a fixed timeout of 100 ms, on a path with a round-trip time of 20 ms
/// that loses all segments for a second.
#[test]
fn a_fixed_window_neither_shrinks_nor_waits_longer_for_its_timer() {
    let outage = |now: Time, _: &Segment| Fate { lost: at(1_000) <= now && now < at(2_000), ..Fate::default() };
    let timers = json!({ "min-rto": "100ms", "initial-rto": "100ms", "max-rto": "100ms" });
    let parameters = json!({ "congestion-control": { "kind": "fixed" }, "recovery": { "kind": "tahoe" },
                             "dup-thresh": 255, "initial-window": 8, "timers": timers, "spurious-timeout": "off" });
    let mut net = Net::new(tcp(parameters), MS(10), outage, answer);
    net.offer(u64::MAX);
    net.run_until(at(3_000));
    let (log, statistics) = (std::mem::take(&mut net.log), net.sender.statistics());
    println!("{statistics:?}");
    assert_eq!(net.sender.cwnd(), 8.0);
    // The first expiry is at most 100 ms after the last acknowledgement; others follow every 100 ms.
    assert!((9..=11).contains(&statistics.timeouts), "{statistics:?}");
    let resent = log.iter().filter(|(sent, s)| (at(1_000)..at(2_000)).contains(sent) && s.retransmission).count();
    // At each expiry the whole window of 8 is sent again (go-back-N).
    assert!((8 * 8..=8 * 11).contains(&resent), "{resent}");
}
