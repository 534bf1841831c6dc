//! Disciplines that mark, and the thresholds that warnings compare with a queue's limits. The expected values are
//! computed by hand from the documentation.

use serde_json::{Value, json};
use tailback_document::decode;
use tailback_qdisc::signals::{Length, Signals};
use tailback_qdisc::{Site, Spec};
use tailback_units::Rate;

/// Returns a text for each threshold of a queue of 200 kB and 500 packets at a link of 10 Mbit/s: path, "derived" or
/// "written", value, and the limits of the queue in bytes and packets.
fn thresholds(spec: &Spec) -> Vec<String> {
    let mut found = Vec::new();
    spec.each_threshold(&Site { bytes: 200_000, packets: 500, rate: Rate::mbit(10) }, &mut |threshold| {
        let how = if threshold.derived { "derived" } else { "written" };
        let Site { bytes, packets, .. } = threshold.site;
        found.push(format!("{} {how} {:?} in {bytes} B {packets}", threshold.path, threshold.length));
    });
    found
}

/// Returns the parameters of a document, without a check.
fn read(document: &Value) -> Spec {
    decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"))
}

#[test]
fn a_discipline_marks_if_its_parameters_or_those_of_an_inner_discipline_enable_marks() {
    let inside = |marks: bool| json!({ "kind": "red", "ecn": marks });
    let rate = "1Mbit/s";
    for marks in [false, true] {
        for kind in
            ["red", "blue", "sfb", "codel", "pie", "fred", "sred", "cobalt", "pi", "rem", "avq", "wred", "netem"]
        {
            assert_eq!(read(&json!({ "kind": kind, "ecn": marks })).marks(), marks, "{kind}");
        }
        for (kind, law) in [
            ("sfq-red", "red"),
            ("choke", "red"),
            ("red-pd", "red"),
            ("ered", "red"),
            ("rio", "green"),
            ("rio", "yellow"),
            ("rio", "red"),
            ("fq-pie", "pie"),
            ("fair-queue-wred", "wred"),
        ] {
            assert_eq!(read(&json!({ "kind": kind, law: { "ecn": marks } })).marks(), marks, "{kind} {law}");
        }
        let plain = json!({ "kind": "drop-tail" });
        for (first, rest) in [(inside(marks), plain.clone()), (plain, inside(marks))] {
            let flow = json!({ "flow": 0 });
            for document in [
                json!({ "kind": "class-based", "classes": [{ "match": flow, "remaining": 1, "discipline": first }], "default": { "discipline": rest } }),
                json!({ "kind": "wrr", "classes": [{ "match": flow, "discipline": first }], "default": { "discipline": rest } }),
                json!({ "kind": "priority", "default": "b", "levels": [{ "name": "a", "discipline": first }, { "name": "b", "discipline": rest }] }),
                json!({ "kind": "htb", "default": "b", "classes": [{ "name": "a", "rate": rate, "discipline": first }, { "name": "b", "rate": rate, "discipline": rest }] }),
                json!({ "kind": "hfsc", "default": "b", "classes": [
                    { "name": "a", "ls": { "m2": rate }, "discipline": first }, { "name": "b", "ls": { "m2": rate }, "discipline": rest }] }),
            ] {
                assert_eq!(read(&document).marks(), marks, "{document}");
            }
        }
        assert_eq!(read(&json!({ "kind": "shaper", "discipline": inside(marks) })).marks(), marks);
    }
    for kind in [
        "drop-tail",
        "drop-head",
        "drr",
        "sfq",
        "wfq",
        "scfq",
        "stfq",
        "fair-queue",
        "weighted-tail-drop",
        "fq",
        "priority",
    ] {
        assert!(!read(&json!({ "kind": kind })).marks(), "{kind}");
    }
    // FQ-CoDel and DualPI2 mark by default.
    assert!(read(&json!({ "kind": "fq-codel" })).marks() && read(&json!({ "kind": "dualpi2" })).marks());
    assert!(!read(&json!({ "kind": "fq-codel", "ecn": false })).marks());
}

