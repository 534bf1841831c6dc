//! Properties of the disciplines that distinguish flows (`KINDS`).

use crate::common::{Arrival, Fate, Rig, Traffic, seeded, serve};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tailback_document::{Checked, decode};
use tailback_qdisc::{Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate};

const KINDS: [&str; 14] = [
    "drr",
    "sfq",
    "wfq",
    "wf2q-plus",
    "virtual-clock",
    "scfq",
    "stfq",
    "sfq-red",
    "fred",
    "sred",
    "choke",
    "red-pd",
    "fq-codel",
    "fq-pie",
];

/// Returns a document of `kind` with some of its options, whose values the bits of `draw` select.
fn document(kind: &str, draw: u64) -> Value {
    let on = |bit: u64| draw >> bit & 1 == 1;
    let mut d = json!({ "kind": kind });
    let buckets = if on(0) { json!("per-flow") } else { json!(1 + draw % 9) };
    let quantum = json!(if on(1) { "1B" } else { "5kB" });
    let victim = json!(["tail", "head", "random"][(draw / 7 % 3) as usize]);
    let red = json!({ "ecn": on(2), "min": "2packets", "max": "9packets", "gentle": on(3), "max-p": 0.3 });
    let keys: &[(&str, Value)] = match kind {
        "drr" => &[("buckets", buckets), ("quantum", quantum), ("victim", victim)],
        "sfq" if on(4) => &[("buckets", json!(1 + draw % 9)), ("overflow", json!("share"))],
        "sfq" => &[("buckets", buckets), ("perturb", json!("3ms")), ("victim", victim), ("quantum", quantum)],
        "sfq-red" => &[("buckets", json!(1 + draw % 9)), ("red", red)],
        "fred" => &[("buckets", buckets), ("ecn", json!(on(2))), ("many-flows", json!(on(3)))],
        "sred" => &[("zombies", json!(1 + draw % 50)), ("full", json!(on(2))), ("ecn", json!(on(3)))],
        "choke" => &[("candidates", json!(1 + draw % 5)), ("red", red)],
        "red-pd" => &[("rtt", json!("5ms")), ("red", red)],
        "fq-codel" => {
            &[("buckets", buckets), ("quantum", quantum), ("batch", json!(1 + draw % 70)), ("ecn", json!(on(2)))]
        }
        "fq-pie" => &[("buckets", buckets), ("quantum", quantum), ("pie", json!({ "burst": "0s", "ecn": on(2) }))],
        "wfq" | "wf2q-plus" | "virtual-clock" | "scfq" | "stfq" if on(0) => {
            &[("weights", json!({ "0": 0.01, "3": 250.0, "4": 1.5 }))]
        }
        _ => &[("buckets", buckets)],
    };
    for (key, value) in keys {
        d[*key] = value.clone();
    }
    d
}

/// Returns parameters at the edges of their ranges.
fn edges() -> Vec<Value> {
    let eager = json!({ "ecn": true, "min": "1B", "max": "2B", "max-p": 1.0, "weight": 1.0 });
    vec![
        json!({ "kind": "drr", "quantum": "1GB", "weights": { "0": 1e-6, "1": 1e6 }, "victim": "head" }),
        json!({ "kind": "sfq", "buckets": 7, "perturb": "1ps", "quantum": "1B" }),
        json!({ "kind": "sfq-red", "buckets": 1000, "quantum": "1B", "red": eager }),
        json!({ "kind": "wfq", "weights": { "0": 1e-6, "1": 1e6, "2": 0.3 } }),
        json!({ "kind": "wf2q-plus", "weights": { "0": 1e-6, "1": 1e6, "2": 0.3 } }),
        json!({ "kind": "virtual-clock", "weights": { "0": 1e-6, "1": 1e6 }, "rate": "1bit/s" }),
        json!({ "kind": "fred", "min": "1packet", "max": "1.5packets", "ecn": true, "weight": 1.0, "buckets": 2 }),
        json!({ "kind": "fred", "many-flows": false, "min": "2packets", "weight": 0.5, "max-p": 1.0 }),
        json!({ "kind": "sred", "zombies": 1, "overwrite": 1.0, "max-p": 1.0, "ecn": true }),
        json!({ "kind": "choke", "candidates": 64, "red": eager }),
        json!({ "kind": "red-pd", "rtt": "1us", "hold": "0s", "intervals": 1, "needed": 1, "flows": 1, "red": eager }),
        json!({ "kind": "red-pd", "rtt": "24h" }),
        json!({ "kind": "fq-codel", "quantum": "1B", "target": "1ps", "interval": "1ps", "mtu": "1B", "batch": 1 }),
        json!({ "kind": "fq-codel", "quantum": "1GB", "batch": 10_000, "ecn": false }),
        json!({ "kind": "fq-pie", "quantum": "1B", "pie": { "target": "1ps", "alpha": 1e6, "beta": 1e6, "burst": "0s" } }),
    ]
}

