//! Queues of flows, in rounds or by tags.

use super::*;

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
        // The second packets of both flows have the finish tag 2000: the newest one is dropped.
        b.put_all(us(0), &[0, 1, 0, 1]);
        assert_eq!(b.drops(), [3], "{kind}");
        // A first packet has the tag 1000 and takes the place of flow 0's second one.
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

/// Buckets with RED whose average is the length: from 1 packet on arrivals are dropped or marked early, from 40 packets on
/// all are dropped.
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
fn the_schema_of_a_number_of_buckets_is_in_its_place() {
    let schema = schemars::schema_for!(tailback_qdisc::discipline::drr::Params);
    assert_eq!(
        schema.as_value()["properties"]["buckets"]["anyOf"],
        json!([{ "type": "integer", "minimum": 1, "maximum": 1_048_576 }, { "const": "per-flow" }])
    );
}
