//! Values of the time series of disciplines: those of a new discipline, and those after packets whose effect is
//! computed by hand.

use crate::common::{Arrival, Log, Queue, Rig};
use serde_json::{Value, json};
use tailback_document::decode;
use tailback_qdisc::{Colour, Ecn, Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

fn rig(document: &Value) -> Rig {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Rig::new(&spec, &Site { bytes: 200_000, packets: 200, rate: Rate::mbit(8) }, Rng::named(1, "port"))
}

/// Returns all time series of the discipline.
fn series(rig: &Rig) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    rig.q.probe(&mut |name, value| found.push((name, value)));
    found
}

/// Enqueues packets of 1000 B of these flows at `at`.
fn arrive(rig: &mut Rig, at: Time, flows: &[u32], ecn: Ecn) {
    for (seq, flow) in flows.iter().enumerate() {
        let colour = Colour::Green;
        let arrival = Arrival { at, seq: seq as u32, flow: *flow, size: 1000, ecn, colour };
        rig.arrive(&arrival, &mut Log::new());
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Removes a packet; returns `true` if there was one.
fn leave(rig: &mut Rig, at: Time) -> bool {
    Queue::leave(rig, at, &mut Log::new()).is_some()
}

#[test]
fn a_new_discipline_reports_its_initial_state() {
    let red = [("average_bytes", 0.0), ("max_probability", 0.1), ("probability", 0.0)];
    let (a, b) = (json!({ "name": "a", "rate": "1Mbit/s" }), json!({ "name": "b", "rate": "1Mbit/s" }));
    let curve = |name: &str| json!({ "name": name, "ls": { "m2": "1Mbit/s" } });
    let classes = [("class_1_packets", 0.0), ("class_2_packets", 0.0)];
    for (document, expected) in [
        (json!({ "kind": "drop-tail" }), vec![]),
        (json!({ "kind": "red" }), red.to_vec()),
        (json!({ "kind": "ered" }), red.to_vec()),
        (json!({ "kind": "choke" }), [&red[..], &[("matched", 0.0)]].concat()),
        (
            json!({ "kind": "red-pd" }),
            [&red[..], &[("monitored_flows", 0.0), ("largest_filter_probability", 0.0)]].concat(),
        ),
        (json!({ "kind": "blue" }), vec![("probability", 0.0)]),
        (
            json!({ "kind": "sfb" }),
            vec![("mean_probability", 0.0), ("max_probability", 0.0), ("max_bin_packets", 0.0), ("boxed_flows", 0.0)],
        ),
        (json!({ "kind": "codel" }), vec![("dropping", 0.0), ("count", 0.0)]),
        (json!({ "kind": "cobalt" }), vec![("dropping", 0.0), ("count", 0.0), ("probability", 0.0)]),
        (
            json!({ "kind": "pie" }),
            vec![("probability", 0.0), ("delay_seconds", 0.0), ("burst_allowance_seconds", 0.15)],
        ),
        (json!({ "kind": "pi" }), vec![("probability", 0.0)]),
        (json!({ "kind": "rem" }), vec![("price", 0.0), ("probability", 0.0)]),
        // 80 % of the rate of the link.
        (json!({ "kind": "avq" }), vec![("virtual_queue_bytes", 0.0), ("virtual_rate_bits_per_second", 6.4e6)]),
        (
            json!({ "kind": "rio" }),
            vec![
                ("green_average", 0.0),
                ("green_probability", 0.0),
                ("yellow_average", 0.0),
                ("yellow_probability", 0.0),
            ],
        ),
        (json!({ "kind": "wred" }), vec![("average_packets", 0.0), ("probability", 0.0)]),
        (json!({ "kind": "sred" }), vec![("hit_frequency", 0.0), ("estimated_flows", 0.0), ("probability", 0.0)]),
        (json!({ "kind": "fred" }), vec![("average_packets", 0.0), ("average_packets_per_flow", 1.0), ("flows", 0.0)]),
        (
            json!({ "kind": "dualpi2" }),
            vec![
                ("base_probability", 0.0),
                ("classic_probability", 0.0),
                ("scalable_probability", 0.0),
                ("low_latency_packets", 0.0),
                ("classic_packets", 0.0),
            ],
        ),
        (json!({ "kind": "fq" }), vec![("flows", 0.0), ("new_flows", 0.0)]),
        (json!({ "kind": "fq-codel" }), vec![("flows", 0.0), ("new_flows", 0.0), ("dropping_flows", 0.0)]),
        (json!({ "kind": "fq-pie" }), vec![("flows", 0.0), ("largest_probability", 0.0)]),
        (json!({ "kind": "sfq-red" }), vec![("flows", 0.0), ("largest_average", 0.0)]),
        (json!({ "kind": "fair-queue-wred" }), vec![("average_packets", 0.0), ("probability", 0.0), ("flows", 0.0)]),
        (json!({ "kind": "wrr", "classes": [{ "match": { "flow": 0 } }] }), classes.to_vec()),
        (json!({ "kind": "priority", "levels": [{}, {}] }), classes.to_vec()),
        (json!({ "kind": "htb", "classes": [a, b] }), [&classes[..], &[("class_3_packets", 0.0)]].concat()),
        (
            json!({ "kind": "hfsc", "classes": [curve("a"), curve("b")] }),
            [&[("virtual_time", 0.0)], &classes[..]].concat(),
        ),
        (
            json!({ "kind": "class-based", "classes": [{ "match": { "flow": 0 }, "priority": {} }] }),
            vec![("priority_packets", 0.0), ("virtual_time", 0.0), ("class_1_packets", 0.0)],
        ),
        (
            json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "3kB", "discipline": { "kind": "fq-pie" } }),
            vec![("tokens_bytes", 3000.0), ("flows", 0.0), ("largest_probability", 0.0)],
        ),
    ] {
        assert_eq!(series(&rig(&document)), expected, "{document}");
    }
}

