//! The customer edge of the benchmark, against fluid predictions: 123 Mbit/s in five classes into 100 Mbit/s.

use serde_json::{Value, json};
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{Report, World};

const EDGE: &str = include_str!("../../../python/tailback/bench/edge50.toml");

/// Returns the report of the document, after a change, for 12 s including 2 s of warm-up; both engines must give the
/// same digest.
fn edge(change: impl FnOnce(&mut Value)) -> Report {
    let scenario = Scenario::from_toml(EDGE, "edge50.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut document: Value = serde_json::from_str(&scenario.to_json()).expect("a document that was written");
    document["run"]["duration"] = json!("12s");
    document["run"]["warmup"] = json!("2s");
    change(&mut document);
    let scenario = Scenario::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}"));
    let [merged, plain] = [Engine::Merged, Engine::Plain].map(|engine| {
        let mut world = World::new(build(&scenario, 1, Some(engine)));
        crate::common::to_end(&mut world);
        world.report()
    });
    assert_eq!(merged.digest, plain.digest);
    merged
}

/// Returns the table of the port that is overloaded.
fn port(document: &mut Value) -> &mut Value {
    &mut document["switches"]["edge"]["ports"]["core"]
}

/// Returns the loss, a fraction, of all flows whose group begins with this prefix.
fn loss(report: &Report, groups: &str) -> f64 {
    let flows = || report.flows.iter().filter(|flow| flow.group.starts_with(groups));
    let sum = |get: fn(&tailback_sim::FlowReport) -> u64| flows().map(|flow| get(&flow)).sum::<u64>() as f64;
    sum(|flow| flow.dropped.packets) / sum(|flow| flow.offered.packets)
}

/// Returns the mean delay of the flows of a group, seconds.
fn delay(report: &Report, group: &str) -> f64 {
    let delays: Vec<f64> =
        report.flows.iter().filter(|flow| flow.group == group).filter_map(|flow| flow.delay.mean_s).collect();
    delays.iter().sum::<f64>() / delays.len() as f64
}

/// Checks the losses of the classes, within 0.01, against the fluid prediction for shares with 15, 35, 20, 20 and 10 %:
/// the 47 Mbit/s that the other classes leave are divided equally between AF3x, which offers 30.02 Mbit/s (a loss of
/// 1 − 23.5/30.02 = 0.217), and AF2x, which offers 40.02 Mbit/s (0.413).
fn assert_fluid_losses(report: &Report) {
    for (groups, expected) in [("ef", 0.0), ("af4", 0.0), ("af1", 0.0), ("af3", 0.217), ("af2", 0.413)] {
        let found = loss(report, groups);
        assert!((found - expected).abs() < 0.01, "{groups}: {found}, expected {expected}");
    }
}

fn without_priority(document: &mut Value) {
    let classes = &mut port(document)["discipline"]["classes"];
    let voice = classes[0].as_object_mut().expect("a class");
    voice.remove("priority");
    voice.insert("bandwidth".to_owned(), json!("15%"));
}

fn without_wred(document: &mut Value) {
    for class in port(document)["discipline"]["classes"].as_array_mut().expect("classes") {
        class.as_object_mut().expect("a class").remove("discipline");
    }
}

#[test]
fn classes_of_the_edge_get_their_fluid_shares() {
    let cbwfq = edge(|document| {
        without_priority(document);
        without_wred(document);
    });
    let llq = edge(without_wred);
    let wred = edge(|_| ());
    for report in [&cbwfq, &llq, &wred] {
        assert_fluid_losses(report);
        assert!(report.flows.iter().all(|flow| flow.dscp > 0));
    }
    assert!(delay(&llq, "ef") <= delay(&cbwfq, "ef"), "priority delays voice");
    assert!(delay(&wred, "af31") < 0.8 * delay(&llq, "af31"), "early drops leave the queue as long");
    // A packet waits behind one packet in transmission and 15 in the ring, 120 us each, and occasionally behind one of
    // its own class.
    assert!((delay(&llq, "ef") - 16.5 * 120e-6).abs() < 0.1e-3, "{}", delay(&llq, "ef"));
}

#[test]
fn a_shaper_before_a_fast_link_gives_the_same_shares() {
    let report = edge(|document| {
        document["links"][1]["rate"] = json!("1Gbit/s");
        port(document)["shaper"] = json!({ "rate": "100Mbit/s" });
    });
    assert_fluid_losses(&report);
    let port = report.ports.iter().find(|port| port.name == "edge->core").expect("the port of the edge");
    let rate = port.classes[0].sent.bytes as f64 * 8.0 / 10.0;
    assert!((rate / 100e6 - 1.0).abs() < 1e-3, "{rate} bit/s");
}

#[test]
fn the_interpretations_of_flow_based_fair_queueing_differ_as_max_min_predicts() {
    let with = |discipline: Value| edge(|document| port(document)["discipline"] = discipline);
    let expect = |report: &Report, expected: &[(&str, f64)], tolerance: f64| {
        for (groups, expected) in expected {
            let found = loss(report, groups);
            assert!((found - expected).abs() < tolerance, "{groups}: {found}, expected {expected}");
        }
    };
    let fifo = edge(|document| {
        port(document)["discipline"] = json!({ "kind": "drop-tail", "packets": 40 });
    });
    // The phases of the periodic streams determine which of them lose packets at a full queue, but not the total,
    // 1 − 100/123.
    expect(&fifo, &[("", 0.187)], 0.002);
    // One queue for all flows is a FIFO.
    let one = with(json!({ "kind": "fair-queue", "key": "one", "hold": "40packets" }));
    let dropped = |report: &Report| report.flows.iter().map(|flow| flow.dropped.packets).collect::<Vec<_>>();
    assert_eq!(dropped(&one), dropped(&fifo));
    // A hold queue shorter than the number of flows loses like a FIFO, in any order of service.
    let short = with(json!({ "kind": "fair-queue", "queues": "per-flow", "hold": "40packets" }));
    expect(&short, &[("", 0.187)], 0.002);
    assert!(loss(&short, "ef") > 0.1 && loss(&short, "af4") > 0.1);
    let queues = json!({ "kind": "fair-queue", "queues": "per-flow", "weights": "equal" });
    let max_min =
        [("ef", 0.0), ("af1", 0.0), ("af31", 0.0), ("af41", 0.141), ("af32", 0.228), ("af21", 0.228), ("af22", 0.42)];
    let equal = |mut discipline: Value, limits: Value| {
        discipline.as_object_mut().expect("a table").extend(limits.as_object().expect("a table").clone());
        with(discipline)
    };
    let limits = json!({ "threshold": "20packets" });
    expect(&equal(queues.clone(), limits), &max_min, 0.01);
    let distributed = json!({ "threshold": "1000packets", "aggregate": "100packets", "individual": "10packets" });
    expect(&equal(queues, distributed), &max_min, 0.01);
    let weighted = with(json!({ "kind": "fair-queue", "queues": "per-flow", "threshold": "20packets" }));
    let expected =
        [("ef", 0.0), ("af4", 0.0), ("af1", 0.0), ("af31", 0.0), ("af32", 0.178), ("af21", 0.384), ("af22", 0.538)];
    expect(&weighted, &expected, 0.01);
}
