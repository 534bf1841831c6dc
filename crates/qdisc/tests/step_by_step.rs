//! Schedulers step by step, by hand: order, limits, virtual times and timers after each packet.

use crate::common::places;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Cx, Discipline, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const LINK: Rate = Rate::mbit(10);

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

fn spec(document: &Value) -> Spec {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Checked::check(&spec).unwrap_or_else(|e| panic!("{document}: {e}"));
    spec
}

/// A discipline, with the sequence numbers of dropped packets.
struct Bench {
    q: Discipline,
    rng: Rng,
    dropped: Vec<Dropped>,
    marked: u64,
    seq: u32,
}

impl Bench {
    fn new(document: &Value, site: &Site) -> Bench {
        let (q, rng) = (spec(document).build(site), Rng::named(1, "port"));
        Bench { q, rng, dropped: Vec::new(), marked: 0, seq: 0 }
    }
    fn unlimited(document: &Value) -> Bench {
        Bench::new(document, &places(u64::MAX, LINK))
    }
    fn with<T>(&mut self, f: impl FnOnce(&mut Discipline, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        f(&mut self.q, cx)
    }
    /// Enqueues a packet of `size` buffer and wire bytes to the destination `flow`; returns its sequence number.
    fn put_as(&mut self, at: Time, flow: u32, size: u32, code: u8, ecn: Ecn) -> u32 {
        let mut packet = Packet::new(flow, Traits::data(0, true).with_ecn(ecn), at, self.seq, flow as u16);
        packet.set_lengths(size, size);
        packet.code = code;
        self.seq += 1;
        self.with(|q, cx| q.enqueue(at, packet, cx));
        self.seq - 1
    }
    fn put(&mut self, at: Time, flow: u32, size: u32) -> u32 {
        self.put_as(at, flow, size, 0, Ecn::NotEct)
    }
    /// Enqueues packets of 1000 B of these flows.
    fn put_all(&mut self, at: Time, flows: &[u32]) {
        for flow in flows {
            self.put(at, *flow, 1000);
        }
    }
    fn take(&mut self, at: Time) -> Option<Packet> {
        self.with(|q, cx| q.dequeue(at, &Gate::default(), cx))
    }
    /// Returns the flows of the next `n` packets that leave at `at`.
    fn flows(&mut self, at: Time, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| self.take(at)).map(|packet| packet.flow()).collect()
    }
    /// Returns the sequence numbers of all packets that leave at `at`.
    fn rest(&mut self, at: Time) -> Vec<u32> {
        (0..10_000).map_while(|_| self.take(at)).map(|packet| packet.seq).collect()
    }
    fn wake(&mut self, at: Time) {
        self.with(|q, cx| q.wake(at, cx));
    }
    fn retune(&mut self, at: Time, document: &Value, site: &Site) {
        self.q.retune(at, &spec(document), site);
    }
    fn drops(&self) -> Vec<u32> {
        self.dropped.iter().map(|d| d.packet.seq).collect()
    }
    fn probe(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.q.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    fn visited(&self) -> Vec<u32> {
        let mut seen = Vec::new();
        self.q.visit(&mut |packet| seen.push(packet.seq));
        seen.sort_unstable();
        seen
    }
}

/// Returns a site for this number of buffer bytes.
fn bytes(bytes: u64) -> Site {
    Site { bytes, packets: u64::MAX, rate: LINK }
}

const PER_FLOW: [&str; 9] = ["drr", "sfq", "fq-codel", "fq-pie", "wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq"];

fn per_flow(kind: &str) -> Value {
    json!({ "kind": kind, "buckets": "per-flow" })
}

#[test]
fn a_limit_of_two_packets_in_bytes_admits_two_packets_and_again_two_after_they_have_left() {
    // FQ-CoDel drops half of the longest queue: see the next test.
    let flows = PER_FLOW.into_iter().filter(|kind| *kind != "fq-codel").map(per_flow);
    let documents = flows.chain([
        json!({ "kind": "fair-queue" }),
        json!({ "kind": "netem" }),
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": {} }),
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "0": "2kB" } }),
        json!({ "kind": "hfsc", "default": "a", "classes": [{ "name": "a", "ls": { "m2": "1Mbit/s" } }] }),
        json!({ "kind": "hfsc", "default": "a", "classes": [{ "name": "a", "ls": { "m2": "1Mbit/s" }, "limit": "2kB" }] }),
        json!({ "kind": "hfsc", "default": "a", "classes": [{ "name": "a", "rt": { "m2": "1Mbit/s" }, "limit": "2kB" }] }),
        json!({ "kind": "priority" }),
        json!({ "kind": "wrr" }),
        json!({ "kind": "class-based" }),
    ]);
    for document in documents {
        let mut b = Bench::new(&document, &bytes(2_000));
        for round in 0..2 {
            b.put_all(us(20_000 * round), &[0, 0]);
            assert_eq!((b.q.packets(), b.drops().len() as u64), (2, round), "{document}");
            assert_eq!(b.visited().len(), 2, "{document}");
            b.put_all(us(20_000 * round), &[0]);
            assert_eq!((b.q.packets(), b.drops().len() as u64), (2, round + 1), "{document}");
            for k in 0..2 {
                assert!(b.take(us(20_000 * round + 8_000 * k)).is_some(), "{document}");
            }
            assert_eq!((b.q.packets(), b.visited()), (0, vec![]), "{document}");
        }
    }
}

/// RFC 8290, section 4.1: the oldest packets of the longest queue are dropped until at most half of its bytes are left.
#[test]
fn fq_codel_drops_half_of_the_longest_queue() {
    for (limit, drops) in [(3_000, [0, 1].as_slice()), (4_000, &[0, 1, 2])] {
        let mut b = Bench::new(&per_flow("fq-codel"), &bytes(limit));
        b.put_all(us(0), &[0; 6][..=limit as usize / 1_000]);
        assert_eq!(b.drops(), drops, "{limit}");
    }
}

