//! Congestion controls of data centres in a rack: shares, queues, and what their papers say of them.

use tailback_scenario::{Scenario, build};
use tailback_sim::{Report, World};

/// A switch with `senders` hosts at 10 Gbit/s that send to one, marking between 5 and 200 kB unless told.
fn incast(control: &str, senders: u32, duration: &str, more: &str) -> Report {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "{duration}", warmup = "2ms" }}
[network]
buffer = "8MB"
discipline = {{ kind = "red", min = "5kB", max = "200kB", max-p = 0.01, weight = 1, mean-packet = "1kB", byte-mode = false, gentle = false, wait = false, ecn = true, above-max = "mark" }}
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
    world.run_to_end();
    world.report()
}

fn goodputs(report: &Report) -> Vec<f64> {
    report.flows.iter().map(|flow| flow.delivered.bytes as f64).collect()
}
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}
fn port<'a>(report: &'a Report, name: &str) -> &'a tailback_sim::PortReport {
    report.ports.iter().find(|port| port.name == name).expect("a port of that name")
}

#[test]
fn acknowledgements_of_adapters_pass_queues_that_mark() {
    // Data towards h1 makes the queue long that the acknowledgements of h1's own flow have to pass.
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
fn every_control_fills_the_link_and_loses_nothing() {
    for (control, utilisation) in [("dctcp", 0.98), ("dcqcn", 0.8), ("timely", 0.9), ("hpcc", 0.9), ("swift", 0.98)] {
        // TIMELY needs a tenth of a second to come back from four senders that begin at line rate.
        let more = if control == "timely" { ", start = 0.25" } else { "" };
        let report = incast(&format!("{{ kind = \"{control}\"{more} }}"), 4, "12ms", "");
        let out = port(&report, "s->sink");
        assert!(out.utilisation >= utilisation, "{control}: {}", out.utilisation);
        let dropped: u64 = report.flows.iter().map(|flow| flow.dropped.packets).sum();
        assert_eq!(dropped, 0, "{control}");
        let fairness = jain(&goodputs(&report));
        let queue = out.classes[0].mean_bytes;
        println!("{control}: utilisation {:.3}, Jain {fairness:.4}, mean queue {queue:.0} B", out.utilisation);
    }
}
