//! The length of a packet that each scheduler counts: its bytes on the wire, or its buffer bytes.

use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Cx, Discipline, Gate, Packet, Qdisc, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
/// Buffer bytes of a packet of flow 0 and of flow 1.
const BUFFER_BYTES: [u32; 2] = [100, 1000];
/// Bytes on the wire of a packet of flow 0 and of flow 1.
const WIRE_BYTES: [u32; 2] = [227, 1000];

fn packet(flow: usize, seq: u32, at: Time) -> Packet {
    let mut packet = Packet::new(flow as u32, Traits::data(0, true), at, seq, 1);
    packet.set_lengths(BUFFER_BYTES[flow], WIRE_BYTES[flow]);
    packet.at = at;
    packet
}

/// Returns the number of packets that each flow sends within `time` on a link of `RATE` while ten packets of each flow
/// wait at all times.
fn sent(document: &Value, time: Dur) -> [f64; 2] {
    let spec: Spec = decode(document.clone()).unwrap();
    Checked::check(&spec).unwrap();
    let mut q: Discipline = spec.build(&Site { bytes: u64::MAX, packets: 100_000, rate: RATE });
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let (gate, clock, end) = (Gate::default(), RATE.clock(), Time::ZERO + time);
    let (mut now, mut sent) = (Time::ZERO, [0.0; 2]);
    for seq in 0..20 {
        q.enqueue(now, packet(seq as usize % 2, seq, now), cx);
    }
    for seq in 20..200_000 {
        if now >= end {
            assert!(cx.dropped.is_empty(), "{document}: nothing is dropped");
            return sent;
        }
        if let Some(next) = q.dequeue(now, &gate, cx) {
            let flow = next.flow() as usize;
            sent[flow] += 1.0;
            now += clock.tx_time(u32::from(next.wire()));
            q.enqueue(now, packet(flow, seq, now), cx);
        } else {
            now = q.next_wakeup().expect("a queue that holds packets back sets a wakeup");
            q.wake(now, cx);
        }
    }
    panic!("{document}: the time does not advance");
}

/// Returns the document with a class for each of the two flows, with the keys of `per_class`.
fn classes(document: Value, per_class: &Value) -> Value {
    let mut document = document;
    let own = |flow: usize| {
        let mut class = per_class.clone();
        class["match"] = json!({ "flow": flow });
        class
    };
    document["classes"] = json!([own(0), own(1)]);
    document
}

/// Returns the schedulers that share the link's wire bytes equally between two flows.
fn by_wire_bytes() -> Vec<Value> {
    let late = json!({ "target": "5s", "update": "1s" });
    let never = json!({ "min": "5000packets", "max": "9000packets" });
    let mut all: Vec<Value> = ["drr", "wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq"]
        .iter()
        .map(|kind| json!({ "kind": kind, "buckets": "per-flow" }))
        .collect();
    all.extend([
        json!({ "kind": "sfq", "buckets": "per-flow", "quantum": "1514B" }),
        json!({ "kind": "sfq-red", "buckets": 64, "quantum": "1514B", "red": never }),
        json!({ "kind": "fq-codel", "buckets": "per-flow", "target": "5s", "interval": "50s" }),
        json!({ "kind": "fq-pie", "buckets": "per-flow", "pie": late }),
        json!({ "kind": "fair-queue", "queues": "per-flow" }),
        classes(json!({ "kind": "class-based" }), &json!({ "bandwidth": "30%" })),
        classes(json!({ "kind": "wrr", "count": "bytes" }), &json!({})),
    ]);
    // Both leaves borrow nearly all that they send, in turns of their quanta.
    let leaf = |flow: usize| {
        json!({ "name": format!("leaf {flow}"), "parent": "all", "match": { "flow": flow },
                "rate": "8kbit/s", "ceil": "1Gbit/s", "quantum": "1514B" })
    };
    all.push(
        json!({ "kind": "htb", "classes": [{ "name": "all", "rate": "1Gbit/s" }, leaf(0), leaf(1)], "default": "leaf 1" }),
    );
    all
}

#[test]
fn schedulers_that_share_the_link_count_wire_bytes() {
    for document in by_wire_bytes() {
        let [a, b] = sent(&document, Dur::from_secs(5));
        let bytes = [a * f64::from(WIRE_BYTES[0]), b * f64::from(WIRE_BYTES[1])];
        assert!((bytes[0] / bytes[1] - 1.0).abs() < 0.03, "{document}: {a} and {b} packets");
    }
}

#[test]
fn linux_s_fq_counts_buffer_bytes() {
    let [a, b] = sent(&json!({ "kind": "fq", "buckets": "per-flow" }), Dur::from_secs(5));
    let bytes = [a * f64::from(BUFFER_BYTES[0]), b * f64::from(BUFFER_BYTES[1])];
    assert!((bytes[0] / bytes[1] - 1.0).abs() < 0.03, "{a} and {b} packets");
}

#[test]
fn token_buckets_count_buffer_bytes_and_the_accounting_per_packet() {
    // 1 Mbit/s for 10 s: 1250 kB, and a burst of at most 2 kB.
    for (accounting, counted) in [("0B", 0.0), ("27B", 27.0)] {
        let leaf = json!({ "name": "all", "match": { "flow": 0 }, "rate": "1Mbit/s" });
        for document in [
            json!({ "kind": "htb", "classes": [leaf], "default": "all", "accounting": accounting }),
            json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "2kB", "accounting": accounting }),
        ] {
            let [a, b] = sent(&document, Dur::from_secs(10));
            let bytes = a * (f64::from(BUFFER_BYTES[0]) + counted) + b * (f64::from(BUFFER_BYTES[1]) + counted);
            assert!((bytes / 1_250_000.0 - 1.0).abs() < 0.005, "{document}: {bytes} bytes");
        }
    }
}