#[test]
fn a_packet_as_long_as_the_quantum_is_sent_in_its_turn_and_a_longer_one_in_the_next() {
    for kind in ["drr", "sfq"] {
        // Flow 0 has packets of 1000 B, flow 1 of 900 B.
        for (quantum, order) in [("1kB", [0, 1, 0, 1]), ("999B", [1, 0, 1, 0])] {
            let mut b = Bench::unlimited(&json!({ "kind": kind, "buckets": "per-flow", "quantum": quantum }));
            for _ in 0..2 {
                b.put(us(0), 0, 1000);
                b.put(us(0), 1, 900);
            }
            assert_eq!(b.flows(us(0), 9), order, "{kind}, {quantum}");
        }
    }
    // In hash buckets, whose weight is 1, each turn is one packet of the quantum's length.
    let mut b = Bench::unlimited(&json!({ "kind": "drr", "buckets": 1024, "quantum": "1kB" }));
    b.put_all(us(0), &[0, 0, 1, 1]);
    assert_eq!(b.flows(us(0), 9), [0, 1, 0, 1]);
}

#[test]
fn the_number_of_flows_is_that_of_the_queues_with_packets() {
    for kind in PER_FLOW {
        let mut b = Bench::unlimited(&per_flow(kind));
        b.put_all(us(0), &[0, 1, 2, 2]);
        assert_eq!(b.probe("flows"), 3.0, "{kind}");
        let mut found = Vec::new();
        for k in 1..5 {
            assert!(b.take(us(800 * k)).is_some());
            found.push(b.probe("flows"));
        }
        // One packet of flow 2 leaves third or later, and the other one last or first.
        assert_eq!((found[1], found[3]), (if found[0] == 2.0 { 1.0 } else { 2.0 }, 0.0), "{kind}: {found:?}");
    }
}

#[test]
fn flows_use_all_buckets() {
    // All of 200 flows are in the same of two buckets with probability 2^-199.
    for document in [
        json!({ "kind": "drr", "buckets": 2 }),
        json!({ "kind": "sfq", "buckets": 2 }),
        json!({ "kind": "fair-queue", "queues": 2 }),
    ] {
        let mut b = Bench::unlimited(&document);
        b.put_all(us(0), &(0..200).collect::<Vec<u32>>());
        assert_eq!(b.probe("flows"), 2.0, "{document}");
    }
}

#[test]
fn of_queues_of_one_length_the_one_that_has_grown_loses_its_newest_packet() {
    for kind in ["drr", "sfq"] {
        let mut b = Bench::new(&per_flow(kind), &bytes(3_999));
        b.put_all(us(0), &[0, 0, 1, 1]);
        assert_eq!(b.drops(), [3], "{kind}");
        let mut b = Bench::new(&per_flow(kind), &bytes(3_999));
        b.put_all(us(0), &[0, 1, 1, 0]);
        assert_eq!(b.drops(), [3], "{kind}");
        // The longest queue is dropped from, whichever grows.
        let mut b = Bench::new(&per_flow(kind), &bytes(4_999));
        b.put_all(us(0), &[0, 0, 0, 1, 1]);
        assert_eq!(b.drops(), [2], "{kind}");
        // A queue that a drop empties keeps no turn.
        let mut b = Bench::new(&per_flow(kind), &bytes(1_999));
        b.put(us(0), 0, 900);
        b.put(us(0), 1, 1_500);
        assert_eq!((b.drops(), b.rest(us(0))), (vec![1], vec![0]), "{kind}");
    }
}

#[test]
fn a_random_victim_may_be_any_packet_of_the_longest_queue() {
    for kind in ["drr", "sfq"] {
        let document = json!({ "kind": kind, "buckets": "per-flow", "victim": "random" });
        let mut b = Bench::new(&document, &places(4, LINK));
        for _ in 0..400 {
            b.put_all(us(0), &[0]);
            assert!(b.q.packets() <= 4, "{kind}");
        }
        let drops = b.drops();
        assert_eq!(drops.len(), 396);
        // In a queue of five the newest, the oldest and those between are dropped with probability 1/5 each.
        let newest = drops.iter().enumerate().filter(|(i, seq)| **seq as usize == i + 4).count();
        assert!((40..120).contains(&newest), "{kind}: {newest} of 396");
        assert!(!drops.is_sorted(), "{kind}");
    }
}

/// Demers, Keshav and Shenker (1990): the packet with the largest finish tag is dropped, and the flow's last tag is set
/// back to what it was before the packet.
#[test]
fn a_drop_of_the_largest_tag_leaves_the_tags_of_its_flow_as_before_the_packet() {
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq", "virtual-clock"] {
        let mut b = Bench::new(&per_flow(kind), &places(3, LINK));
        // The fourth packet has the largest tag, then the fifth, of 100 B, has the finish tag 2100, and flow 0's second
        // packet 2000.
        b.put_all(us(0), &[0, 1, 0, 1]);
        assert_eq!(b.drops(), [3], "{kind}");
        // Flow 2 has the tag 1000 and takes the place of flow 0's second packet.
        b.put_all(us(0), &[2]);
        assert_eq!(b.drops(), [3, 2], "{kind}");
        // A drop of a flow's only packet: one of 1500 B.
        b.put(us(0), 3, 1_500);
        assert_eq!(b.drops(), [3, 2, 5], "{kind}");
        assert_eq!(b.flows(us(0), 9), [0, 1, 2], "{kind}");
        // Its next packet of 900 B is tagged from the present virtual time on, and leaves before one of 1000 B.
        b.put(us(4_000), 4, 1_000);
        b.put(us(4_000), 3, 900);
        let expected = if kind == "stfq" { [4, 3] } else { [3, 4] };
        assert_eq!(b.flows(us(4_000), 9), expected, "{kind}");
    }
}

#[test]
fn of_the_flow_disciplines_only_start_time_fair_queueing_watches_idle_links() {
    for kind in PER_FLOW {
        assert_eq!(Bench::unlimited(&per_flow(kind)).q.watches_idle(), kind == "stfq", "{kind}");
    }
}

/// The defaults of Cisco's fair queue: 256 dynamic queues, a congestive discard threshold of 64, 1000 held packets, and
/// sequence numbers scaled by 32384 / (precedence + 1).
#[test]
fn defaults_are_the_published_ones() {
    let filled = |document: Value| serde_json::to_value(spec(&document)).expect("a table");
    assert_eq!(
        filled(json!({ "kind": "fair-queue" })),
        json!({ "kind": "fair-queue", "key": "flow-tos", "weights": "precedence", "scale": 32_384, "queues": 256,
                "threshold": "64packets", "hold": "1000packets" })
    );
    // Feng, Kandlur, Saha and Shin (2001): 46 buckets.
    assert_eq!(filled(json!({ "kind": "sfq-red" }))["buckets"], json!(46));
    assert_eq!(filled(json!({ "kind": "sfq" }))["buckets"], json!(1024));
    assert_eq!(filled(json!({ "kind": "shaper" }))["rate"], json!("1Gbit/s"));
}

