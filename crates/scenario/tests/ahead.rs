//! Ports that a PAUSE may stop. The merged engine computes transmissions ahead of time, until a PAUSE arrives; it gives
//! the same report as the plain engine.

use tailback_scenario::{Scenario, build};
use tailback_sim::World;
use tailback_sim::plan::Engine;

/// Returns the report with its number of events set to 0, and the number of events.
fn report_and_events(scenario: &Scenario, seed: u64, engine: Engine) -> (serde_json::Value, u64) {
    let mut world = World::new(build(scenario, seed, Some(engine)));
    crate::common::to_end(&mut world);
    let mut report = world.report();
    let events = std::mem::take(&mut report.events);
    (serde_json::to_value(&report).expect("a report"), events)
}

/// Counts over all seeds, which show that the mechanisms occurred in the compared runs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Number of notifications that reached a port.
    pauses: u64,
    /// Packets.
    dropped: u64,
    /// Packets, counted at each port that marks them.
    marked: u64,
    /// Packets.
    delivered: u64,
}

/// Returns the sum of `pick` over the entries of a list in the report.
fn sum(report: &serde_json::Value, list: &str, pick: impl Fn(&serde_json::Value) -> u64) -> u64 {
    report[list].as_array().expect("a list").iter().map(pick).sum()
}

/// Asserts that both engines give the same reports for several seeds. Returns the events of the merged engine divided
/// by those of the plain engine, and the counts.
fn compare(text: &str, seeds: std::ops::Range<u64>) -> (f64, Seen) {
    let scenario = Scenario::from_toml(text, "ahead.toml").unwrap_or_else(|e| panic!("{}", e.rendered()));
    let (mut seen, mut merged_events, mut plain_events) = (Seen::default(), 0, 0);
    for seed in seeds {
        let [(merged, events_of_merged), (plain, events_of_plain)] =
            [Engine::Merged, Engine::Plain].map(|engine| report_and_events(&scenario, seed, engine));
        for (key, plain) in plain.as_object().expect("a table") {
            assert_eq!(&merged[key], plain, "{key}, seed {seed}\n{text}");
        }
        let count = |value: &serde_json::Value| value["packets"].as_u64().expect("a count");
        let of_classes = |port: &serde_json::Value, pick: &dyn Fn(&serde_json::Value) -> u64| {
            port["classes"].as_array().expect("classes").iter().map(pick).sum::<u64>()
        };
        seen.pauses += sum(&merged, "ports", |port| port["notifications_received"].as_u64().unwrap_or(0));
        seen.dropped += sum(&merged, "flows", |flow| count(&flow["dropped"]));
        seen.marked += sum(&merged, "ports", |port| of_classes(port, &|c| c["marked_packets"].as_u64().unwrap_or(0)));
        seen.delivered += sum(&merged, "flows", |flow| count(&flow["delivered"]));
        merged_events += events_of_merged;
        plain_events += events_of_plain;
    }
    (merged_events as f64 / plain_events as f64, seen)
}

/// Returns a document with four hosts under each of three leaves: RDMA hosts whose connections are served in turn,
/// datagrams, and an incast that fills the switches' memory. `options` are further keys of the switch model.
fn leaf_spine(memory: &str, options: &str, discipline: &str) -> String {
    format!(
        r#"
tailback = 1
run = {{ duration = "400us", warmup = "50us", sample = "13us" }}
network = {{ buffer = "unlimited", discipline = {discipline} }}
backpressure = {{ scope = "class", signal = {{ kind = "mac", quanta = 700 }}, end-stations = true, response-time = "300ns" }}
[fabric]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts-per-leaf = 4
rate = "10Gbit/s"
delay = "600ns"
[switches.leaf]
model = {{ kind = "shared-buffer", memory = "{memory}", {options} }}
[switches.spine]
model = {{ kind = "shared-buffer", memory = "{memory}", {options} }}
[[flows]]
name = "search"
from = "h*"
to = "h*"
pair = "all"
application = {{ kind = "transfers", size = {{ kind = "exponential", mean = "30kB" }}, rate = "50Gbit/s" }}
transport = {{ kind = "rdma", congestion-control = {{ kind = "dcqcn", alpha-interval = "1us", notification-interval = "4us", increase-interval = "90us", additive = "50Mbit/s" }} }}
[[flows]]
name = "datagrams"
from = "h*"
to = "h*"
pair = "ring"
source = {{ kind = "poisson", packet = "700B", rate = "500Mbit/s" }}
[[flows]]
name = "incast"
from = "h*"
to = "h1"
pair = "all"
start = "100us"
source = {{ kind = "uniform-uniform", rate = "1.4Gbit/s", burst = "60kB" }}
"#
    )
}

const RED: &str = r#"{ kind = "red", min = "8kB", max = "400kB", max-p = 0.2, weight = 1, mean-packet = "1kB", byte-mode = false, gentle = false, independent = true, ecn = true, above-max = "mark" }"#;
const RED_1993: &str =
    r#"{ kind = "red", min = "4kB", max = "200kB", max-p = 0.1, weight = 0.1, mean-packet = "1kB", idle = "1993" }"#;

#[test]
fn with_memory_accounted_by_ingress_both_engines_agree_whether_or_not_it_is_exhausted() {
    let mut all = Seen::default();
    for (memory, options, max_events) in
        [("9MB", "", 0.8), ("300kB", "", 1.0), ("250kB", r#"shift = 2, reserve = "2kB""#, 1.0)]
    {
        for discipline in [RED, RED_1993, r#"{ kind = "drop-tail" }"#] {
            let (events, seen) = compare(&leaf_spine(memory, options, discipline), 1..4);
            println!("{memory} {options} {discipline}: events {events:.3}, {seen:?}");
            assert!(events < max_events, "{memory}: {events}");
            assert!(seen.delivered > 5_000, "{seen:?}");
            all.pauses += seen.pauses;
            all.marked += seen.marked;
            all.dropped += seen.dropped;
        }
    }
    assert!(all.pauses > 1_000 && all.marked > 300 && all.dropped > 100, "{all:?}");
}

#[test]
fn without_headroom_frames_are_lost_and_both_engines_lose_the_same() {
    let (_, seen) = compare(&leaf_spine("150kB", r#"headroom = "0B", shift = 2"#, RED), 1..4);
    println!("{seen:?}");
    assert!(seen.dropped > 10 && seen.pauses > 100, "{seen:?}");
}
