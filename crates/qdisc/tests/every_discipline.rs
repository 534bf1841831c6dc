//! Properties of every discipline under its defaults and under extreme parameters: all packets are accounted for, no
//! limit is exceeded, no flow is reordered, and the reported state agrees with the packets held.

use crate::common::*;
use crate::user::{install_random_laws, with_loaded_laws};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tailback_qdisc::{Cx, Dropped, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Returns parameters of each discipline as a document has them: the defaults, and values at the edges of the ranges.
pub(crate) fn documents() -> Vec<Value> {
    let mut documents: Vec<Value> =
        Spec::NAMES.iter().filter(|kind| !kind.starts_with("user")).map(|kind| json!({ "kind": kind })).collect();
    documents.extend([
        json!({ "kind": "user", "file": "law.py", "class": "Law" }),
        json!({ "kind": "user-scheduler", "scheduler": { "file": "a.py", "class": "B" }, "queues": [{ "match": { "flow": 1 } }, {}] }),
        json!({ "kind": "wrr", "classes": [{ "match": { "flow": 1 }, "discipline": { "kind": "user", "file": "a", "class": "B" } }] }),
        json!({ "kind": "drop-tail", "packets": 1, "victim": "random" }),
        json!({ "kind": "drop-tail", "victim": "head" }),
        json!({ "kind": "red", "ecn": true, "min": "1packet", "max": "1packet", "weight": 1.0, "victim": "random" }),
        json!({ "kind": "red", "ecn": true, "min": "1B", "max": "1000GB", "max-p": 1.0, "weight": 1e-12, "idle": "1993" }),
        json!({ "kind": "red", "count": "packets", "mean-packet": "65535B", "mark-limit": 0.5, "victim": "head" }),
        json!({ "kind": "red", "ecn": true, "min": "0B", "max": "2packets", "above-max": "mark", "gentle": false,
                "wait": false, "adaptive": { "kind": "feng", "freeze": "1ms" } }),
        json!({ "kind": "red", "min": "2packets", "max": "3packets", "weight": 0.5,
                "adaptive": { "kind": "floyd", "interval": "1ps" } }),
        json!({ "kind": "blue", "increment": 1.0, "decrement": 1e-9, "freeze": "0s", "victim": "random", "ecn": true }),
        json!({ "kind": "blue", "form": "altq", "threshold": "0B" }),
        json!({ "kind": "blue", "freeze": "1ps", "increment": 0.3, "rise": "doubling", "timers": "separate" }),
        json!({ "kind": "sfb", "levels": 1, "bins": 1, "bin-size": 0, "increment": 1.0, "freeze": "0s" }),
        json!({ "kind": "sfb", "levels": 32, "bins": 2, "bin-full": "drop-any", "ecn": true, "bin-size": 1,
                "rehash": { "interval": "1ms", "warmed-by": "all" }, "increment": 0.2, "freeze": "1us",
                "penalty-box": { "scope": "per-bin", "boxed": "uncounted", "threshold": 0.1, "interval": "1us" } }),
        json!({ "kind": "sfb", "bin-full": "drop-all", "rehash": { "interval": "1ps", "double-buffer": false },
                "penalty-box": { "scope": "per-flow", "boxed": "pressure", "interval": "24h" } }),
        json!({ "kind": "sfb", "form": "linux", "ecn": true, "bin-size": 1, "max": 3, "increment": 0.5,
                "rehash": { "interval": "3ms", "warm-up": "2ms", "warmed-by": "unresponsive" } }),
        json!({ "kind": "codel", "target": "1ps", "interval": "1ps", "mtu": "1B", "ecn": true, "ce-threshold": "0s" }),
        json!({ "kind": "codel", "target": "24h", "interval": "24h", "mtu": "65535B" }),
        json!({ "kind": "pie", "target": "1ps", "update": "100us", "alpha": 1e6, "beta": 1e6, "burst": "0s", "ecn": true }),
        json!({ "kind": "pie", "estimator": "departure-rate", "update": "24h", "byte-mode": true, "derandomise": false }),
        json!({ "kind": "cobalt", "target": "1ps", "interval": "1ps", "increment": 1.0, "ecn": true, "victim": "tail" }),
        json!({ "kind": "cobalt", "target": "1ns", "interval": "24h", "mtu": "1B", "increment": 0.3, "victim": "random" }),
        json!({ "kind": "dualpi2", "target": "1ps", "update": "100us", "alpha": 1e6, "beta": 1e6, "ramp": "1ms",
                "scheduler": "time-shifted-fifo", "mtu": "1B" }),
        json!({ "kind": "dualpi2", "drop-on-overload": false, "update": "1ms", "alpha": 100.0, "classic-share": 0.999 }),
        json!({ "kind": "pi", "a": 1.0, "b": 1e-9, "frequency": 1e4, "reference": "0B", "byte-mode": true, "ecn": true }),
        json!({ "kind": "rem", "gamma": 1e6, "phi": 1e6, "update": "100us", "count": "bytes", "ecn": true }),
        json!({ "kind": "rem", "gamma": 1e-9, "weight": 1e-9, "target": "1000GB", "update": "24h" }),
        json!({ "kind": "avq", "alpha": 1e6, "gamma": 1e-9, "buffer": "0B", "ecn": true }),
        json!({ "kind": "rio", "green": { "ecn": true, "min": "1packet", "max": "1packet", "weight": 1.0 },
                "yellow": { "min": "1B", "max": "2B" }, "red": { "ecn": true } }),
        json!({ "kind": "rio", "green": { "idle": "1993" }, "yellow": { "idle": "1993", "mark-limit": 0.5, "ecn": true } }),
        json!({ "kind": "ered", "red": { "min": "1packet", "max": "2packets", "ecn": true, "weight": 1.0, "idle": "1993" },
                "green-max": "2packets" }),
        json!({ "kind": "avq", "alpha": 1e-9, "initial": 1e-9, "buffer": "2kB" }),
        json!({ "kind": "wred", "by": "dscp", "exponent": 1, "ecn": true, "spread": true, "average": "profile",
                "profiles": { "ef": { "min": 1, "max": 1 }, "af41": { "min": 1, "max": 2, "denominator": 1 } } }),
        json!({ "kind": "wred", "by": "colour", "nonconforming": { "min": 1, "max": 4096, "denominator": 65536 } }),
        json!({ "kind": "fair-queue", "key": "one", "hold": "3packets", "threshold": "2packets" }),
        json!({ "kind": "fair-queue", "key": "flow", "queues": "per-flow", "weights": "equal", "threshold": "1packet" }),
        json!({ "kind": "fair-queue", "queues": 2, "weights": "equal", "aggregate": "4packets", "individual": "1packet" }),
        json!({ "kind": "priority", "default": "low", "levels": [
            { "name": "high", "match": { "dscp": "ef" }, "limit": "2packets" },
            { "name": "middle", "match": [{ "precedence": [4, 3] }, { "flow": 5 }], "discipline": { "kind": "codel" } },
            { "name": "low", "limit": "3kB", "discipline": { "kind": "fq-codel" } },
        ] }),
        json!({ "kind": "wrr", "classes": [
            { "match": { "dscp": "ef" }, "weight": 3, "discipline": { "kind": "red", "ecn": true } },
            { "match": { "not": { "flow": [0, 1] } }, "discipline": { "kind": "pie" } },
        ], "default": { "weight": 2, "limit": "1packet" } }),
        json!({ "kind": "wrr", "count": "bytes", "quantum": "100B", "classes": [
            { "match": { "precedence": 5 } },
            { "match": { "precedence": 4 }, "discipline": { "kind": "shaper", "rate": "1Mbit/s", "burst": "2kB" } },
        ] }),
        json!({ "kind": "wrr", "form": "linux", "count": "bytes", "quantum": "700B", "classes": [
            { "match": { "precedence": 5 }, "weight": 2, "limit": "3packets" },
            { "match": { "precedence": 4 }, "discipline": { "kind": "shaper", "rate": "1Mbit/s", "burst": "2kB" } },
        ], "default": { "discipline": { "kind": "codel", "target": "1ps", "interval": "1ps" } } }),
        json!({ "kind": "shaper", "form": "linux", "rate": "5Mbit/s", "burst": "2kB" }),
        json!({ "kind": "shaper", "form": "linux", "rate": "5Mbit/s", "burst": "2kB", "discipline": nested() }),
        nested(),
        json!({ "kind": "shaper", "rate": "5Mbit/s", "burst": "1ms", "accounting": "18B", "discipline": nested() }),
        json!({ "kind": "htb", "default": "rest", "classes": [
            { "name": "root", "rate": "8Mbit/s", "burst": "1B" },
            { "name": "voice", "parent": "root", "match": { "dscp": "ef" }, "rate": "1Mbit/s", "ceil": "8Mbit/s" },
            { "name": "data", "parent": "root", "rate": "4Mbit/s", "ceil": "6Mbit/s", "quantum": "1B" },
            { "name": "video", "parent": "data", "match": { "dscp": "af41" }, "rate": "3Mbit/s", "prio": 1,
              "discipline": { "kind": "blue" } },
            { "name": "rest", "parent": "data", "rate": "1kbit/s", "ceil": "2Mbit/s", "limit": "2packets" },
            { "name": "apart", "match": { "flow": 3 }, "rate": "10kbit/s", "cburst": "1ms" },
        ] }),
        json!({ "kind": "hfsc", "default": "rest", "accounting": "4B", "classes": [
            { "name": "site", "ls": { "m2": "8Mbit/s" }, "ul": { "m1": "1Mbit/s", "d": "1ms", "m2": "6Mbit/s" } },
            { "name": "voice", "parent": "site", "match": { "dscp": "ef" }, "limit": "3packets",
              "rt": { "m1": "2Mbit/s", "d": "5ms", "m2": "100kbit/s" }, "ls": { "m2": "1bit/s" } },
            { "name": "video", "parent": "site", "match": { "dscp": "af41" }, "ls": { "d": "24h", "m2": "3Mbit/s" },
              "discipline": { "kind": "codel", "target": "1ps", "interval": "1ps" } },
            { "name": "held", "match": { "flow": 3 }, "rt": { "m2": "1Mbit/s" },
              "discipline": { "kind": "shaper", "rate": "100kbit/s", "burst": "2kB" } },
            { "name": "rest", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "10kbit/s" }, "limit": "9kB",
              "discipline": { "kind": "red", "ecn": true } },
        ] }),
        json!({ "kind": "fq", "buckets": 2, "quantum": "1B", "initial-quantum": "1B", "flow-limit": 3, "refill-delay": "0s" }),
        json!({ "kind": "netem", "delay": "7ms", "jitter": "9ms", "rate": "1Mbit/s", "ecn": true,
                "bursts": { "enter": 0.1, "leave": 0.5, "good": 0.01 } }),
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "ef": "2packets", "0": "3kB" } }),
        json!({ "kind": "weighted-tail-drop", "by": "colour", "limits": { "red": "1packet" } }),
        json!({ "kind": "fair-queue-wred", "wred": { "exponent": 1, "ecn": true, "nonconforming": { "min": 1, "max": 2 } },
                "fair-queue": { "queues": 2, "hold": "9packets" } }),
    ]);
    documents
}