#[test]
fn quanta_are_one_byte_to_a_gigabyte() {
    let valid = |quantum: &str| {
        let read = decode::<Spec>(json!({ "kind": "drr", "quantum": quantum }));
        read.is_ok_and(|spec| Checked::check(&spec).is_ok())
    };
    assert_eq!(["0B", "1B", "1GB", "1000000001B"].map(valid), [false, true, true, false]);
}

#[test]
fn new_weights_of_precedences_apply_to_later_packets() {
    // Code point 56 is precedence 7, with eight times the weight of precedence 0.
    let document = |weights: &str| json!({ "kind": "fair-queue", "queues": "per-flow", "weights": weights });
    let mut b = Bench::unlimited(&document("equal"));
    let fill = |b: &mut Bench, at: Time| {
        for _ in 0..9 {
            b.put_as(at, 0, 1000, 0, Ecn::NotEct);
            b.put_as(at, 1, 1000, 56, Ecn::NotEct);
        }
    };
    fill(&mut b, us(0));
    assert_eq!(b.flows(us(0), 8), [0, 1, 0, 1, 0, 1, 0, 1]);
    b.rest(us(0));
    b.retune(us(1), &document("precedence"), &places(u64::MAX, LINK));
    fill(&mut b, us(2));
    let first = b.flows(us(2), 9);
    assert_eq!(first.iter().filter(|flow| **flow == 1).count(), 8, "{first:?}");
    // A new weight of the class of weighted fair queueing by WRED, and its new answer to ECN.
    let document = |ecn: bool| {
        json!({ "kind": "fair-queue-wred", "fair-queue": { "queues": "per-flow" },
                "wred": { "ecn": ecn, "exponent": 1, "by": "dscp", "profiles": { "0": { "min": 1, "max": 400, "denominator": 1 } } } })
    };
    let mut b = Bench::unlimited(&document(false));
    (0..60).for_each(|_| _ = b.put_as(us(0), 0, 1000, 0, Ecn::Ect0));
    assert!(b.marked == 0 && !b.dropped.is_empty());
    let before = b.dropped.len();
    b.retune(us(1), &document(true), &places(u64::MAX, LINK));
    (0..60).for_each(|_| _ = b.put_as(us(1), 0, 1000, 0, Ecn::Ect0));
    assert!(b.marked > 0 && b.dropped[before..].iter().all(|d| d.why != Reason::Early || b.q.packets() >= 64));
    assert_eq!(b.visited().len() as u64, b.q.packets());
    let waiting = b.q.packets();
    assert_eq!(b.rest(us(2)).len() as u64, waiting);
}

#[test]
fn perturbed_queues_are_served_from_the_oldest_packet_on_and_in_order_of_arrival_in_each_bucket() {
    for flows in [8, 16, 31] {
        let document = json!({ "kind": "sfq", "buckets": 2, "perturb": "1ms" });
        let mut b = Bench::unlimited(&document);
        for k in 0..90 {
            b.put(us(k), (k * 7 % flows) as u32, 1000);
        }
        // One bucket has been served more than the other; the new hash is drawn at the arrival at 1 ms.
        let mut left: Vec<u32> = (0..5).filter_map(|_| b.take(us(100))).map(|packet| packet.seq).collect();
        let oldest = b.visited()[0];
        b.put(us(1_000), 0, 1000);
        let after = b.rest(us(1_001));
        assert_eq!(after[0], oldest, "{flows} flows");
        // Two buckets in order: no three packets are in the inverse order of arrival.
        for (k, middle) in after.iter().enumerate() {
            let later_before = after[..k].iter().any(|seq| seq > middle);
            let earlier_after = after[k..].iter().any(|seq| seq < middle);
            assert!(!later_before || !earlier_after, "{flows} flows: {middle} in {after:?}");
        }
        left.extend(after);
        left.sort_unstable();
        assert_eq!(left, (0..91).collect::<Vec<u32>>());
    }
}

/// The rule of ns-2 (`sfq.cc`): with a limit of 10 kB in bytes, the arriving packet's length is the unit.
#[test]
fn shares_of_a_limit_in_bytes_are_those_of_ns() {
    let document = |buckets: u32| json!({ "kind": "sfq", "overflow": "share", "buckets": buckets });
    // With 16 buckets of 625 B each a second packet of 1000 B is always beyond the share, since at most 9 kB are free,
    // fewer than 16 packets.
    let mut b = Bench::new(&document(16), &bytes(10_000));
    b.put_all(us(0), &[0, 0]);
    assert_eq!(b.drops(), [1]);
    // With one bucket of 10 kB a queue may hold half of what is free: 3 kB of 7 kB, but not 4 kB of 6 kB.
    let mut b = Bench::new(&document(1), &bytes(10_000));
    b.put_all(us(0), &[0; 6]);
    assert_eq!(b.drops(), [4, 5]);
    // With a limit in packets half of the 7 free ones are 3, in whole numbers.
    let mut b = Bench::new(&document(1), &places(10, LINK));
    b.put_all(us(0), &[0; 5]);
    assert_eq!(b.drops(), [3, 4]);
}

/// Buckets with RED at a maximum of 2 packets, so that the average is the length: below 2 packets arrivals are dropped
/// or marked early, from 2 packets on all are dropped.
fn sfq_red(ecn: bool) -> Value {
    json!({ "kind": "sfq-red", "buckets": 1, "red": { "ecn": ecn, "min": "1packet", "max": "40packets", "count": "packets",
            "weight": 1.0, "max-p": 0.9, "gentle": false } })
}

#[test]
fn early_signals_of_buckets_are_marks_with_ecn_and_drops_without_and_above_the_maximum_all_are_drops() {
    let fill = |b: &mut Bench, ecn: Ecn| {
        for _ in 0..200 {
            b.put_as(us(0), 0, 1000, 0, ecn);
        }
    };
    let mut b = Bench::unlimited(&sfq_red(true));
    fill(&mut b, Ecn::Ect0);
    // The queue grows to the maximum of 40 packets with marks only; then every arrival is dropped.
    assert_eq!((b.q.packets(), b.drops().first()), (40, Some(&40)));
    assert!(b.marked > 0 && b.dropped.iter().all(|d| d.packet.ecn() == Ecn::Ect0), "{}", b.marked);
    for (ecn, packet) in [(true, Ecn::NotEct), (false, Ecn::Ect0)] {
        let mut b = Bench::unlimited(&sfq_red(ecn));
        fill(&mut b, packet);
        assert!(b.marked == 0 && b.drops()[0] < 40 && b.dropped.iter().all(|d| d.why == Reason::Early));
    }
    // A change of ECN applies to later packets.
    let mut b = Bench::unlimited(&sfq_red(false));
    b.retune(us(0), &sfq_red(true), &places(u64::MAX, LINK));
    fill(&mut b, Ecn::Ect0);
    assert!(b.marked > 0);
}

