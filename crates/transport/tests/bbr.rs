//! BBR on a link of fixed rate: estimates, data in flight, probes, and response to losses.

use crate::common::{Fate, MS, Net, answer, at, deliver, tcp};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tailback_random::Rng;
use tailback_transport::Segment;
use tailback_units::{Dur, Time};

/// Course of a run.
struct Trace {
    /// State after each step of 1 ms: time, number of segments in flight, variables of the control.
    rows: Vec<(Time, u32, BTreeMap<&'static str, f64>)>,
    /// Number of retransmissions.
    retransmissions: u64,
    /// Number of segments delivered.
    delivered: u32,
}

/// Runs a flow on a link of 1000 segments per second with a round-trip time of 100 ms, a bandwidth-delay product of 100
/// segments, and an unlimited queue.
fn run(control: Value, seconds: u64) -> Trace {
    let mut net = Net::new(tcp(json!({ "congestion-control": control })), MS(50), deliver, answer);
    net.per_segment = Dur::from_ms(1);
    net.keep_log = false;
    net.offer(u64::MAX);
    let mut rows = Vec::new();
    for ms in 0..seconds * 1_000 {
        net.run_until(at(ms));
        let mut state = BTreeMap::new();
        net.sender.probe(&mut |name, value| {
            state.insert(name, value);
        });
        rows.push((net.now, net.sender.in_flight(), state));
    }
    Trace { rows, retransmissions: net.sender.statistics().retransmissions, delivered: net.receiver.next() }
}

impl Trace {
    /// Returns start and duration of each period in a mode (version 1: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT;
    /// version 3: 6 ProbeRTT).
    fn periods(&self, mode: f64) -> Vec<(Time, Dur)> {
        let mut found: Vec<(Time, Dur)> = Vec::new();
        let mut last = None;
        for (now, _, state) in &self.rows {
            let is = state["mode"] == mode;
            match (is, last) {
                (true, None) => {
                    found.push((*now, Dur::ZERO));
                    last = Some(*now);
                }
                (true, Some(start)) => found.last_mut().expect("begun").1 = now.since(start),
                (false, _) => last = None,
            }
        }
        found
    }
    /// Prints the state at each change of the mode.
    fn print(&self) {
        let mut last = f64::NAN;
        for (now, in_flight, state) in &self.rows {
            if state["mode"] != last {
                println!("{now:?} in flight {in_flight} {state:?}");
                last = state["mode"];
            }
        }
    }
}

#[test]
fn version_1_finds_the_bandwidth_and_the_minimum_round_trip_time() {
    let trace = run(json!({ "kind": "bbr" }), 30);
    for (_, _, state) in &trace.rows[3_000..] {
        assert!((state["bandwidth"] / 1_000.0 - 1.0).abs() < 0.02, "{state:?}");
        // The first sample of ProbeRTT, which replaces the expired minimum, includes queueing delay.
        assert!(state["mode"] == 3.0 || (0.1..0.102).contains(&state["min-rtt"]), "{state:?}");
    }
    assert_eq!(trace.retransmissions, 0);
    println!("delivered {} of 30000", trace.delivered);
    // ProbeRTT and the drain of Startup's queue cost less than 5 %.
    assert!(trace.delivered > 28_500);
}

#[test]
fn version_1_keeps_one_to_two_times_the_bandwidth_delay_product_outstanding() {
    let trace = run(json!({ "kind": "bbr" }), 30);
    let (mut sum, mut n) = (0.0, 0);
    for (now, in_flight, state) in &trace.rows[3_000..] {
        let bdp = 100.0;
        // Twice the product, with a margin of 10 %, and three quanta of two segments.
        assert!(f64::from(*in_flight) <= 2.0 * bdp * 1.1 + 6.0, "{now:?}: {in_flight} in flight {state:?}");
        if state["mode"] == 2.0 {
            sum += f64::from(*in_flight) / bdp;
            n += 1;
        }
    }
    let mean = sum / f64::from(n);
    println!("mean in flight {mean:.3} times the bandwidth-delay product");
    assert!((0.95..1.5).contains(&mean), "{mean}");
}

#[test]
fn version_1_probes_the_round_trip_time_every_10_s_for_at_least_200_ms() {
    let trace = run(json!({ "kind": "bbr" }), 45);
    trace.print();
    let probes = trace.periods(3.0);
    assert!(probes.len() >= 3, "{probes:?}");
    for pair in probes.windows(2) {
        // ProbeRTT starts ten seconds after the last sample of the minimum round-trip time. Such samples occur until a
        // queue has formed again, within one gain cycle.
        let &[(start, duration), (next, _)] = pair else { unreachable!("windows of two") };
        let idle = next.since(start + duration).as_secs();
        assert!((9.9..10.9).contains(&idle), "{probes:?}");
    }
    for (_, duration) in &probes {
        // It takes one round trip until only four segments are outstanding, then 200 ms, and the time to the end of a
        // round trip.
        assert!((0.2..0.55).contains(&duration.as_secs()), "{probes:?}");
    }
    for (start, _) in &probes {
        let minimum = trace
            .rows
            .iter()
            .filter(|(t, ..)| t.since(*start) < MS(300) && t >= start)
            .map(|(_, in_flight, _)| *in_flight)
            .min();
        assert!(minimum.is_some_and(|n| n <= 4), "{minimum:?} segments outstanding at the minimum");
    }
}

#[test]
fn version_1_leaves_startup_after_three_rounds_without_growth() {
    let trace = run(json!({ "kind": "bbr" }), 5);
    let startup = trace.periods(0.0);
    assert_eq!(startup.len(), 1, "{startup:?}");
    let end = startup[0].1.as_secs();
    let full = trace.rows.iter().find(|(_, _, s)| s["bandwidth"] > 950.0).expect("it finds the bandwidth").0.as_secs();
    println!("bandwidth found at {full:.3} s, Startup left at {end:.3} s");
    // Startup lasts three rounds longer, each of more than 100 ms because of a queue of up to 1.9 bandwidth-delay
    // products.
    assert!(end - full > 0.2 && end - full < 1.0, "{full} to {end}");
    let drain = trace.periods(1.0);
    assert_eq!(drain.len(), 1);
    assert!(drain[0].1.as_secs() < 0.5, "{drain:?}");
}

#[test]
fn version_3_finds_the_path_and_keeps_about_its_bandwidth_delay_product_outstanding() {
    let trace = run(json!({ "kind": "bbr3" }), 30);
    trace.print();
    let (mut sum, mut n) = (0.0, 0);
    for (now, in_flight, state) in &trace.rows[3_000..] {
        assert!((state["bandwidth"] / 1_000.0 - 1.0).abs() < 0.02, "{now:?} {state:?}");
        assert!(*in_flight <= 240, "{now:?}: {in_flight} {state:?}");
        if state["mode"] != 6.0 {
            assert!((0.1..0.102).contains(&state["min-rtt"]), "{now:?} {state:?}");
            sum += f64::from(*in_flight) / 100.0;
            n += 1;
        }
    }
    let mean = sum / f64::from(n);
    println!("mean in flight {mean:.3} times the bandwidth-delay product, delivered {} of 30000", trace.delivered);
    assert!((0.95..1.5).contains(&mean), "{mean}");
    assert!(trace.delivered > 28_500, "{}", trace.delivered);
    assert_eq!(trace.retransmissions, 0);
}

#[test]
fn version_3_probes_the_round_trip_time_every_5_s_at_half_the_bandwidth_delay_product() {
    let trace = run(json!({ "kind": "bbr3" }), 45);
    let probes = trace.periods(6.0);
    assert!(probes.len() >= 7, "{probes:?}");
    for pair in probes.windows(2) {
        let &[(start, duration), (next, _)] = pair else { unreachable!("windows of two") };
        let idle = next.since(start + duration).as_secs();
        assert!((4.9..5.2).contains(&idle), "{probes:?}");
    }
    for (start, duration) in &probes {
        assert!((0.2..0.45).contains(&duration.as_secs()), "{probes:?}");
        let minimum = trace
            .rows
            .iter()
            .filter(|(t, ..)| t.since(*start) < *duration && t >= start)
            .map(|(_, in_flight, _)| *in_flight)
            .min();
        assert!(minimum.is_some_and(|n| (45..=51).contains(&n)), "{minimum:?} segments outstanding at the minimum");
    }
}

/// Returns the goodput as a fraction of the link's rate, and the fraction of segments lost, both over the last 40 of 50
/// s. The queue drops arrivals beyond `limit` segments, and each segment is also lost with probability `p`. The
/// bandwidth-delay product is 100 segments.
fn shallow(control: Value, limit: u64, p: f64) -> (f64, f64) {
    let per_segment = Dur::from_ms(1);
    let mut rng = Rng::named(1, "loss");
    let mut free = Time::ZERO;
    let counts = Rc::new(Cell::new((0u64, 0u64)));
    let seen = Rc::clone(&counts);
    let fate = move |now: Time, _: &Segment| {
        let (sent, lost) = seen.get();
        let full = free.since(now).0.div_ceil(per_segment.0) > limit;
        let drop = full || rng.chance(p);
        if !drop {
            free = free.max(now) + per_segment;
        }
        seen.set((sent + 1, lost + u64::from(drop)));
        Fate { lost: drop, ..Fate::default() }
    };
    let mut net = Net::new(tcp(json!({ "congestion-control": control })), MS(50), fate, answer);
    net.per_segment = per_segment;
    net.keep_log = false;
    net.offer(u64::MAX);
    net.run_until(at(10_000));
    let (first, (sent_before, lost_before)) = (net.receiver.next(), counts.get());
    net.run_until(at(50_000));
    let (sent, lost) = counts.get();
    (f64::from(net.receiver.next() - first) / 40_000.0, (lost - lost_before) as f64 / (sent - sent_before) as f64)
}

#[test]
fn version_3_keeps_loss_in_a_shallow_queue_below_that_of_version_1() {
    let (goodput_1, loss_1) = shallow(json!({ "kind": "bbr" }), 10, 0.0);
    let (goodput_3, loss_3) = shallow(json!({ "kind": "bbr3" }), 10, 0.0);
    println!("goodput {goodput_1:.3} and {goodput_3:.3}, loss {loss_1:.4} and {loss_3:.4}");
    assert!(goodput_1 > 0.85 && goodput_3 > 0.8);
    assert!(loss_3 < 0.02 && loss_3 < loss_1, "{loss_1} and {loss_3}");
}

#[test]
fn random_loss_of_one_per_cent_slows_neither_version_as_it_slows_cubic() {
    let goodput = |kind: &str| shallow(json!({ "kind": kind }), 1_000, 0.01).0;
    let (one, three, cubic) = (goodput("bbr"), goodput("bbr3"), goodput("cubic"));
    println!("goodput: bbr {one:.3}, bbr3 {three:.3}, cubic {cubic:.3}");
    assert!(one > 0.9, "{one}");
    assert!(three > 0.6, "{three}");
    assert!(cubic < 0.3, "{cubic}");
}
