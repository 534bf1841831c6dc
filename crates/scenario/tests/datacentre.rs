//! Congestion controls of data centres in a rack: shares, queues, and the predictions of their papers.

use tailback_random::maths;
use tailback_scenario::{Scenario, ScenarioError, build};
use tailback_sim::{Report, World};

/// Returns the report of `senders` hosts at a switch that send to one host at 10 Gbit/s, measured from 2 ms on; `more` is
/// appended to the document. RED marks between 5 and 200 kB with a probability of up to 10 %: four senders with DCQCN
/// need 1.6 %; the paper's maximum of 1 %, for 40 Gbit/s, would leave no margin below the upper threshold.
fn incast(control: &str, senders: u32, duration: &str, more: &str) -> Report {
    marked_incast(0.1, control, senders, ["2ms", duration], more)
}

/// Returns the report of the scenario of [`incast`] with a marking probability of up to `max_p`, measured between two
/// given times.
fn marked_incast(max_p: f64, control: &str, senders: u32, [warmup, duration]: [&str; 2], more: &str) -> Report {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "{duration}", warmup = "{warmup}", sample = "100us" }}
[network]
buffer = "8MB"
discipline = {{ kind = "red", min = "5kB", max = "200kB", max-p = {max_p}, weight = 1, mean-packet = "1kB", byte-mode = false, gentle = false, independent = true, ecn = true, above-max = "mark" }}
[hosts]
h = {{ count = {senders} }}
sink = {{}}
[switches]
s = {{}}
[[links]]
between = ["h*", "s"]
rate = "10Gbit/s"
delay = "1us"
[[links]]
between = ["s", "sink"]
rate = "10Gbit/s"
delay = "1us"
[[flows]]
name = "f"
from = "h*"
to = "sink"
source = {{ kind = "bulk" }}
start-spread = "100us"
transport = {{ kind = "rdma", congestion-control = {control} }}
{more}
"#
    );
    let scenario = Scenario::from_toml(&text, "incast.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    world.report()
}

/// Returns the payload bytes that each flow has delivered.
fn delivered_bytes(report: &Report) -> Vec<f64> {
    report.flows.iter().map(|flow| flow.delivered.bytes as f64).collect()
}
/// Returns Jain's fairness index of the shares.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}
fn port<'a>(report: &'a Report, name: &str) -> &'a tailback_sim::PortReport {
    report.ports.iter().find(|port| port.name == name).expect("a port of that name")
}

#[test]
fn acknowledgements_of_adapters_are_not_dropped_by_queues_that_mark() {
    // Data towards h1 fills the queue through which the acknowledgements of h1's own flow must pass.
    let back = r#"
[[flows]]
name = "back"
from = "h1"
to = "sink"
source = { kind = "bulk" }
transport = { kind = "rdma", congestion-control = { kind = "dctcp" } }
[[flows]]
name = "towards"
from = "h2"
to = "h1"
source = { kind = "bulk" }
transport = { kind = "rdma", congestion-control = { kind = "dctcp" } }
[[flows]]
name = "towards-too"
from = "h3"
to = "h1"
source = { kind = "bulk" }
transport = { kind = "rdma", congestion-control = { kind = "dctcp" } }
"#;
    let report = incast("{ kind = \"dctcp\" }", 3, "6ms", back);
    assert!(port(&report, "s->h1").classes[0].marked_packets > 0);
    assert_eq!(port(&report, "s->h1").classes[0].dropped.packets, 0);
}

#[test]
fn every_control_uses_at_least_four_fifths_of_the_link_and_loses_nothing() {
    for (control, utilisation) in [("dctcp", 0.98), ("dcqcn", 0.8), ("timely", 0.9), ("hpcc", 0.9), ("swift", 0.98)] {
        // TIMELY would need 0.1 s to recover from a start of four senders at line rate.
        let more = if control == "timely" { ", start = 0.25" } else { "" };
        let report = incast(&format!("{{ kind = \"{control}\"{more} }}"), 4, "12ms", "");
        let out = port(&report, "s->sink");
        assert!(out.utilisation >= utilisation, "{control}: {}", out.utilisation);
        let dropped: u64 = report.flows.iter().map(|flow| flow.dropped.packets).sum();
        assert_eq!(dropped, 0, "{control}");
        let fairness = jain(&delivered_bytes(&report));
        let queue = out.classes[0].mean_bytes;
        println!("{control}: utilisation {:.3}, Jain {fairness:.4}, mean queue {queue:.0} B", out.utilisation);
    }
}