#[test]
fn a_bucket_of_red_may_hold_one_packet_and_its_average_ages_while_it_is_empty() {
    let document = json!({ "kind": "sfq-red", "buckets": 64 });
    let mut b = Bench::new(&document, &places(3, LINK));
    b.put_all(us(0), &[0, 1, 2, 0]);
    assert_eq!((b.q.packets(), b.drops()), (3, vec![3]));
    assert_eq!(b.flows(us(0), 9), [0, 1, 2]);
    // With a share of no packet a bucket holds one, though there is room for others.
    let mut b = Bench::new(&document, &places(6, LINK));
    b.put_all(us(0), &[0, 0, 1, 1]);
    assert_eq!(b.drops(), [1, 3]);
    // A share of two packets.
    let mut b = Bench::new(&json!({ "kind": "sfq-red", "buckets": 1 }), &places(2, LINK));
    b.put_all(us(0), &[0, 0, 0]);
    assert_eq!((b.q.packets(), b.drops(), b.rest(us(0))), (2, vec![2], vec![0, 1]));
    // With a weight of 1/2 the average of 1 and 2 packets is 0.5 and 1.25 at the arrivals of the second and the third
    // one. A busy queue does not age: in a second the average of an empty one has decayed to nothing.
    let red = json!({ "kind": "sfq-red", "buckets": 1, "red": { "weight": 0.5, "count": "packets", "min": "50packets", "max": "90packets" } });
    for (taken, average) in [(2, 1.625), (3, 0.0)] {
        let mut b = Bench::unlimited(&red);
        b.put_all(us(0), &[0, 0, 0]);
        assert_eq!(b.probe("largest_average"), 1.25);
        (0..taken).for_each(|_| assert!(b.take(us(0)).is_some()));
        b.put_all(us(1_000_000), &[0]);
        let expected = if taken == 2 { f64::midpoint(1.25, 1.0) } else { average };
        assert!((b.probe("largest_average") - expected).abs() < 1e-9, "{}", b.probe("largest_average"));
    }
}

#[test]
fn the_first_packet_of_a_bucket_finds_an_empty_queue() {
    let mut b = Bench::unlimited(&json!({ "kind": "sfq-red", "red": { "weight": 1.0 } }));
    b.put(us(0), 0, 1000);
    assert_eq!(b.probe("largest_average"), 0.0);
}