/// Returns a class-based policy with classes of all sorts, one of them with a priority discipline inside.
fn nested() -> Value {
    json!({ "kind": "class-based", "classes": [
        { "match": { "dscp": "ef" }, "priority": { "rate": "10%", "burst": "3kB" }, "limit": "5packets" },
        { "match": { "dscp": "va" }, "priority": { "level": 2 } },
        { "match": { "dscp": "af41" }, "bandwidth": "1Mbit/s", "discipline": { "kind": "wred", "by": "dscp" } },
        { "match": { "all": [{ "class": 0 }, { "dscp": "af31" }] }, "bandwidth": "30%",
          "discipline": { "kind": "shaper", "rate": "100kbit/s", "discipline": { "kind": "priority" } } },
        { "match": { "colour": ["green"], "any": [{ "dscp": "cs1" }] }, "remaining": 3, "limit": "2kB" },
    ], "default": { "limit": "7packets", "discipline": { "kind": "fair-queue" } } })
}

/// An operation on a discipline.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive {
        flow: u32,
        size: u16,
    },
    /// An attempt to dequeue.
    Leave,
    /// A report that the link is idle; skipped if a packet waits.
    Idle,
    /// Time passes, in ps.
    Wait(u64),
    /// New rate of the link, in bit/s.
    SetRate(u64),
    /// Stops the port, or opens a stopped one.
    Gate,
}

