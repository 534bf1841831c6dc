//! Admission policies give the same results with the merged engine, in which a FIFO port has one event per packet, and
//! with the plain engine.

use crate::common::*;
use tailback_document::decode;
use tailback_qdisc::Spec;
use tailback_sim::plan::*;
use tailback_transport::{EcnMode, Tcp};
use tailback_units::Dur;

/// Returns a network in which bursts, a CBR flow of a low rate and two connections, one of them with ECN, share a queue
/// with this discipline and limits of `bytes` and `packets`. The queue is that of port 4.
fn contended(discipline: &Spec, bytes: u64, packets: u64) -> Net {
    let mut net = Net::new(ETHERNET);
    let (a, b) = (net.host("a"), net.host("b"));
    let (left, right) = (net.switch("left"), net.switch("right"));
    let sink = net.host("sink");
    net.link(a, left, 100);
    net.link(b, left, 100);
    net.link(left, right, 10);
    net.link(right, sink, 100);
    net.delay(Dur::from_us(137));
    let queue = net.queue(left, right);
    queue.discipline = discipline.clone();
    queue.limits.fill(bytes);
    queue.places.fill(packets);
    net.flow(a, sink, 0, bursts(40_000, 4_000_000));
    net.flow(b, sink, 0, cbr(200, 100_000));
    for (from, ecn) in [(a, EcnMode::Classic), (b, EcnMode::Off)] {
        let flow = net.flow(from, sink, 0, bulk(400_000));
        net.plan.flows[flow].transport = Some(Tcp { ecn, ..Tcp::default() }.into());
    }
    net.plan.end = ms(3_000);
    net.plan.warmup = ms(333);
    net.plan.sample = Some(Dur::from_us(7_700));
    net
}

/// Returns RED with thresholds of 3 kB and 12 kB; `more` has further keys as JSON.
fn red(more: &str) -> Spec {
    let mut document = serde_json::json!({ "kind": "red", "min": "3kB", "max": "12kB", "max-p": 0.2, "weight": 0.05 });
    let more: serde_json::Value = serde_json::from_str(more).expect("JSON");
    document.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    decode(document).expect("a discipline")
}

#[test]
fn both_engines_give_the_same_report_for_every_admission_policy() {
    let policies = [
        Spec::default(),
        red("{}"),
        red(r#"{ "idle": "1993" }"#),
        red(r#"{ "ecn": true, "gentle": false, "above-max": "mark" }"#),
        red(r#"{ "ecn": true, "idle": "1993", "byte-mode": true, "adaptive": { "kind": "floyd" } }"#),
        red(r#"{ "count": "packets", "min": "2packets", "max": "6packets", "wait": false }"#),
    ];
    let limits = [(u64::MAX, 9), (20_000, u64::MAX), (9_000, 40), (400, 3), (u64::MAX, u64::MAX)];
    // Numbers of packets over all runs.
    let (mut early, mut full, mut marked) = (0, 0, 0);
    for policy in &policies {
        for (bytes, packets) in limits {
            let net = contended(policy, bytes, packets).routed();
            let reports = [Engine::Merged, Engine::Plain].map(|engine| {
                let mut report = run(Plan { engine, ..net.clone() });
                for class in &report.ports[4].classes {
                    marked += class.marked_packets;
                }
                for flow in report.flows.iter() {
                    for drop in &flow.drops {
                        match drop.reason.as_str() {
                            "early drop" => early += drop.packets,
                            "buffer full" => full += drop.packets,
                            other => panic!("dropped for {other}"),
                        }
                    }
                }
                let events = std::mem::take(&mut report.events);
                (serde_json::to_value(&report).expect("a report"), events)
            });
            let [(merged, fewer), (plain, more)] = reports;
            assert_eq!(merged, plain, "{policy:?} with {bytes} bytes and {packets} packets");
            assert!(fewer < more, "the merged engine must have fewer events: {fewer} and {more}");
        }
    }
    assert!(early > 500 && full > 500 && marked > 100, "{early} early, {full} at a full buffer, {marked} marked");
}