#[test]
fn a_reduced_quantum_of_buckets_limits_the_deficits() {
    let document = |quantum: &str| {
        json!({ "kind": "sfq-red", "buckets": 1024, "quantum": quantum,
        "red": { "min": "500packets", "max": "900packets", "count": "packets" } })
    };
    let mut b = Bench::unlimited(&document("1GB"));
    b.put_all(us(0), &[0; 200]);
    b.put_all(us(0), &[1; 200]);
    assert_eq!(b.flows(us(0), 50), [0; 50]);
    b.retune(us(1), &document("1kB"), &places(u64::MAX, LINK));
    // At most the new quantum and the largest packet, 1000 + 65535 B, remain of the turn: 66 packets. Then the turns are
    // of one packet.
    let order = b.flows(us(2), 100);
    let first = order.iter().position(|flow| *flow == 1).expect("a turn of flow 1");
    assert_eq!(first, 66);
    assert!(order[first..].windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
}

#[test]
fn a_class_based_policy_serves_by_start_tags_in_bits_divided_by_bandwidths() {
    // Flow 1 has 2 Mbit/s: 1000 B on the wire are 4 ms of virtual time. The default class has the other 8 Mbit/s: 1 ms.
    let document = json!({ "kind": "class-based", "classes": [{ "match": { "flow": 1 }, "bandwidth": "20%" }] });
    let mut b = Bench::unlimited(&document);
    let near = |b: &Bench, expected: f64| {
        let found = b.probe("virtual_time");
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    };
    b.put_all(us(0), &[1, 1, 2, 2, 2]);
    for (flow, time) in [(1, 0.0), (2, 0.0), (2, 0.001), (2, 0.002)] {
        assert_eq!(b.flows(us(0), 1), [flow]);
        near(&b, time);
    }
    // The default class has the finish tag 3 ms, so that the next packet starts at 3 ms.
    b.put_all(us(0), &[2]);
    assert_eq!(b.flows(us(0), 1), [2]);
    near(&b, 0.003);
    // At the end of the busy period the virtual time is the largest finish tag, 8 ms.
    assert_eq!(b.flows(us(0), 1), [1]);
    near(&b, 0.008);
    // A class that was idle starts at the present virtual time: 8 ms, not at its last tag of 4 ms.
    b.put_all(us(9), &[1, 2, 1]);
    assert_eq!(b.flows(us(9), 2), [1, 2]);
    near(&b, 0.008);
    // Flow 2 returns at 8 ms, not at its finish tag of 9 ms at first: its tag is the later of the two.
    b.put_all(us(9), &[2]);
    assert_eq!(b.flows(us(9), 1), [2]);
    near(&b, 0.009);
    assert_eq!(b.flows(us(9), 1), [1]);
    near(&b, 0.016);
}

#[test]
fn the_limit_of_a_priority_class_and_the_limit_of_all_classes_change_at_once() {
    let document = |limit: &str| json!({ "kind": "class-based", "classes": [{ "match": { "flow": 1 }, "priority": {}, "limit": limit }] });
    let mut b = Bench::unlimited(&document("5packets"));
    b.put_all(us(0), &[1, 1]);
    b.retune(us(0), &document("2packets"), &places(u64::MAX, LINK));
    b.put_all(us(0), &[1]);
    assert_eq!(b.drops(), [2]);
    for document in [
        document("5packets"),
        json!({ "kind": "wrr", "classes": [{ "match": { "flow": 1 } }] }),
        json!({ "kind": "priority", "levels": [{ "match": { "flow": 1 } }, {}] }),
        json!({ "kind": "htb", "classes": [{ "name": "a", "match": { "flow": 1 }, "rate": "1Mbit/s" }] }),
        json!({ "kind": "hfsc", "default": "b", "classes": [
            { "name": "a", "match": { "flow": 1 }, "ls": { "m2": "1Mbit/s" } }, { "name": "b", "ls": { "m2": "1Mbit/s" } }] }),
    ] {
        let mut b = Bench::unlimited(&document);
        b.put_all(us(0), &[1, 2]);
        b.retune(us(0), &document, &places(2, LINK));
        b.put_all(us(0), &[2]);
        assert_eq!(b.drops(), [2], "{document}");
        b.retune(us(0), &document, &places(3, LINK));
        b.put_all(us(0), &[2]);
        assert_eq!(b.drops(), [2], "{document}");
    }
}

#[test]
fn names_are_used_once_and_classes_are_at_most_250() {
    let refusal = |document: Value| {
        let read = decode::<Spec>(document).expect("it decodes");
        Checked::check(&read).err().map(|e| e.path.clone())
    };
    let classes = |n: usize| {
        let all = (0..n).map(|k| json!({ "name": format!("c{k}"), "match": { "flow": k } }));
        json!({ "kind": "wrr", "classes": all.collect::<Vec<Value>>() })
    };
    assert_eq!(refusal(classes(250)), None);
    assert_eq!(refusal(classes(251)).as_deref(), Some("classes"));
    let twice = json!([{ "name": "a", "match": { "flow": 0 } }, { "name": "b", "match": { "flow": 1 } }, { "name": "a", "match": { "flow": 2 } }]);
    assert_eq!(refusal(json!({ "kind": "wrr", "classes": twice })).as_deref(), Some("classes[2].name"));
}

#[test]
fn a_hierarchy_of_token_buckets_has_at_most_eight_levels() {
    let chain = |n: usize| {
        let class = |k: usize| {
            let mut class = json!({ "name": format!("c{k}"), "rate": "1bit/s" });
            if k > 0 {
                class["parent"] = json!(format!("c{}", k - 1));
            }
            class
        };
        decode::<Spec>(json!({ "kind": "htb", "classes": (0..n).map(class).collect::<Vec<Value>>() }))
            .expect("it decodes")
    };
    assert!(Checked::check(&chain(8)).is_ok());
    assert_eq!(Checked::check(&chain(9)).expect_err("nine levels").path, "classes[8].parent");
}

/// The bucket of the assured rate holds one packet of 1000 B: the next one waits for 8 ms at 1 Mbit/s, 4 ms at 2.
#[test]
fn a_change_of_either_rate_is_considered_at_once_and_only_while_a_packet_waits_for_tokens() {
    let htb = |rate: &str, ceil: &str| {
        json!({ "kind": "htb", "default": "a", "classes": [
            { "name": "a", "rate": rate, "ceil": ceil, "burst": "1B", "cburst": "1B" }, { "name": "b", "rate": "1Mbit/s" }] })
    };
    let hfsc = |rate: &str, limit: &str| {
        json!({ "kind": "hfsc", "default": "a", "classes": [
            { "name": "a", "ls": { "m2": rate }, "ul": { "m2": limit } }, { "name": "b", "ls": { "m2": "1Mbit/s" } }] })
    };
    let site = places(u64::MAX, LINK);
    for (before, after) in [
        (htb("1Mbit/s", "2Mbit/s"), htb("2Mbit/s", "2Mbit/s")),
        (htb("1Mbit/s", "2Mbit/s"), htb("1Mbit/s", "3Mbit/s")),
        (hfsc("1Mbit/s", "2Mbit/s"), hfsc("2Mbit/s", "2Mbit/s")),
        (hfsc("1Mbit/s", "2Mbit/s"), hfsc("1Mbit/s", "3Mbit/s")),
    ] {
        let mut b = Bench::unlimited(&before);
        b.put_all(us(0), &[0]);
        b.retune(us(0), &after, &site);
        assert_eq!(b.q.next_wakeup(), None, "{after}: no packet waits for tokens");
        let mut b = Bench::unlimited(&before);
        b.put_all(us(0), &[0, 0]);
        assert!(b.take(us(0)).is_some() && b.take(us(0)).is_none());
        let due = b.q.next_wakeup().expect("a packet waits");
        assert!(due > us(3_000));
        b.retune(us(1_000), &before, &site);
        assert_eq!(b.q.next_wakeup(), Some(due), "{before}: nothing has changed");
        b.retune(us(2_000), &after, &site);
        assert_eq!(b.q.next_wakeup(), Some(us(2_000)), "{after}");
    }
}

/// Linux (`netem_enqueue`): with a rate a packet leaves after its delay and its transmission, in order, where the time
/// until the last packet leaves is part of the delay. 1000 B at 1 Mbit/s take 8 ms.
#[test]
fn with_a_rate_the_wait_for_the_last_packet_is_part_of_the_delay() {
    let document = json!({ "kind": "netem", "delay": "5ms", "rate": "1Mbit/s" });
    let leaves = |second: u64| {
        let mut b = Bench::unlimited(&document);
        b.put(us(0), 0, 1000);
        b.put(us(second), 0, 1000);
        let mut times = Vec::new();
        for _ in 0..2 {
            assert!(b.take(us(0)).is_none());
            let due = b.q.next_wakeup().expect("a packet waits");
            b.wake(Time(due.0 - 1));
            assert_eq!(b.q.next_wakeup(), Some(due));
            b.wake(due);
            assert_eq!(b.q.next_wakeup(), None);
            assert!(b.take(due).is_some());
            times.push(due);
        }
        times
    };
    // At once: 5 + 8, and 8 more. At 10 ms, 3 ms before the first one leaves, 2 ms of the delay remain.
    assert_eq!(leaves(0), [us(13_000), us(21_000)]);
    assert_eq!(leaves(10_000), [us(13_000), us(23_000)]);
}

#[test]
fn a_uniform_delay_is_at_least_its_mean_minus_its_jitter_and_less_than_its_mean_plus_its_jitter() {
    let delays = |delay: &str, jitter: &str| {
        let mut b = Bench::unlimited(&json!({ "kind": "netem", "delay": delay, "jitter": jitter }));
        let mut found = std::collections::BTreeSet::new();
        for _ in 0..64 {
            b.put(Time::ZERO, 0, 1000);
            if b.take(Time::ZERO).is_none() {
                let due = b.q.next_wakeup().expect("a packet waits");
                b.wake(due);
                assert!(b.take(due).is_some());
                found.insert(due.0);
            } else {
                found.insert(0);
            }
        }
        (Vec::from_iter(found), b.rng.bits() == Rng::named(1, "port").bits())
    };
    assert_eq!(delays("10ps", "1ps"), (vec![9, 10], false));
    assert_eq!(delays("10ps", "2ps"), (vec![8, 9, 10, 11], false));
    // Negative delays count as 0.
    assert_eq!(delays("0s", "2ps"), (vec![0, 1], false));
    // Without jitter and loss nothing is drawn at random.
    assert_eq!(delays("10ps", "0s"), (vec![10], true));
    // The smallest rate.
    assert!(Checked::check(&decode::<Spec>(json!({ "kind": "netem", "rate": "1bit/s" })).expect("it decodes")).is_ok());
}

#[test]
fn a_wake_up_of_an_inner_timer_keeps_the_container_s_own_timer() {
    // A packet of 1000 B of 1 Mbit/s takes 8 ms; the bucket of the first class holds one packet. PIE inside has a timer
    // every 3 ms.
    let inner = json!({ "kind": "pie", "update": "3ms" });
    for document in [
        json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "1000B", "discipline": inner }),
        json!({ "kind": "htb", "default": "a", "classes": [
            { "name": "a", "rate": "1Mbit/s", "burst": "0B", "cburst": "0B", "discipline": inner }] }),
        json!({ "kind": "hfsc", "default": "a", "classes": [
            { "name": "a", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "1Mbit/s" }, "discipline": inner }] }),
    ] {
        let Ok(read) = decode::<Spec>(document.clone()) else { panic!("{document}") };
        let document = if Checked::check(&read).is_ok() {
            document
        } else {
            json!({ "kind": "htb", "default": "a", "classes": [
                { "name": "a", "rate": "1Mbit/s", "burst": "1B", "cburst": "1B", "discipline": inner }] })
        };
        let mut b = Bench::unlimited(&document);
        b.put_all(us(0), &[0, 0]);
        assert!(b.take(us(0)).is_some() && b.take(us(0)).is_none());
        let mut times = Vec::new();
        for _ in 0..3 {
            let due = b.q.next_wakeup().expect("a timer");
            b.wake(due);
            times.push(due);
        }
        let own = times[2];
        assert_eq!(times[..2], [us(3_000), us(6_000)], "{document}");
        // The bucket of HTB may be empty after a packet: a byte is left over.
        assert!((us(7_992)..=us(8_000)).contains(&own), "{document}: {own:?}");
        assert_eq!(b.q.next_wakeup(), Some(us(9_000)), "{document}");
        assert!(b.take(own).is_some(), "{document}");
    }
}