fn op() -> impl Strategy<Value = Op> {
    let size = prop_oneof![1 => Just(1u16), 1 => Just(u16::MAX), 6 => 40..1600u16];
    prop_oneof![
        12 => (0..6u32, size).prop_map(|(flow, size)| Op::Arrive { flow, size }),
        8 => Just(Op::Leave),
        2 => Just(Op::Idle),
        8 => prop_oneof![4 => 0..2_000_000_000u64, 1 => 0..Dur::from_secs(3600).0].prop_map(Op::Wait),
        1 => (1..10_000_000_000u64).prop_map(Op::SetRate),
        1 => Just(Op::Gate),
    ]
}

fn site() -> impl Strategy<Value = Site> {
    let bytes = prop_oneof![Just(u64::MAX), 1..100_000u64, Just(0)];
    let packets = prop_oneof![Just(u64::MAX), 1..60u64];
    let rate = prop_oneof![Just(Rate(1)), Just(Rate::mbit(10)), Just(Rate(10_000_000_000_000))];
    (bytes, packets, rate).prop_map(|(bytes, packets, rate)| Site { bytes, packets, rate })
}

/// Returns `true` if the discipline sends the packets of all flows in the order of arrival.
fn is_fifo(spec: &Spec) -> bool {
    const BY_FLOW: [&str; 11] =
        ["drr", "sfq", "sfq-red", "wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq", "fq-codel", "fq-pie", "fq"];
    const BY_CLASS: [&str; 9] =
        ["priority", "class-based", "fair-queue", "fair-queue-wred", "wrr", "htb", "hfsc", "shaper", "user-scheduler"];
    !BY_CLASS.contains(&spec.kind()) && !BY_FLOW.contains(&spec.kind()) && !matches!(spec.kind(), "dualpi2")
}