#[test]
fn disciplines_report_the_packets_and_flows_that_wait() {
    for (document, expected) in [
        (json!({ "kind": "drr" }), vec![("flows", 2.0)]),
        (json!({ "kind": "sfq" }), vec![("flows", 2.0)]),
        (json!({ "kind": "wfq" }), vec![("flows", 2.0)]),
        (json!({ "kind": "fair-queue" }), vec![("flows", 2.0)]),
        (json!({ "kind": "fq" }), vec![("flows", 2.0), ("new_flows", 2.0)]),
        (json!({ "kind": "fq-codel" }), vec![("flows", 2.0), ("new_flows", 2.0), ("dropping_flows", 0.0)]),
        (json!({ "kind": "fq-pie" }), vec![("flows", 2.0), ("largest_probability", 0.0)]),
        // With weight 1 the average is the backlog that a packet finds: 1000 B by the second packet of flow 0.
        (
            json!({ "kind": "sfq-red", "red": { "weight": 1.0, "min": "50kB" } }),
            vec![("flows", 2.0), ("largest_average", 1000.0)],
        ),
        // Averages after the arrivals at queues of 0, 1 and 2 packets: FRED's from the backlog before the packet. Two
        // flows, so one packet per flow.
        (
            json!({ "kind": "fred", "weight": 1.0 }),
            vec![("average_packets", 2.0), ("average_packets_per_flow", 1.0), ("flows", 2.0)],
        ),
        (
            json!({ "kind": "wred", "exponent": 1, "profiles": { "0": { "min": 90, "max": 95 } } }),
            // 0, then (0 + 1)/2, then (0.5 + 2)/2.
            vec![("average_packets", 1.25), ("probability", 0.0)],
        ),
        (
            json!({ "kind": "dualpi2" }),
            vec![
                ("base_probability", 0.0),
                ("classic_probability", 0.0),
                ("scalable_probability", 0.0),
                ("low_latency_packets", 0.0),
                ("classic_packets", 3.0),
            ],
        ),
        (
            json!({ "kind": "wrr", "classes": [{ "match": { "flow": 0 } }] }),
            vec![("class_1_packets", 2.0), ("class_2_packets", 1.0)],
        ),
        (
            json!({ "kind": "priority", "levels": [{ "match": { "flow": 0 } }, {}] }),
            vec![("class_1_packets", 2.0), ("class_2_packets", 1.0)],
        ),
        (
            json!({ "kind": "class-based", "classes": [{ "match": { "flow": 0 }, "priority": {} }] }),
            vec![("priority_packets", 2.0), ("virtual_time", 0.0), ("class_1_packets", 1.0)],
        ),
        (
            json!({ "kind": "htb", "default": "b", "classes": [
                { "name": "a", "rate": "1Mbit/s", "match": { "flow": 0 } }, { "name": "b", "rate": "1Mbit/s" }] }),
            vec![("class_1_packets", 2.0), ("class_2_packets", 1.0), ("class_3_packets", 0.0)],
        ),
        (
            json!({ "kind": "hfsc", "default": "b", "classes": [
                { "name": "a", "ls": { "m2": "1Mbit/s" }, "match": { "flow": 0 } },
                { "name": "b", "ls": { "m2": "1Mbit/s" } }] }),
            vec![("virtual_time", 0.0), ("class_1_packets", 2.0), ("class_2_packets", 1.0)],
        ),
    ] {
        let mut rig = rig(&document);
        arrive(&mut rig, Time::ZERO, &[0, 0, 1], Ecn::Ect0);
        assert_eq!(series(&rig), expected, "{document}");
        assert_eq!(rig.q.packets(), 3, "{document}");
        assert_eq!(rig.bytes(), 3000, "{document}");
    }
}