/// Two leaves take turns of one byte: with packets of one byte on the wire each turn is one packet.
#[test]
fn a_turn_of_token_buckets_begins_without_credit() {
    let class =
        |name: &str, flow: u32| json!({ "name": name, "match": { "flow": flow }, "rate": "1Mbit/s", "quantum": "1B" });
    let mut b = Bench::unlimited(&json!({ "kind": "htb", "classes": [class("a", 0), class("b", 1)] }));
    for flow in [0, 0, 0, 1, 1, 1] {
        b.put(us(0), flow, 1);
    }
    assert_eq!(b.flows(us(0), 9), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_drop_that_empties_a_queue_of_tagged_packets_leaves_no_trace() {
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq", "virtual-clock"] {
        // The only packet of flow 1, which has the largest tag, is dropped after it was a candidate of a departure.
        let mut b = Bench::new(&per_flow(kind), &places(2, LINK));
        b.put(us(0), 0, 1000);
        b.put(us(0), 1, 9000);
        assert_eq!(b.flows(us(0), 1), [0], "{kind}");
        b.put_all(us(0), &[2, 3]);
        assert_eq!((b.drops(), b.flows(us(0), 9)), (vec![1], vec![2, 3]), "{kind}");
        // It is dropped before any departure, while flow 0 is ahead of the virtual time.
        let mut b = Bench::new(&per_flow(kind), &places(1, LINK));
        b.put(us(0), 0, 1000);
        assert_eq!(b.flows(us(0), 1), [0], "{kind}");
        b.put(us(0), 0, 1000);
        b.put(us(0), 1, 9000);
        assert_eq!((b.drops(), b.flows(us(0), 9)), (vec![2], vec![0]), "{kind}");
    }
    // The fluid server of WFQ forgets the dropped packet, too. After 500 B of work, which flows 0 and 4 share, the
    // virtual time is 250, so that flow 2 has the finish tag 1450, behind the 1400 of flow 4. With flow 1 it would be
    // 167, and the tag 1367.
    let mut b = Bench::new(&per_flow("wfq"), &places(1, Rate::mbit(10)));
    b.put(us(0), 0, 1000);
    assert_eq!(b.flows(us(0), 1), [0]);
    b.put(us(0), 4, 1400);
    b.put(us(0), 1, 9000);
    assert_eq!(b.drops(), [2]);
    b.retune(us(1), &per_flow("wfq"), &places(9, LINK));
    b.put(us(400), 2, 1200);
    assert_eq!(b.flows(us(800), 9), [4, 2]);
}

#[test]
fn a_queue_that_has_been_emptied_gets_its_next_turn_after_the_others() {
    for kind in ["drr", "sfq", "sfq-red"] {
        let buckets = if kind == "sfq-red" { json!(1024) } else { json!("per-flow") };
        let mut b = Bench::unlimited(&json!({ "kind": kind, "buckets": buckets, "quantum": "10kB" }));
        b.put_all(us(0), &[0, 1, 1]);
        assert_eq!(b.flows(us(0), 1), [0], "{kind}");
        b.put_all(us(0), &[0, 0]);
        assert_eq!(b.flows(us(0), 9), [1, 1, 0, 0], "{kind}");
    }
}

#[test]
fn a_change_to_equal_weights_leaves_the_rest_of_a_turn() {
    // A turn of flow 0 is 1000 packets of the quantum.
    let document = json!({ "kind": "drr", "quantum": "1kB", "weights": { "0": 1000.0 } });
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[0; 900]);
    b.put_all(us(0), &[1]);
    assert_eq!(b.flows(us(0), 100), [0; 100]);
    b.retune(us(1), &document, &places(u64::MAX, LINK));
    assert_eq!(b.flows(us(2), 700), [0; 700]);
}