proptest! {
    #![proptest_config(seeded(600))]

    #[test]
    fn every_discipline_accounts_for_all_packets_within_its_limits_and_in_the_order_of_each_flow(
        document in prop::sample::select(documents()),
        site in site(),
        seed in any::<u64>(),
        ops in prop::collection::vec(op(), 1..400),
    ) {
        let spec: Spec = tailback_document::decode(document).expect("a document that decodes");
        prop_assert!(spec.check().is_ok(), "{:?}", spec.check());
        let spec = with_loaded_laws(spec);
        let mut q = spec.build(&site);
        let rng = &mut Rng::named(seed, "port");
        install_random_laws(&mut q, rng);
        let (mut dropped, mut marked): (Vec<Dropped>, u64) = (Vec::new(), 0);
        let (mut arrived, mut lost, mut sent) = (0u32, BTreeSet::new(), BTreeSet::new());
        let mut last_of_flow = [None; 6];
        let mut last = None;
        let mut gate = Gate::default();
        let mut now = Time::ZERO;
        let names = |q: &tailback_qdisc::Discipline| {
            let mut names = Vec::new();
            q.probe(&mut |name, value| {
                names.push(name);
                assert!(value.is_finite(), "{name} is {value}");
            });
            names
        };
        let initial_names = names(&q);
        for op in ops {
            let cx = &mut Cx { rng, dropped: &mut dropped, marked: &mut marked };
            match op {
                Op::Arrive { flow, size } => {
                    // One ECN code point per flow: a discipline may choose a queue by it.
                    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][flow as usize % 3];
                    let mut packet = packet(&Arrival { at: now, seq: arrived, flow, size, ecn, colour: tailback_qdisc::Colour::default() });
                    packet.code = [0, 46, 44, 34, 26, 8][flow as usize];
                    packet.payload = size;
                    q.enqueue(now, packet, cx);
                    arrived += 1;
                }
                Op::Leave => {
                    if let Some(packet) = q.dequeue(now, &gate, cx) {
                        prop_assert!(gate.is_open());
                        prop_assert!(sent.insert(packet.seq), "sent twice");
                        prop_assert!(last_of_flow[packet.flow() as usize] < Some(packet.seq), "a flow was reordered");
                        last_of_flow[packet.flow() as usize] = Some(packet.seq);
                        prop_assert!(!is_fifo(&spec) || last < Some(packet.seq), "not first in, first out");
                        last = Some(packet.seq);
                    } else {
                        let shaped = q.next_wakeup().is_some_and(|at| at > now);
                        prop_assert!(q.packets() == 0 || !gate.is_open() || shaped, "packets wait, the gate is open, and no wakeup is set");
                    }
                }
                Op::Idle if q.packets() == 0 && q.watches_idle() => q.idle(now, cx),
                Op::Idle => {}
                Op::Wait(ps) => {
                    let until = now + Dur(ps);
                    for _ in 0..200 {
                        match q.next_wakeup() {
                            Some(at) if at <= until => {
                                now = now.max(at);
                                q.wake(now, cx);
                                prop_assert!(q.next_wakeup().is_none_or(|next| next > now), "the next wakeup is not later than the present");
                            }
                            _ => break,
                        }
                    }
                    now = until;
                }
                Op::SetRate(rate) => q.set_rate(Rate(rate)),
                Op::Gate => {
                    if gate.is_open() { gate.close_port() } else { gate.open_all() }
                }
            }
            for Dropped { packet, why } in dropped.drain(..) {
                prop_assert!(matches!(why, Reason::BufferFull | Reason::Early | Reason::Unresponsive | Reason::Policed));
                prop_assert!(lost.insert(packet.seq) && !sent.contains(&packet.seq), "dropped twice");
            }
            let (mut packets, mut bytes) = (0, 0);
            q.visit(&mut |packet| {
                packets += 1;
                bytes += u64::from(packet.size);
            });
            prop_assert_eq!(packets, q.packets());
            prop_assert_eq!(u64::from(arrived), packets + (lost.len() + sent.len()) as u64);
            prop_assert!(packets <= site.packets && bytes <= site.bytes, "{} packets, {} bytes", packets, bytes);
            prop_assert_eq!(&names(&q), &initial_names);
        }
    }
}