#[test]
fn l4s_packets_wait_in_the_low_latency_queue() {
    let mut rig = rig(&json!({ "kind": "dualpi2" }));
    arrive(&mut rig, Time::ZERO, &[0, 0, 1], Ecn::Ect1);
    assert_eq!((rig.state("low_latency_packets"), rig.state("classic_packets")), (3.0, 0.0));
}

/// RFC 9332, appendix A.1: p' grows by alpha times the queue delay's distance from the target plus beta times its
/// growth.
#[test]
fn the_base_probability_of_dualpi2_follows_from_the_delay_of_the_oldest_packet() {
    let mut rig = rig(&json!({ "kind": "dualpi2" }));
    arrive(&mut rig, Time::ZERO, &[0; 40], Ecn::NotEct);
    let mut log = Log::new();
    assert_eq!(rig.wake_at(), Some(at_ms(16)));
    rig.wake(at_ms(16), &mut log);
    // 0.16 (16 ms - 15 ms) + 3.2 (16 ms - 0 ms).
    let first = 0.16 * 0.001 + 3.2 * 0.016;
    assert!((rig.state("base_probability") - first).abs() < 1e-12);
    assert_eq!(rig.wake_at(), Some(at_ms(32)));
    rig.wake(at_ms(32), &mut log);
    // 0.16 (32 ms - 15 ms) + 3.2 (32 ms - 16 ms) more. The classic probability is the square, the scalable one twice p'.
    let second = first + 0.16 * 0.017 + 3.2 * 0.016;
    for (name, expected) in
        [("base_probability", second), ("classic_probability", second * second), ("scalable_probability", 2.0 * second)]
    {
        assert!((rig.state(name) - expected).abs() < 1e-12, "{name}: {}", rig.state(name));
    }
}

/// RFC 8289: the first packet that has waited for the target time starts the interval; the first after its end is dropped
/// (at its end it is not, as in Linux).
#[test]
fn codel_is_dropping_after_its_first_drop() {
    for document in
        [json!({ "kind": "codel", "mtu": "1B" }), json!({ "kind": "fq-codel", "mtu": "1B", "quantum": "9kB" })]
    {
        let mut rig = rig(&document);
        arrive(&mut rig, Time::ZERO, &[0; 6], Ecn::NotEct);
        let name = if document["kind"] == "codel" { "dropping" } else { "dropping_flows" };
        for (ms, dropping, packets) in [(4, 0.0, 5), (5, 0.0, 4), (105, 0.0, 3), (106, 1.0, 1)] {
            assert!(leave(&mut rig, at_ms(ms)));
            assert_eq!((rig.state(name), rig.q.packets()), (dropping, packets), "{document} at {ms} ms");
        }
        if name == "dropping" {
            assert_eq!(rig.state("count"), 1.0);
        }
    }
}

#[test]
fn choke_counts_the_pairs_that_it_drops() {
    // RED's average with weight 1 is the backlog: from the second packet on it is above `min`, and the candidate is of
    // the same flow.
    let red = json!({ "min": "1packet", "max": "100packets", "weight": 1.0, "count": "packets", "max-p": 1e-9, "wait": false });
    let mut rig = rig(&json!({ "kind": "choke", "red": red }));
    arrive(&mut rig, Time::ZERO, &[7, 7, 7, 7], Ecn::NotEct);
    assert_eq!((rig.state("matched"), rig.q.packets()), (2.0, 0));
}

#[test]
fn sred_reports_the_reciprocal_of_its_hit_frequency() {
    // With one zombie, the second packet of the same flow is a hit: P = (1 - a) 0 + a with a = 0.25 / 1.
    let mut rig = rig(&json!({ "kind": "sred", "zombies": 1 }));
    arrive(&mut rig, Time::ZERO, &[3, 3], Ecn::NotEct);
    assert_eq!((rig.state("hit_frequency"), rig.state("estimated_flows")), (0.25, 4.0));
}

#[test]
fn the_virtual_time_of_classes_is_that_of_their_service() {
    let mut rig = rig(&json!({ "kind": "class-based", "classes": [{ "match": { "flow": 0 }, "bandwidth": "50%" }],
        "default": { "bandwidth": "25%" } }));
    arrive(&mut rig, Time::ZERO, &[0, 0, 1], Ecn::NotEct);
    let wire = 8.0 * f64::from(crate::common::wire(1000));
    // Half of 8 Mbit/s, and a quarter. The first packet has start tag 0, then the default class's first.
    for expected in [0.0, 0.0] {
        assert!(leave(&mut rig, Time::ZERO));
        assert_eq!(rig.state("virtual_time"), expected);
    }
    // At the end of a busy period the virtual time is the largest finish tag: of two packets at 4 Mbit/s, or of one at
    // 2 Mbit/s, which is the same.
    assert!(leave(&mut rig, Time::ZERO));
    assert!((rig.state("virtual_time") - wire / 2e6).abs() < 1e-15);
    assert!(!leave(&mut rig, Time::ZERO));
}