proptest! {
    #![proptest_config(seeded(12))]

    #[test]
    fn each_packet_has_one_fate_flows_keep_their_order_and_queues_their_limits(
        seed in any::<u64>(), draw in any::<u64>(), packets in 1u64..80, bytes in 1_500u64..90_000, flows in 1u64..30,
    ) {
        let rate = Rate::mbit(10);
        let traffic = Traffic {
            rate, flows, packets: 2_000, sizes: &[40, 576, 1000, 1500], phase: Dur::from_ms(30), ..Traffic::default()
        }
        .draw(seed);
        let site = Site { bytes, packets, rate };
        for document in KINDS.into_iter().map(|kind| document(kind, draw)).chain(edges()) {
            let spec: Spec = decode(document.clone()).unwrap();
            Checked::check(&spec).unwrap();
            let mut rig = Rig::new(&spec, &site, Rng::named(seed, "port"));
            let mut within = true;
            let mut agree = true;
            let log = serve(&mut rig, rate, &traffic, |rig, _| {
                let mut seen = 0;
                rig.q.visit(&mut |_| seen += 1);
                agree &= seen == rig.q.packets();
                within &= rig.q.packets() <= packets && rig.bytes() <= bytes;
            });
            prop_assert!(within && agree, "{document}: within the limits: {within}, packets counted correctly: {agree}");
            // By the end each packet has been sent or dropped, once.
            let mut fates: Vec<u32> = log.iter().map(|(seq, _)| *seq).collect();
            fates.sort_unstable();
            prop_assert_eq!(fates, (0..traffic.len() as u32).collect::<Vec<_>>(), "{}", document);
            prop_assert_eq!(rig.q.packets(), 0);
            let marks = log.iter().filter(|(_, fate)| *fate == Fate::Sent { marked: true }).count() as u64;
            prop_assert!(marks <= rig.marked, "{document}");
            let mut newest: BTreeMap<u32, u32> = BTreeMap::new();
            for (seq, fate) in &log {
                let Arrival { flow, ecn, .. } = traffic[*seq as usize];
                if let Fate::Sent { marked } = fate {
                    prop_assert!(!marked || ecn != tailback_qdisc::Ecn::NotEct, "{document} marked a packet that is not ECN-capable");
                    prop_assert!(newest.insert(flow, *seq).is_none_or(|before| before < *seq), "{document} reordered flow {flow}");
                }
            }
        }
    }
}

#[test]
fn probed_variables_keep_their_names_and_order_under_traffic() {
    let names = |rig: &Rig| {
        let mut names = Vec::new();
        rig.q.probe(&mut |name, value| {
            assert!(value.is_finite(), "{name}");
            names.push(name);
        });
        names
    };
    let traffic = Traffic { packets: 2_000, ..Traffic::default() }.draw(1);
    for kind in KINDS {
        let spec: Spec = decode(json!({ "kind": kind })).unwrap();
        let mut rig = Rig::new(&spec, &crate::common::places(40, Rate::mbit(10)), Rng::named(1, "port"));
        let before = names(&rig);
        serve(&mut rig, Rate::mbit(10), &traffic, |rig, _| assert_eq!(names(rig), before, "{kind}"));
        assert!(!before.is_empty(), "{kind}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refused = |document: Value, field: &str| {
        let spec: Spec = decode(document.clone()).unwrap();
        let error = Checked::check(&spec).expect_err(&document.to_string());
        assert_eq!(error.path, field, "{document}");
    };
    refused(json!({ "kind": "drr", "quantum": "0B" }), "quantum");
    refused(json!({ "kind": "drr", "buckets": 0 }), "buckets");
    refused(json!({ "kind": "drr", "buckets": 4, "weights": { "1": 2.0 } }), "weights");
    refused(json!({ "kind": "wfq", "weights": { "1": 0.0 } }), "weights.1");
    refused(json!({ "kind": "stfq", "weights": { "16777216": 1.0 } }), "weights.16777216");
    refused(json!({ "kind": "sfq", "perturb": "0s" }), "perturb");
    refused(json!({ "kind": "sfq", "buckets": "per-flow", "overflow": "share" }), "overflow");
    refused(json!({ "kind": "sfq-red", "red": { "victim": "head" } }), "red.victim");
    refused(json!({ "kind": "sfq-red", "red": { "max-p": 0.0 } }), "red.max-p");
    refused(json!({ "kind": "fred", "min": "10packets", "max": "10packets" }), "max");
    refused(json!({ "kind": "fred", "max": "10packets" }), "min");
    refused(json!({ "kind": "sred", "zombies": 0 }), "zombies");
    refused(json!({ "kind": "choke", "candidates": 0 }), "candidates");
    refused(json!({ "kind": "red-pd", "needed": 6 }), "needed");
    refused(json!({ "kind": "fq-codel", "interval": "1ms" }), "interval");
    refused(json!({ "kind": "fq-codel", "batch": 0 }), "batch");
    refused(json!({ "kind": "fq-pie", "pie": { "update": "0s" } }), "pie.update");
    assert!(decode::<Spec>(json!({ "kind": "drr", "buckets": "per-host" })).is_err());
    assert!(decode::<Spec>(json!({ "kind": "virtual-clock", "rate": "0bit/s" })).is_err());
}

#[test]
fn a_document_is_unchanged_after_writing_and_reading() {
    for kind in KINDS {
        for draw in 0..64u64 {
            let spec: Spec = decode(document(kind, draw * 0x9e37_79b9)).unwrap();
            let written = serde_json::to_value(&spec).unwrap();
            assert_eq!(decode::<Spec>(written).unwrap(), spec);
        }
    }
}