#[test]
fn a_reduced_quantum_applies_to_the_flows_of_fq_pie() {
    let document = |quantum: &str| json!({ "kind": "fq-pie", "buckets": "per-flow", "quantum": quantum });
    let mut b = Bench::unlimited(&document("1GB"));
    b.put_all(us(0), &[0; 50]);
    b.put_all(us(0), &[1; 50]);
    assert_eq!(b.flows(us(0), 10), [0; 10]);
    b.retune(us(0), &document("1kB"), &places(u64::MAX, LINK));
    let order = b.flows(us(0), 20);
    assert!(order[2..].windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
}

/// `fq` of Linux: a flow sends while its credit is above 0.
#[test]
fn a_flow_of_fq_with_a_byte_of_credit_sends_another_packet() {
    for (quantum, order) in [("1001B", [0, 0, 1]), ("1kB", [0, 1, 0])] {
        let mut b = Bench::unlimited(
            &json!({ "kind": "fq", "buckets": "per-flow", "quantum": quantum, "initial-quantum": quantum }),
        );
        b.put_all(us(0), &[0, 0, 1]);
        assert_eq!(b.flows(us(0), 9), order, "{quantum}");
    }
}

#[test]
fn the_turns_of_weighted_round_robin_are_whole_and_begin_without_credit() {
    let document = json!({ "kind": "wrr", "classes": [
        { "match": { "flow": 0 }, "weight": 2 }, { "match": { "flow": 1 } }], "default": { "weight": 3 } });
    let mut b = Bench::unlimited(&document);
    // An attempt without packets leaves the turn with class 0.
    assert!(b.take(us(0)).is_none());
    b.put_all(us(0), &[2, 2, 2, 2, 1, 1, 1, 0, 0, 0]);
    assert_eq!(b.flows(us(0), 20), [0, 0, 1, 2, 2, 2, 0, 1, 2, 1]);
    // Each class has been empty: now each has at most its weight.
    b.put_all(us(1), &[2, 2, 2, 2, 1, 1, 1, 0, 0, 0]);
    let order = b.flows(us(1), 20);
    assert_eq!(order, [2, 2, 2, 0, 0, 1, 2, 0, 1, 1]);
    // A class that is passed over, since it is empty, saves nothing for later.
    b.put_all(us(2), &[0, 0, 0, 0, 0]);
    assert_eq!(b.flows(us(2), 3), [0; 3]);
    b.put_all(us(2), &[1, 1, 1]);
    assert_eq!(b.flows(us(2), 9), [0, 1, 0, 1, 1]);
    // A class whose turn ends with its last packet does not keep the rest of its turn.
    b.put_all(us(3), &[2]);
    assert_eq!(b.flows(us(3), 1), [2]);
    b.put_all(us(3), &[2, 2, 2, 2, 0]);
    assert_eq!(b.flows(us(3), 9), [0, 2, 2, 2, 2]);
}

#[test]
fn a_turn_of_bytes_ends_when_the_bytes_are_used_up_and_its_excess_counts_in_the_next() {
    let document = |quantum: &str| {
        json!({ "kind": "wrr", "count": "bytes", "quantum": quantum, "classes": [
            { "match": { "flow": 0 } }, { "match": { "flow": 1 } }, { "match": { "flow": 3 } }] })
    };
    let mut b = Bench::unlimited(&document("1kB"));
    b.put_all(us(0), &[0, 0, 0, 1, 1, 1]);
    assert_eq!(b.flows(us(0), 9), [0, 1, 0, 1, 0, 1]);
    // With 1001 B a byte is left over after a packet, so that the first turn has a second one, 999 B too many. The later
    // turns begin with 2 and 3 B and have one packet each.
    let mut b = Bench::unlimited(&document("1001B"));
    b.put_all(us(0), &[0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(b.flows(us(0), 9), [0, 0, 1, 1, 0, 1, 0, 1]);
    // Ten turns of 100 B pass for each packet, though the other classes are empty.
    let mut b = Bench::unlimited(&document("100B"));
    b.put_all(us(0), &[0, 0, 0]);
    assert_eq!(b.flows(us(0), 9), [0, 0, 0]);
}

#[test]
fn a_class_that_the_gate_stops_gets_no_compensation_in_a_class_based_policy() {
    // Flow 1 has 2 Mbit/s, 4 ms of virtual time per packet, the default class 8 Mbit/s, 1 ms.
    let document = json!({ "kind": "class-based", "classes": [{ "match": { "flow": 1 }, "bandwidth": "20%" }] });
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[1, 1, 2, 2, 2, 2, 2, 2]);
    let mut gate = Gate::default();
    gate.close_destination(1, None);
    for _ in 0..3 {
        assert_eq!(b.with(|q, cx| q.dequeue(us(0), &gate, cx)).map(|packet| packet.flow()), Some(2));
    }
    // Flow 1 starts at 2 ms, the start of the last packet, and then at 6 ms; flow 2 goes on at 3, 4 and 5 ms.
    assert_eq!(b.flows(us(0), 9), [1, 2, 2, 2, 1]);
}

#[test]
fn the_virtual_time_of_service_curves_is_that_of_the_class_served_last() {
    let document = json!({ "kind": "hfsc", "default": "a", "classes": [{ "name": "a", "ls": { "m2": "8Mbit/s" } }] });
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[0, 0, 0]);
    // 1000 B at 8 Mbit/s are 1 ms.
    for time in [0.0, 0.001, 0.003] {
        assert!(b.take(us(0)).is_some());
        assert!((b.probe("virtual_time") - time).abs() < 1e-15, "{}", b.probe("virtual_time"));
    }
}

#[test]
fn an_error_in_one_of_several_matches_has_the_path_of_that_match() {
    let nested = (0..40).fold(json!({ "flow": 0 }), |inner, _| json!({ "not": inner }));
    let read = decode::<Spec>(json!({ "kind": "wrr", "classes": [{ "match": [{ "flow": 1 }, nested] }] }));
    let error = Checked::check(&read.expect("it decodes")).expect_err("the match is nested too deep");
    assert!(error.path.starts_with("classes[0].match[1].not.not"), "{}", error.path);
}

#[test]
fn a_new_target_reaches_the_laws_of_all_flows_of_fq_pie() {
    let document =
        |target: &str| json!({ "kind": "fq-pie", "buckets": "per-flow", "pie": { "target": target, "burst": "0s" } });
    let mut b = Bench::unlimited(&document("10s"));
    let run = |b: &mut Bench, from: u64| {
        for k in from..from + 400 {
            let now = us(15_000 * k);
            if b.q.next_wakeup().is_some_and(|at| at <= now) {
                b.wake(now);
            }
            b.put_all(now, &[0; 3]);
            assert!(b.take(now).is_some());
        }
        b.drops().len()
    };
    assert_eq!(run(&mut b, 1), 0);
    b.retune(us(15_000 * 401), &document("1ms"), &places(u64::MAX, LINK));
    assert!(run(&mut b, 401) > 0);
}

#[test]
fn the_smallest_rate_of_a_shaper_is_a_bit_per_second() {
    let read = decode::<Spec>(json!({ "kind": "shaper", "rate": "1bit/s" })).expect("it decodes");
    assert!(Checked::check(&read).is_ok());
}

#[test]
fn a_class_that_empties_or_is_stopped_in_its_turn_begins_the_next_one_without_credit() {
    let document = json!({ "kind": "wrr", "classes": [
        { "match": { "flow": 0 }, "weight": 3 }, { "match": { "flow": 1 } }] });
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[0, 1]);
    assert_eq!(b.flows(us(0), 1), [0]);
    // Two packets of the turn were left.
    b.put_all(us(0), &[0, 0, 0, 0, 0, 1]);
    assert_eq!(b.flows(us(0), 9), [1, 0, 0, 0, 1, 0, 0]);
    // The gate stops class 0 after one packet.
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(b.flows(us(0), 1), [0]);
    let mut gate = Gate::default();
    gate.close_destination(0, None);
    assert_eq!(b.with(|q, cx| q.dequeue(us(0), &gate, cx)).map(|packet| packet.flow()), Some(1));
    assert_eq!(b.flows(us(0), 5), [0, 0, 0, 1, 0]);
    // No class may send.
    let mut b = Bench::unlimited(&document);
    b.put_all(us(0), &[0, 1, 2]);
    for destination in [0, 1, 2] {
        gate.close_destination(destination, None);
    }
    assert!(b.with(|q, cx| q.dequeue(us(0), &gate, cx)).is_none());
    assert_eq!(b.flows(us(0), 9), [0, 1, 2]);
}

