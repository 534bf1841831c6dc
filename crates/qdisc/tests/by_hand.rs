//! Classes and stochastic fair Blue step by step, with results computed by hand.

use crate::common::{Arrival, Fate, Log, Queue, Rig};
use serde_json::{Value, json};
use tailback_document::decode;
use tailback_qdisc::{Colour, Cx, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

fn rig(document: &Value, bytes: u64, packets: u64) -> Rig {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Rig::new(&spec, &Site { bytes, packets, rate: Rate::mbit(8) }, Rng::named(1, "port"))
}

/// Enqueues a packet of 1000 B; returns the flows of dropped packets with the reasons.
fn arrive(rig: &mut Rig, flow: u32) -> Vec<(u32, Fate)> {
    let mut log = Log::new();
    let (colour, ecn, at) = (Colour::Green, Ecn::NotEct, Time::ZERO);
    rig.arrive(&Arrival { at, seq: flow, flow, size: 1000, ecn, colour }, &mut log);
    log
}

fn leave(rig: &mut Rig) -> Option<u16> {
    Queue::leave(rig, Time::ZERO, &mut Log::new())
}

/// Returns disciplines with a class of flow 0, which holds one packet in a discipline of its own, and one for all others.
fn classful() -> Vec<Value> {
    let (flow, one) = (json!({ "flow": 0 }), json!({ "kind": "drop-tail", "packets": 1 }));
    let leaf = |name: &str| json!({ "name": name, "rate": "1Gbit/s", "burst": "1MB", "cburst": "1MB" });
    let curve = |name: &str| json!({ "name": name, "ls": { "m2": "1Mbit/s" } });
    let timed = |name: &str| json!({ "name": name, "rt": { "m2": "1Gbit/s" }, "ls": { "m2": "1Mbit/s" } });
    let with = |mut class: Value| {
        class["match"] = flow.clone();
        class["discipline"] = one.clone();
        class
    };
    vec![
        json!({ "kind": "wrr", "classes": [with(json!({}))] }),
        json!({ "kind": "priority", "levels": [with(json!({})), {}] }),
        json!({ "kind": "class-based", "classes": [with(json!({ "bandwidth": "20%" }))] }),
        json!({ "kind": "htb", "default": "b", "classes": [with(leaf("a")), leaf("b")] }),
        json!({ "kind": "hfsc", "default": "b", "classes": [with(curve("a")), curve("b")] }),
        json!({ "kind": "hfsc", "default": "b", "classes": [with(timed("a")), curve("b")] }),
    ]
}

#[test]
fn the_limit_of_all_classes_counts_exactly_the_waiting_packets_and_bytes() {
    let full = |flow: u32| vec![(flow, Fate::Dropped(Reason::BufferFull))];
    for document in classful() {
        for (bytes, packets) in [(3_000, u64::MAX), (u64::MAX, 3)] {
            let mut rig = rig(&document, bytes, packets);
            assert_eq!(arrive(&mut rig, 0), [], "{document}");
            let ahead = document["classes"][0]["rt"].is_object();
            if !ahead {
                // The inner discipline drops the packet: it takes no room of the others.
                assert_eq!(arrive(&mut rig, 0), full(0), "{document}");
            }
            for _ in 0..20 {
                assert_eq!((rig.q.packets(), rig.bytes()), (1, 1_000), "{document}");
                assert_eq!(arrive(&mut rig, 1), [], "{document}");
                assert_eq!(arrive(&mut rig, 1), [], "{document}");
                assert_eq!(arrive(&mut rig, 1), full(1), "{document}");
                assert_eq!((rig.q.packets(), rig.bytes()), (3, 3_000), "{document}");
                for _ in 0..3 {
                    assert_eq!(leave(&mut rig), Some(1000), "{document}");
                }
                assert_eq!((rig.q.packets(), leave(&mut rig)), (0, None), "{document}");
                assert_eq!(arrive(&mut rig, 0), [], "{document}");
            }
        }
    }
}

#[test]
fn priority_classes_and_others_share_the_limit_of_the_policy() {
    let full = |flow: u32| vec![(flow, Fate::Dropped(Reason::BufferFull))];
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": {}, "limit": "2packets" }] });
    for (bytes, packets) in [(3_000, u64::MAX), (u64::MAX, 3)] {
        let mut rig = rig(&document, bytes, packets);
        for _ in 0..5 {
            assert_eq!(arrive(&mut rig, 0), []);
            assert_eq!(arrive(&mut rig, 1), []);
            assert_eq!(arrive(&mut rig, 0), []);
            // The policy is full for either class.
            assert_eq!(arrive(&mut rig, 0), full(0));
            assert_eq!(arrive(&mut rig, 1), full(1));
            assert_eq!((rig.q.packets(), rig.bytes(), rig.state("priority_packets")), (3, 3_000, 2.0));
            assert_eq!(leave(&mut rig), Some(1000));
            assert_eq!(rig.state("priority_packets"), 1.0);
            assert_eq!(arrive(&mut rig, 0), []);
            (0..3).for_each(|_| assert_eq!(leave(&mut rig), Some(1000)));
            assert_eq!(leave(&mut rig), None);
        }
        // The limit of the class itself is two packets.
        assert_eq!((arrive(&mut rig, 0), arrive(&mut rig, 0), arrive(&mut rig, 0)), (vec![], vec![], full(0)));
        (0..2).for_each(|_| assert_eq!(leave(&mut rig), Some(1000)));
    }
}

/// Returns the flows of 2000 packets of `wire` bytes in the order of their departure from two classes, of which the
/// first is `class`.
fn order(class: &Value, r2q: &Value, wire: u32) -> Vec<u32> {
    let mut first = json!({ "name": "a", "match": { "flow": 0 }, "burst": "1MB", "cburst": "1MB" });
    first.as_object_mut().unwrap().extend(class.as_object().unwrap().clone());
    let rest = json!({ "name": "b", "rate": "1Mbit/s", "burst": "1MB", "cburst": "1MB", "quantum": "500B" });
    let mut document = json!({ "kind": "htb", "default": "b", "classes": [first, rest] });
    if !r2q.is_null() {
        document["r2q"] = r2q.clone();
    }
    let spec: Spec = decode(document).unwrap();
    let mut q = spec.build(&Site::default());
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let mut cx = Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    for seq in 0..2_000 {
        let mut packet = Packet::new(seq % 2, Traits::data(0, true), Time::ZERO, seq, 1);
        packet.set_lengths(wire - 20, wire);
        q.enqueue(Time::ZERO, packet, &mut cx);
    }
    (0..2_000).map(|_| q.dequeue(Time::ZERO, &Gate::default(), &mut cx).expect("tokens for all").flow()).collect()
}

/// As in Linux (`htb_change_class`): the quantum is the rate in bytes per second divided by r2q (10), within 1000 B to
/// 200,000 B. The sizes of the packets are such that one byte more would let another packet leave in the first turn.
#[test]
fn the_default_quantum_of_htb_is_the_rate_over_r2q_within_its_bounds() {
    for (rate, r2q, quantum, wire) in [
        // 77 * 13 = 1001.
        ("1kbit/s", Value::Null, "1000B", 77),
        // 489 * 409 = 200,001.
        ("1Gbit/s", Value::Null, "200kB", 489),
        // 800 kbit/s / 8 / 10 = 10,000 B/s; 73 * 137 = 10,001.
        ("800kbit/s", Value::Null, "10kB", 73),
        ("800kbit/s", json!(4), "25kB", 89),
    ] {
        let by_default = order(&json!({ "rate": rate }), &r2q, wire);
        assert_eq!(by_default, order(&json!({ "rate": rate, "quantum": quantum }), &Value::Null, wire), "{rate}");
        // Each class begins with one packet.
        assert_eq!(&by_default[..3], [0, 1, 0], "{rate}");
    }
}

/// Feng et al. (2001): an arrival that finds more than `bin-size` packets in a bin raises its probability.
#[test]
fn the_time_series_of_sfb_are_those_of_its_bins() {
    let document = json!({ "kind": "sfb", "levels": 1, "bins": 4, "bin-size": 1, "increment": 0.25, "freeze": "0s",
        "penalty-box": { "threshold": 0.5 } });
    let mut rig = rig(&document, u64::MAX, u64::MAX);
    let values = |rig: &Rig| {
        ["mean_probability", "max_probability", "max_bin_packets", "boxed_flows"].map(|name| rig.state(name))
    };
    assert!(arrive(&mut rig, 70).is_empty() && arrive(&mut rig, 70).is_empty());
    assert_eq!(values(&rig), [0.0, 0.0, 2.0, 0.0]);
    // Two packets are more than one: 0.25, of which the mean of four bins has a quarter.
    let gone = arrive(&mut rig, 70).len();
    assert_eq!(values(&rig), [0.0625, 0.25, 3.0 - gone as f64, 0.0]);
    // At the threshold of 0.5 the flow is boxed.
    arrive(&mut rig, 70);
    let [mean, max, _, boxed] = values(&rig);
    assert_eq!([mean, max, boxed], [0.125, 0.5, 1.0]);
}

#[test]
fn a_fair_queue_drops_at_exactly_its_limits() {
    let refused = |flow: u32| vec![(flow, Fate::Dropped(Reason::Early))];
    // While four packets or more wait, a queue of three or more accepts none.
    let document = json!({ "kind": "fair-queue", "queues": "per-flow", "hold": "100packets", "threshold": "100packets",
        "aggregate": "4packets", "individual": "3packets" });
    let mut rig = rig(&document, u64::MAX, u64::MAX);
    for flow in [0, 0, 0, 0] {
        assert_eq!(arrive(&mut rig, flow), [], "fewer than four packets wait");
    }
    assert_eq!(arrive(&mut rig, 0), refused(0));
    for flow in [1, 1, 1] {
        assert_eq!(arrive(&mut rig, flow), [], "its queue has fewer than three");
    }
    assert_eq!(arrive(&mut rig, 1), refused(1));
    assert_eq!(rig.q.packets(), 7);
}