#[test]
fn thresholds_follow_from_the_parameters_or_from_the_link() {
    // The limits of the queue.
    let q = "in 200000 B 500";
    let table: Vec<(Value, Vec<String>)> = vec![
        // min: half of what 10 Mbit/s send in 5 ms, 3125 B, which is more than five mean packets of 500 B. max: three
        // times min.
        (
            json!({ "kind": "red" }),
            vec![format!("min derived Bytes(3125.0) {q}"), format!("max derived Bytes(9375.0) {q}")],
        ),
        (
            json!({ "kind": "red", "min": "4kB" }),
            vec![format!("min written Bytes(4000.0) {q}"), format!("max derived Bytes(12000.0) {q}")],
        ),
        (
            json!({ "kind": "red", "min": "4packets", "max": "9packets" }),
            vec![format!("min written Bytes(2000.0) {q}"), format!("max written Bytes(4500.0) {q}")],
        ),
        (
            json!({ "kind": "red", "min": "4packets", "max": "9kB", "count": "packets" }),
            vec![format!("min written Packets(4.0) {q}"), format!("max written Packets(18.0) {q}")],
        ),
        // Five mean packets of 1 kB are more than 3125 B.
        (
            json!({ "kind": "red", "mean-packet": "1kB", "count": "packets" }),
            vec![format!("min derived Packets(5.0) {q}"), format!("max derived Packets(15.0) {q}")],
        ),
        (
            json!({ "kind": "choke", "red": { "min": "4kB" } }),
            vec![format!("red.min written Bytes(4000.0) {q}"), format!("red.max derived Bytes(12000.0) {q}")],
        ),
        (
            json!({ "kind": "red-pd", "red": { "min": "4kB" } }),
            vec![format!("red.min written Bytes(4000.0) {q}"), format!("red.max derived Bytes(12000.0) {q}")],
        ),
        (json!({ "kind": "blue" }), vec![]),
        (json!({ "kind": "blue", "threshold": "9kB" }), vec![format!("threshold written Bytes(9000.0) {q}")]),
        (json!({ "kind": "codel" }), vec![format!("target derived Wait(5ms) {q}")]),
        (json!({ "kind": "codel", "target": "6ms" }), vec![format!("target written Wait(6ms) {q}")]),
        (json!({ "kind": "pie" }), vec![format!("target derived Wait(15ms) {q}")]),
        (json!({ "kind": "pie", "target": "6ms" }), vec![format!("target written Wait(6ms) {q}")]),
        (json!({ "kind": "pi" }), vec![format!("reference derived Packets(50.0) {q}")]),
        (json!({ "kind": "pi", "reference": "7packets" }), vec![format!("reference written Packets(7.0) {q}")]),
        (json!({ "kind": "rem" }), vec![format!("target derived Packets(20.0) {q}")]),
        (json!({ "kind": "rem", "target": "7packets" }), vec![format!("target written Packets(7.0) {q}")]),
        // min: a quarter of the 200 packets that 200 kB hold, which is less than the 125 packets of a round trip of 100
        // ms. max: twice min.
        (
            json!({ "kind": "fred" }),
            vec![format!("min derived Packets(50.0) {q}"), format!("max derived Packets(100.0) {q}")],
        ),
        (
            json!({ "kind": "fred", "mean-packet": "2kB" }),
            vec![format!("min derived Packets(25.0) {q}"), format!("max derived Packets(50.0) {q}")],
        ),
        // min: a quarter of the 500 places, since 200 kB hold more packets and a round trip 3125.
        (
            json!({ "kind": "fred", "mean-packet": "40B" }),
            vec![format!("min derived Packets(125.0) {q}"), format!("max derived Packets(250.0) {q}")],
        ),
        (
            json!({ "kind": "fred", "min": "7packets" }),
            vec![format!("min written Packets(7.0) {q}"), format!("max derived Packets(14.0) {q}")],
        ),
        (
            json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "ef": "2packets" } }),
            vec![format!("limits.ef written Packets(2.0) {q}")],
        ),
        (json!({ "kind": "dualpi2" }), vec![]),
        (json!({ "kind": "dualpi2", "step-packets": 3 }), vec![format!("step-packets written Packets(3.0) {q}")]),
        // The smallest default `max` of WRED's profiles is 40 packets.
        (json!({ "kind": "wred" }), vec![format!("profiles derived Packets(40.0) {q}")]),
        (json!({ "kind": "fair-queue-wred" }), vec![format!("wred.profiles derived Packets(40.0) {q}")]),
        (
            json!({ "kind": "wred", "profiles": { "0": { "min": 7, "max": 9 } }, "nonconforming": { "max": 3 } }),
            vec![
                format!("profiles.0.min written Packets(7.0) {q}"),
                format!("profiles.0.max written Packets(9.0) {q}"),
                format!("nonconforming.max written Packets(3.0) {q}"),
            ],
        ),
        (
            json!({ "kind": "ered", "red": { "min": "4kB", "max": "6kB" }, "green-max": "9kB" }),
            vec![
                format!("red.min written Bytes(4000.0) {q}"),
                format!("red.max written Bytes(6000.0) {q}"),
                format!("green-max written Bytes(9000.0) {q}"),
            ],
        ),
        (
            json!({ "kind": "rio" }),
            vec![
                format!("green.min written Packets(40.0) {q}"),
                format!("green.max written Packets(70.0) {q}"),
                format!("yellow.min written Packets(10.0) {q}"),
                format!("yellow.max written Packets(30.0) {q}"),
            ],
        ),
        (json!({ "kind": "drop-tail" }), vec![]),
        (json!({ "kind": "drr" }), vec![]),
    ];
    for (document, expected) in table {
        assert_eq!(thresholds(&read(&document)), expected, "{document}");
    }
    // 10 Mbit/s send 125 packets of 1000 B in 100 ms, fewer than a quarter of a queue of 1 MB and 10,000 packets.
    let mut found = Vec::new();
    let site = Site { bytes: 1_000_000, packets: 10_000, rate: Rate::mbit(10) };
    read(&json!({ "kind": "fred" })).each_threshold(&site, &mut |threshold| match threshold.length {
        Length::Packets(packets) => found.push(packets),
        other => panic!("{other:?}"),
    });
    assert!((found[0] - 125.0).abs() < 1e-9 && (found[1] - 250.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn thresholds_inside_classes_have_the_path_of_the_class_and_its_limit() {
    let inner = json!({ "kind": "red", "min": "4kB", "max": "6kB" });
    let (flow, rate) = (json!({ "flow": 0 }), "1Mbit/s");
    for (document, paths) in [
        (
            json!({ "kind": "class-based", "classes": [{ "match": flow, "remaining": 1, "discipline": inner, "limit": "7kB" }],
                "default": { "discipline": inner, "limit": "9kB" } }),
            ["classes[0].discipline", "default.discipline"],
        ),
        (
            json!({ "kind": "wrr", "classes": [{ "match": flow, "discipline": inner, "limit": "7kB" }], "default": { "discipline": inner, "limit": "9kB" } }),
            ["classes[0].discipline", "default.discipline"],
        ),
        (
            json!({ "kind": "priority", "default": "b", "levels": [
                { "name": "a", "discipline": inner, "limit": "7kB" }, { "name": "b", "discipline": inner, "limit": "9kB" }] }),
            ["levels[0].discipline", "levels[1].discipline"],
        ),
        (
            json!({ "kind": "htb", "default": "b", "classes": [
                { "name": "a", "rate": rate, "discipline": inner, "limit": "7kB" }, { "name": "b", "rate": rate, "discipline": inner, "limit": "9kB" }] }),
            ["classes[0].discipline", "classes[1].discipline"],
        ),
        (
            json!({ "kind": "hfsc", "default": "b", "classes": [
                { "name": "a", "ls": { "m2": rate }, "discipline": inner, "limit": "7kB" },
                { "name": "b", "ls": { "m2": rate }, "discipline": inner, "limit": "9kB" }] }),
            ["classes[0].discipline", "classes[1].discipline"],
        ),
    ] {
        let found = thresholds(&read(&document));
        assert_eq!(found.len(), 4, "{document}: {found:?}");
        for ((pair, path), bytes) in found.chunks(2).zip(paths).zip([7_000, 9_000]) {
            for (threshold, (name, value)) in pair.iter().zip([("min", 4_000), ("max", 6_000)]) {
                let begin = format!("{path}.{name} written Bytes({value}.0) in {bytes} B");
                assert!(threshold.starts_with(&begin), "{document}: {threshold}");
            }
        }
    }
    // Each of ten buckets has a tenth of the limits.
    let buckets =
        thresholds(&read(&json!({ "kind": "sfq-red", "buckets": 10, "red": { "min": "4kB", "max": "6kB" } })));
    let written = |name: &str, bytes: u32| format!("red.{name} written Bytes({bytes}.0) in 20000 B 50");
    assert_eq!(buckets, [written("min", 4_000), written("max", 6_000)]);
    // The waiting time behind a shaper does not follow from the queue's limit.
    assert!(thresholds(&read(&json!({ "kind": "shaper", "discipline": { "kind": "codel" } }))).is_empty());
    let shaper = thresholds(&read(&json!({ "kind": "shaper", "discipline": inner })));
    let written = |name: &str, bytes: u32| format!("discipline.{name} written Bytes({bytes}.0) in 200000 B 500");
    assert_eq!(shaper, [written("min", 4_000), written("max", 6_000)]);
}