/// Returns the marking probability p and α at the fixed point of DCQCN for a sender of `rate` packets per second: the
/// cut of one notification equals the mean recovery by the timer until the next. The next notification comes with the
/// first mark more than τ later, so that the i-th timer event precedes it with probability (1 − p)^(R (i T − τ)), R in
/// packets per second. From these, α = 1/(1 + number of timer events between two), since each event is also a decay by
/// g, and a cut of α R/2 whose gap halves at each event, to which each event after the fifth adds R_AI. The byte
/// counter has no effect, since 10 MB take more than 16 ms.
fn dcqcn_fixed_point(rate: f64) -> (f64, f64) {
    let (tau, timer, additive) = (50e-6, 55e-6, 40e6 / 8.0 / 1086.0);
    let drift = |p: f64| {
        let unmarked = |i: u32| maths::pow(1.0 - p, (rate * (f64::from(i) * timer - tau)).max(0.0));
        let events: f64 = (1..2_000).map(unmarked).sum();
        let alpha = 1.0 / (1.0 + events);
        let (mut gap, mut target, mut mean) = (rate * alpha / 2.0, 0.0, 0.0);
        for i in 0..2_000 {
            mean += (unmarked(i) - unmarked(i + 1)) * (target - gap);
            let step = if i + 1 > 5 { additive } else { 0.0 };
            (target, gap) = (target + step, f64::midpoint(gap, step));
        }
        (mean, alpha)
    };
    let (mut low, mut high) = (1e-5, 0.5);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if drift(middle).0 > 0.0 { low = middle } else { high = middle }
    }
    (low, drift(low).1)
}

/// Y. Zhu and others, *ECN or Delay*, CoNEXT 2016, theorem 1: with R_AI and C in packets per second the fluid model
/// settles at p³ ≈ R_AI N² / (τ′ C²) · (1/B + N/(T C))² and at the queue for which RED marks p. The number of
/// notifications is that of the fixed point; marks are more frequent, since the queue oscillates about its mean and the
/// marks of one oscillation fall into the 50 us of one notification.
#[test]
fn dcqcn_settles_at_its_fixed_point() {
    for (senders, max_p) in [(2, 0.1), (3, 0.1), (4, 0.1), (4, 0.2)] {
        let report = marked_incast(max_p, "{ kind = \"dcqcn\" }", senders, ["200ms", "600ms"], "probe = true");
        let out = &port(&report, "s->sink").classes[0];
        let (n, c) = (f64::from(senders), 1e10 / 8.0 / 1086.0);
        let (p, alpha) = dcqcn_fixed_point(c / n);
        let (additive, timer, bytes) = (40e6 / 8.0 / 1086.0, 55e-6, 1e4);
        let gap = 1.0 / bytes + n / (timer * c);
        let cubed = additive * n * n / (timer * c * c) * gap * gap;

        let series = report.series.as_ref().expect("the run takes samples");
        // Samples from the end of the warm-up on.
        let first = series.time_s.iter().filter(|at| **at < 0.2).count();
        let alphas: Vec<f64> = series.transports.values().flat_map(|flow| flow["alpha"][first..].to_vec()).collect();
        let observed = alphas.iter().sum::<f64>() / alphas.len() as f64;
        let marked = out.marked_packets as f64 / out.sent.packets as f64;
        let ratio = marked * marked * marked / cubed;
        println!(
            "{senders} senders: alpha {observed:.4} for {alpha:.4}, p {marked:.4} for {p:.4}, p³ {ratio:.2} of the model's"
        );
        assert!((observed / alpha - 1.0).abs() < 0.1, "{senders} senders: alpha {observed} instead of {alpha}");
        assert!((1.0..1.3).contains(&(marked / p)), "{senders} senders: {marked} are marked instead of {p}");
        assert!((1.0..2.0).contains(&ratio), "{senders} senders: p³ is {ratio} of the fluid model's");
        // RED marks with this probability at this queue, between 5 kB (0) and 200 kB (max_p).
        let queue = 5e3 + marked / max_p * 195e3;
        assert!((out.mean_bytes / queue - 1.0).abs() < 0.1, "{senders} senders: {} of {queue} B", out.mean_bytes);
        assert!(jain(&delivered_bytes(&report)) > 0.98, "each has C/N");
    }
}

