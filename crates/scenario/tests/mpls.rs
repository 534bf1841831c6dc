//! Labels from a document to the queues that classify by them.

use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{Report, World};

/// Returns the report of a tunnel from pe1 to pe2 whose provider swaps the customer's classes. The port at the end of
/// the tunnel and the one behind it are too slow: the first classifies by the traffic class of the labels, the second by
/// the DSCP.
fn tunnel(mode: &str) -> Report {
    let document = format!(
        r#"
tailback = 1
run = {{ duration = "4s" }}
network = {{ framing = {{ mtu = "1500B", header = "18B", overhead = "20B" }}, buffer = "unlimited" }}
hosts = {{ a = {{}}, b = {{}} }}
links = [
  {{ between = ["a", "pe1"], rate = "100Mbit/s" }},
  {{ between = ["pe1", "pe2"], rate = "100Mbit/s" }},
  {{ between = ["pe2", "ce"], rate = "8Mbit/s" }},
  {{ between = ["ce", "b"], rate = "5Mbit/s" }},
]
[switches.pe1.ports.pe2]
mpls = {{ labels = 2, mode = "{mode}", exp = {{ ef = 0, default = 7 }} }}
[switches.pe2.ports.ce]
discipline = {{ kind = "priority", levels = [{{ name = "high", limit = "20packets", match = {{ exp = [5, 6, 7] }} }}, {{ name = "low", limit = "20packets" }}], default = "low" }}
[switches.ce.ports.b]
discipline = {{ kind = "priority", levels = [{{ name = "high", limit = "20packets", match = {{ precedence = [5, 6, 7] }} }}, {{ name = "low", limit = "20packets" }}], default = "low" }}
[[flows]]
name = "gold"
from = "a"
to = "b"
dscp = "ef"
source = {{ kind = "cbr", packet = "1000B", rate = "6Mbit/s", wander = 0.1 }}
[[flows]]
name = "other"
from = "a"
to = "b"
source = {{ kind = "cbr", packet = "1000B", rate = "6Mbit/s", wander = 0.1 }}
"#
    );
    let scenario = Scenario::from_toml(&document, "tunnel.toml").unwrap_or_else(|e| panic!("{e}"));
    let reports = [Engine::Merged, Engine::Plain].map(|engine| {
        let mut world = World::new(build(&scenario, 1, Some(engine)));
        crate::common::to_end(&mut world);
        world.report()
    });
    assert_eq!(reports[0].digest, reports[1].digest, "both engines");
    let [report, _] = reports;
    report
}

/// Returns the number of packets of a flow that are lost at a port.
fn drops(report: &Report, flow: &str, port: &str) -> u64 {
    let flow = report.flows.iter().find(|f| f.name == flow).expect("a flow of that name");
    flow.drops.iter().filter(|drop| drop.place == port).map(|drop| drop.packets).sum()
}

#[test]
fn label_bytes_are_counted_only_on_their_link() {
    let report = tunnel("short-pipe");
    let sent = |name: &str| report.ports.iter().find(|port| port.name == name).expect("a port").classes[0].sent;
    for (port, size) in [("a->pe1", 1018), ("pe1->pe2", 1026), ("pe2->ce", 1018), ("ce->b", 1018)] {
        let sent = sent(port);
        assert!(sent.packets > 1000);
        assert_eq!(sent.bytes, size * sent.packets, "{port}");
    }
}

#[test]
fn the_three_modes_differ_in_the_field_read_at_and_behind_the_tunnels_end() {
    // By mode: the flow that has no losses at the tunnel's end, and the one that has none behind it.
    for (mode, end, behind) in
        [("pipe", "other", "gold"), ("short-pipe", "gold", "gold"), ("uniform", "other", "other")]
    {
        let report = tunnel(mode);
        let burdened = |spared: &str| if spared == "gold" { "other" } else { "gold" };
        assert_eq!(drops(&report, end, "pe2->ce"), 0, "{mode}: {end} at the tunnel's end");
        assert!(drops(&report, burdened(end), "pe2->ce") > 500, "{mode}");
        let (spared, lost) = (drops(&report, behind, "ce->b"), drops(&report, burdened(behind), "ce->b"));
        // The preferred flow, too, loses packets if it alone exceeds the rate of the port.
        assert!(lost > 500 && spared < lost, "{mode}: {behind} loses {spared} behind it, the other {lost}");
    }
}