#[test]
fn new_limits_of_weighted_tail_drop_apply_at_once() {
    let document = |limit: &str| json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "0": limit } });
    let mut b = Bench::unlimited(&document("2packets"));
    b.put_all(us(0), &[0, 0, 0]);
    assert_eq!(b.drops(), [2]);
    b.retune(us(0), &document("3packets"), &places(u64::MAX, LINK));
    b.put_all(us(0), &[0, 0]);
    assert_eq!(b.drops(), [2, 4]);
    b.retune(us(0), &document("1packet"), &places(u64::MAX, LINK));
    assert_eq!(b.flows(us(0), 2), [0, 0]);
    b.put_all(us(0), &[0]);
    assert_eq!(b.drops(), [2, 4, 5]);
}

#[test]
fn a_class_that_an_arrival_empties_begins_its_next_turn_without_credit() {
    // CHOKe drops an arrival and a waiting packet of its flow: class 0 is empty after one packet of its turn of three.
    let choke = json!({ "kind": "choke", "red": { "min": "1packet", "max": "900packets", "count": "packets", "weight": 1.0, "max-p": 1e-9 } });
    let mut b = Bench::unlimited(&json!({ "kind": "wrr", "classes": [
        { "match": { "not": { "flow": 1 } }, "weight": 3, "discipline": choke }, { "match": { "flow": 1 } }] }));
    b.put_all(us(0), &[10, 11, 1]);
    assert_eq!(b.flows(us(0), 1), [10]);
    b.put_all(us(0), &[11]);
    assert_eq!((b.drops().len(), b.flows(us(0), 1)), (2, vec![1]));
    // All other flows are different.
    b.put_all(us(0), &[12, 13, 14, 15, 16, 1, 1]);
    assert_eq!(b.flows(us(0), 9), [12, 13, 14, 1, 15, 16, 1]);
}

#[test]
fn shares_may_exceed_the_whole_by_the_rounding_of_percentages() {
    let valid = |share: &str| {
        let classes =
            json!([{ "match": { "flow": 0 }, "bandwidth": "50%" }, { "match": { "flow": 1 }, "bandwidth": share }]);
        let read = decode::<Spec>(json!({ "kind": "class-based", "classes": classes })).expect("it decodes");
        Checked::check(&read).is_ok()
    };
    // The tolerance is 10^-9 of the whole.
    assert_eq!(["50%", "50.0000001%", "50.0000002%"].map(valid), [true, true, false]);
}

/// As in Linux, a packet that is sent at the rate of an ancestor is not charged to the rates below that ancestor, also
/// where the hierarchy has all of its eight levels.
#[test]
fn a_leaf_on_the_lowest_of_eight_levels_does_not_pay_for_what_it_borrows() {
    let class = |k: usize| {
        let (rate, burst) = if k == 7 { ("1Mbit/s", "1B") } else { ("1kbit/s", "3kB") };
        let mut class =
            json!({ "name": format!("c{k}"), "rate": rate, "burst": burst, "ceil": "100Mbit/s", "cburst": "99kB" });
        if k > 0 {
            class["parent"] = json!(format!("c{}", k - 1));
        }
        class
    };
    let classes: Vec<Value> = (0..8).map(class).collect();
    let mut b = Bench::unlimited(&json!({ "kind": "htb", "default": "c7", "classes": classes }));
    b.put_all(us(0), &[0; 9]);
    // One packet within the leaf's rate; then the ancestors have 2 kB, and the last packet takes them into debt for
    // seconds. The leaf owes 999 B of its first packet, 7.992 ms at 1 Mbit/s.
    assert_eq!(b.flows(us(0), 9), [0; 4]);
    assert_eq!(b.q.next_wakeup(), Some(us(7_992)));
}

#[test]
fn the_schema_of_a_number_of_buckets_is_in_its_place() {
    let schema = schemars::schema_for!(tailback_qdisc::discipline::drr::Params);
    assert_eq!(
        schema.as_value()["properties"]["buckets"]["anyOf"],
        json!([{ "type": "integer", "minimum": 1, "maximum": 1_048_576 }, { "const": "per-flow" }])
    );
}