/// Li and others, SIGCOMM 2019: W = W_c η/U keeps the data in flight at η of a bandwidth-delay product, so that the
/// utilisation of the bottleneck is η, apart from the steps of W_AI, and its queue is empty.
#[test]
fn hpcc_uses_the_link_to_its_target_and_leaves_no_queue() {
    for target in [0.95, 0.8] {
        let control = format!("{{ kind = \"hpcc\", target = {target} }}");
        let report = marked_incast(0.1, &control, 4, ["20ms", "120ms"], "");
        let out = port(&report, "s->sink");
        println!("target {target}: {:.4}, queue {:.0} B", out.utilisation, out.classes[0].mean_bytes);
        assert!((out.utilisation - target).abs() < 0.025, "{} for {target}", out.utilisation);
        assert!(out.classes[0].mean_bytes < 5_000.0, "{} B wait", out.classes[0].mean_bytes);
        assert!(jain(&delivered_bytes(&report)) > 0.98, "W_AI makes them even: {:?}", delivered_bytes(&report));
    }
}

/// Zhu and others, CoNEXT 2016: TIMELY's rates have no unique fixed point, since any rates whose sum is C keep the
/// gradient at 0. Noise determines the outcome. Here the sender with the higher rate has RTT samples at shorter
/// intervals, so that its cuts are smaller and it takes nearly all of the link.
#[test]
fn timely_leaves_nearly_all_of_the_link_to_one_of_two_senders_that_began_alike() {
    let report = marked_incast(0.1, "{ kind = \"timely\", start = 0.5 }", 2, ["500ms", "900ms"], "");
    let shares = delivered_bytes(&report);
    let (smaller, larger) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    println!("{:.1} to 1, {:.3} used", larger / smaller, port(&report, "s->sink").utilisation);
    assert!(larger > 10.0 * smaller, "{shares:?}");
}

/// Zhu and others, CoNEXT 2016, algorithm 2: rates are equal at a queue of q* = q' (1 + N δ/(β C)), or at a round-trip
/// time of RTT_ref (1 + N δ/(β C)) if the error is computed from round-trip times, as here.
#[test]
fn patched_timely_settles_at_its_fixed_point_with_equal_rates() {
    for senders in [2, 4, 8] {
        let control = "{ kind = \"timely\", variant = \"patched\", start = 0.1 }";
        let report = marked_incast(0.1, control, senders, ["300ms", "500ms"], "");
        let out = &port(&report, "s->sink").classes[0];
        // A segment of 1000 B is 1086 B on the wire; beta is 0.008, delta 10 Mbit/s, and RTT_ref 50 us.
        let expected = 50e-6 * (1.0 + f64::from(senders) * 10e6 / (0.008 * 1e10));
        // RTT of the idle path: two links of 1 us in each direction, two transmissions of a segment, and two of an
        // acknowledgement of 86 B.
        let idle = 4e-6 + 2.0 * (1086.0 + 86.0) * 8.0 / 1e10;
        let rtt = idle + out.mean_bytes * (1086.0 / 1066.0) * 8.0 / 1e10;
        let fair = jain(&delivered_bytes(&report));
        println!("{senders} senders: {:.1} us for {:.1}, Jain {fair:.4}", rtt * 1e6, expected * 1e6);
        assert!((rtt / expected - 1.0).abs() < 0.1, "{senders} senders: {rtt} s for {expected}");
        assert!(fair > 0.98, "{senders} senders: {fair}");
    }
}