#[test]
fn drop_tail_and_drop_head_without_a_limit_lose_nothing() {
    for kind in ["drop-tail", "drop-head"] {
        let spec: Spec = tailback_document::decode(json!({ "kind": kind })).unwrap();
        let log = serve(
            &mut Rig::new(&spec, &Site::default(), Rng::named(1, "port")),
            Rate::mbit(10),
            &Traffic { packets: 20_000, ..Traffic::default() }.draw(1),
            |_, _| {},
        );
        assert_eq!(tally(&log)[fate::UNMARKED] + tally(&log)[fate::MARKED], 20_000);
    }
}

#[test]
fn a_document_is_unchanged_after_writing_and_reading() {
    for document in documents() {
        let spec: Spec = tailback_document::decode(document).unwrap();
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(tailback_document::decode::<Spec>(written).unwrap(), spec);
    }
}

#[test]
fn a_random_victim_is_each_waiting_packet_equally_often() {
    let spec: Spec = tailback_document::decode(json!({ "kind": "drop-tail", "victim": "random" })).unwrap();
    let mut rig = Rig::new(&spec, &places(3, Rate::mbit(10)), Rng::named(1, "port"));
    let mut log = Log::new();
    let mut victims = [0u32; 4];
    for seq in 0..4_000 {
        let mut waiting = Vec::new();
        rig.q.visit(&mut |packet| waiting.push(packet.seq));
        waiting.push(seq);
        rig.arrive(
            &Arrival {
                at: Time::ZERO,
                seq,
                flow: 0,
                size: 1000,
                ecn: Ecn::NotEct,
                colour: tailback_qdisc::Colour::default(),
            },
            &mut log,
        );
        if waiting.len() == 4 {
            let (gone, _) = log.pop().unwrap();
            victims[waiting.iter().position(|s| *s == gone).unwrap()] += 1;
        }
    }
    // 3997 arrivals find a full queue, and each of the four packets is the victim with probability 1/4: 999 ± 27
    // (standard deviation).
    assert!(victims.iter().all(|n| (900..1100).contains(n)), "{victims:?}");
}
