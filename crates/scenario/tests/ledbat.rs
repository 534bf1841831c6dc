//! LEDBAT at a bottleneck: the delay that one flow keeps, competition with Reno, short buffers, and the advantage of the
//! latecomer (RFC 6817 sections 4.2 and 4.4).

use tailback_scenario::{Scenario, build};
use tailback_sim::{Report, World};

/// Transmission time of a segment of 1500 B at 10 Mbit/s, the bottleneck.
const SEGMENT: f64 = 1.2e-3;
/// One-way delay of a segment through empty queues: 20 ms, and the transmission at 10 Mbit/s and at 1 Gbit/s.
const BASE: f64 = 0.020 + SEGMENT + 12e-6;

/// Returns the report of flows, each with its congestion control and its start in seconds, over 10 Mbit/s with a
/// round-trip time of 40 ms, 33 segments, and a tail-drop buffer of `buffer` packets. Measured is from `warmup` to
/// `duration`, both in seconds.
fn share(buffer: u32, [warmup, duration]: [u32; 2], flows: &[(&str, u32)]) -> Report {
    let hosts = flows.len();
    let flow = |(i, (control, start)): (usize, &(&str, u32))| {
        let host = i + 1;
        format!(
            r#"
[[flows]]
name = "f{i}"
from = "h{host}"
to = "d"
start = "{start}s"
source = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion-control = {{ kind = "{control}" }} }}
"#
        )
    };
    let flows: Vec<String> = flows.iter().enumerate().map(flow).collect();
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "{duration}s", warmup = "{warmup}s" }}
network = {{ framing = "none" }}
hosts = {{ h = {{ count = {hosts} }}, d = {{}} }}
switches = {{ s = {{ ports = {{ d = {{ buffer = "{buffer}packets" }} }} }} }}
links = [
  {{ between = ["h*", "s"], rate = "1Gbit/s", delay = "0s" }},
  {{ between = ["s", "d"], rate = "10Mbit/s", delay = "20ms" }},
]
{}
"#,
        flows.concat()
    );
    let scenario = Scenario::from_toml(&text, "ledbat.toml").unwrap_or_else(|e| panic!("{}", e.rendered()));
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    world.report()
}

/// Returns the share of the first flow of two in the bytes delivered.
fn first(report: &Report) -> f64 {
    let bytes: Vec<f64> = report.flows.iter().map(|flow| flow.delivered.bytes as f64).collect();
    bytes[0] / bytes.iter().sum::<f64>()
}

/// Returns the mean queueing delay of a flow, seconds.
fn queueing(report: &Report, flow: usize) -> f64 {
    report.flows.row(flow).delay.mean_s.expect("packets have arrived") - BASE
}

/// Returns the utilisation of the bottleneck.
fn utilisation(report: &Report) -> f64 {
    report.ports.iter().find(|port| port.name == "s->d").expect("the bottleneck").utilisation
}

// RFC 6817 section 2.4.1: the window is constant where the queueing delay equals TARGET. The tolerance is three
// segments: the window is whole segments, acknowledgements release two segments at once, and the first sample, of the
// second of two segments sent together, is one segment above the base delay.
#[test]
fn one_flow_keeps_the_queueing_delay_at_the_target_and_the_link_busy() {
    let report = share(400, [120, 180], &[("ledbat", 0)]);
    let queueing = queueing(&report, 0);
    println!("{queueing}");
    assert!((queueing - 0.100).abs() < 3.0 * SEGMENT, "{queueing}");
    assert!(utilisation(&report) > 0.999);
    assert_eq!(report.flows.row(0).dropped.packets, 0);
}

// RFC 6817 section 4.2. Reno keeps 400 + 33 segments outstanding at a loss and half of them after it, so that the queue
// never takes less than (217 − 33) · 1.2 ms = 220 ms, and LEDBAT stays at its minimum window of two segments, of 325
// outstanding on average: 0.6 %.
#[test]
fn a_flow_yields_to_reno_if_the_buffer_is_long() {
    let report = share(400, [60, 180], &[("ledbat", 0), ("reno", 5)]);
    println!("{}", first(&report));
    assert!((0.003..0.012).contains(&first(&report)), "{}", first(&report));
    assert!(utilisation(&report) > 0.999);
}

// A buffer of 40 packets takes 48 ms, so that the queueing delay is always below the target: the window grows by 0.52 to
// 1 segment per round trip, and is halved at losses, nearly as Reno's.
#[test]
fn in_a_buffer_shorter_than_the_target_a_flow_is_controlled_by_losses_and_does_not_yield() {
    let alone = share(40, [60, 180], &[("ledbat", 0)]);
    let losses = alone.flows.row(0).dropped.packets;
    println!("{losses} {}", utilisation(&alone));
    assert!(losses > 5, "{losses}");
    // The window of 73 segments at a loss falls to 36, which still fill the path of 33.
    assert!(utilisation(&alone) > 0.98, "{}", utilisation(&alone));
    let report = share(40, [60, 300], &[("ledbat", 0), ("reno", 5)]);
    println!("{}", first(&report));
    assert!((0.25..0.6).contains(&first(&report)), "{}", first(&report));
}

// RFC 6817 section 4.4. The second flow takes the queue of the first, 100 ms, for a part of its base delay and adds
// 100 ms to it. The first measures 200 ms and falls to its minimum of two segments, of 33 + 167 outstanding: 1 %.
#[test]
fn a_latecomer_takes_the_standing_queue_for_its_base_delay_and_starves_the_first_flow() {
    let report = share(1000, [200, 300], &[("ledbat", 0), ("ledbat", 100)]);
    println!("{} {}", first(&report), queueing(&report, 1));
    assert!((0.005..0.02).contains(&first(&report)), "{}", first(&report));
    assert!((queueing(&report, 1) - 0.200).abs() < 6.0 * SEGMENT, "{}", queueing(&report, 1));
}