/// Returns the bytes that the flows of `near` and of `far` have delivered: three hosts each at two leaves below a spine,
/// of which `near` are at the receiver's leaf.
fn unequal_paths(control: &str) -> [Vec<f64>; 2] {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "80ms", warmup = "20ms" }}
network = {{ buffer = "8MB" }}
[hosts]
near = {{ count = 3 }}
far = {{ count = 3 }}
sink = {{}}
[switches]
leaf = {{ count = 2, latency = "1us" }}
spine = {{ latency = "1us" }}
[[links]]
between = ["near*", "leaf1"]
rate = "10Gbit/s"
delay = "1us"
[[links]]
between = ["sink", "leaf1"]
rate = "10Gbit/s"
delay = "1us"
[[links]]
between = ["far*", "leaf2"]
rate = "10Gbit/s"
delay = "1us"
[[links]]
between = ["leaf*", "spine"]
rate = "40Gbit/s"
delay = "1us"
[[flows]]
name = "f"
from = "[nf]*"
to = "sink"
source = {{ kind = "bulk" }}
start-spread = "100us"
transport = {{ kind = "rdma", congestion-control = {control} }}
"#
    );
    let scenario = Scenario::from_toml(&text, "unequal.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    let report = world.report();
    let delivered = |name: &str| {
        let flows = report.flows.iter().filter(|flow| flow.from.starts_with(name));
        flows.map(|flow| flow.delivered.bytes as f64).collect()
    };
    [delivered("near"), delivered("far")]
}

/// HPCC sends at the rate W/T: with one T for all senders, equal windows are equal rates. With each sender's own T, near
/// senders get less.
#[test]
fn hpcc_senders_with_paths_of_different_length_share_a_link_equally_with_the_t_of_the_group() {
    let mean = |bytes: &[f64]| bytes.iter().sum::<f64>() / bytes.len() as f64;
    let [near, far] = unequal_paths("{ kind = \"hpcc\" }");
    let all: Vec<f64> = near.iter().chain(&far).copied().collect();
    println!("one T: near {:.3} of far, Jain {:.4}", mean(&near) / mean(&far), jain(&all));
    assert!(jain(&all) > 0.99, "{near:?} {far:?}");
    let [near, far] = unequal_paths("{ kind = \"hpcc\", own-rtt = true }");
    println!("own T: near {:.3} of far", mean(&near) / mean(&far));
    assert!(mean(&near) < 0.8 * mean(&far), "{near:?} {far:?}");
}

/// Returns the report, or the error, of 128 hosts at eight leaves and `spines` spines. Each output port of a switch is a
/// congestion point, so that there are 8 (16 + spines) + 8 spines. Eight hosts send to the last.
fn leaf_spine(law: &str, spines: u32) -> Result<Report, String> {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "2ms" }}
network = {{ buffer = "150kB" }}
fabric = {{ kind = "leaf-spine", leaves = 8, spines = {spines}, hosts-per-leaf = 16, rate = "10Gbit/s" }}
[switches]
leaf = {{ congestion-notification = {{ kind = "{law}" }} }}
spine = {{ congestion-notification = {{ kind = "{law}" }} }}
[hosts]
h = {{ rate-limiters = {{ law = {{ kind = "{law}" }}, buffer = "150kB" }} }}
[[flows]]
name = "incast"
from = "h[2-9]"
to = "h128"
source = {{ kind = "uniform-fixed", burst = "1500B", rate = "9Gbit/s" }}
"#
    );
    let scenario = Scenario::from_toml(&text, "leaf-spine.toml").map_err(|error| error.to_string())?;
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    Ok(world.report())
}

#[test]
fn congestion_points_are_distinct_at_all_ports_of_a_leaf_spine_of_128_hosts() {
    let report = leaf_spine("bcn", 16).expect("384 points");
    let found = report.congestion.as_ref().expect("points");
    let highest = found.points.iter().map(|point| point.number).max();
    assert_eq!((found.points.len(), highest), (384, Some(384)));
    // The congestion point at the receiver has a number above 255. Limiters obey its messages to speed up, which
    // requires that they recognise it by the tags of their frames.
    let point = found.points.iter().find(|point| point.port.ends_with("->h128")).expect("the receiver's port");
    assert!(point.number > 255 && point.faster > 0, "{point:?}");
    let faster: u64 = found.limiters.iter().map(|limiter| limiter.faster).sum();
    assert!(faster > 0 && faster + 20 > point.faster, "{faster} of {}", point.faster);

    let error = leaf_spine("bcn", 24).expect_err("tags distinguish 511");
    assert!(error.contains("congestion points to 512") && error.contains("511"), "{error}");
    let report = leaf_spine("qcn", 24).expect("QCN reads no tags");
    assert_eq!(report.congestion.expect("points").points.len(), 512);
}

