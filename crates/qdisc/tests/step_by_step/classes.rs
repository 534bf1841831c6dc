//! Disciplines with classes.

use super::*;

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

#[test]
fn a_wake_up_of_an_inner_timer_keeps_the_container_s_own_timer() {
    // A packet of 1000 B at 1 Mbit/s takes 8 ms. PIE inside has a timer every 3 ms.
    let inner = json!({ "kind": "pie", "update": "3ms" });
    for document in [
        json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "1000B", "discipline": inner }),
        json!({ "kind": "htb", "default": "a", "classes": [
            { "name": "a", "rate": "1Mbit/s", "burst": "1B", "cburst": "1B", "discipline": inner }] }),
        json!({ "kind": "hfsc", "default": "a", "classes": [
            { "name": "a", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "1Mbit/s" }, "discipline": inner }] }),
    ] {
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
        // The bucket of HTB held a byte before the first packet, and a bucket that is just empty suffices for the next.
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