/// A link slower than the minimum rate of a law has its own rate as the minimum.
#[test]
fn laws_for_fast_links_run_over_slow_ones() {
    for control in ["timely", "hpcc", "dcqcn", "swift", "dctcp"] {
        for rate in ["1Mbit/s", "5Mbit/s", "10Mbit/s", "49Mbit/s"] {
            for kind in ["rdma", "tcp"] {
                let text = format!(
                    r#"
tailback = 1
run = {{ duration = "500ms" }}
hosts = {{ a = {{}}, b = {{}} }}
switches = {{ s = {{}} }}
links = [{{ between = ["[ab]", "s"], rate = "{rate}" }}]
flows = [{{ name = "f", from = "a", to = "b", source = {{ kind = "bulk" }}, transport = {{ kind = "{kind}", congestion-control = {{ kind = "{control}" }} }} }}]
"#
                );
                let scenario = Scenario::from_toml(&text, "slow.toml").unwrap_or_else(|e| panic!("{}", e.rendered()));
                let mut world = World::new(build(&scenario, 1, None));
                crate::common::to_end(&mut world);
                assert!(world.report().flows.iter().next().unwrap().delivered.packets > 0, "{kind}, {control}, {rate}");
            }
        }
    }
}

/// Returns two hosts at a switch with a congestion point; host `a` has rate limiters, whose queues have `discipline`.
/// `flow` is the end of the table of the flow from `a` to `b`.
fn limited(discipline: &str, flow: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "100ms" }}
class-maps = {{ first = {{ flow = 0 }} }}
[hosts]
a = {{ rate-limiters = {{ law = {{ kind = "bcn", floor = "100kbit/s" }}, buffer = "150kB", discipline = {discipline} }} }}
b = {{ }}
[switches]
s = {{ congestion-notification = {{ kind = "bcn", sampling = 1.0, equilibrium = 2, full = 4 }} }}
[[links]]
between = ["a", "s"]
rate = "100Mbit/s"
[[links]]
between = ["s", "b"]
rate = "10Mbit/s"
[[flows]]
name = "f"
from = "a"
to = "b"
{flow}
"#
    );
    Scenario::from_toml(&text, "limited.toml")
}

const FAST: &str = r#"source = { kind = "cbr", packet = "1000B", rate = "50Mbit/s" }"#;

#[test]
fn queues_of_rate_limiters_accept_class_maps_and_refuse_what_a_tag_replaces() {
    let by_map =
        |name: &str| format!(r#"{{ kind = "class-based", classes = [{{ match = "{name}", bandwidth = "20%" }}] }}"#);
    let scenario = limited(&by_map("first"), FAST).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    let report = world.report();
    let limiters = &report.congestion.as_ref().expect("there are limiters").limiters;
    assert!(limiters.iter().any(|limiter| limiter.created > 0), "a queue of this discipline was made: {limiters:?}");

    let error = limited(&by_map("fist"), FAST).expect_err("there is no such class map");
    assert!(error.to_string().contains("did you mean `first`?"), "{error}");
    let error = limited(r#"{ kind = "fair-queue" }"#, FAST).expect_err("it classifies by code points");
    assert!(error.to_string().contains("no DSCP to match"), "{error}");
    assert_eq!(error.first().path, "hosts.a.rate-limiters.discipline");
}

/// A tag uses the bits of the colour, so that colours set by transports would be lost silently.
#[test]
fn transports_that_mark_their_packets_are_refused_where_limiters_tag_them() {
    let marking = [
        r#"congestion-control = { kind = "packet-marking", target = "1Mbit/s" }"#,
        r#"reservation = { rate = "1Mbit/s", burst = "3kB" }"#,
    ];
    for marking in marking {
        let flow = format!(
            r#"source = {{ kind = "bulk" }}
transport = {{ kind = "tcp", {marking} }}"#
        );
        let error = limited(r#"{ kind = "drop-tail" }"#, &flow).expect_err("a tag replaces the colour");
        assert!(error.to_string().contains("frames cannot have a colour"), "{error}");
        assert_eq!(error.first().path, "flows[0].transport");
    }
    let flow = r#"source = { kind = "bulk" }
transport = { kind = "tcp" }"#;
    limited(r#"{ kind = "drop-tail" }"#, flow).unwrap_or_else(|e| panic!("{e}"));
}
