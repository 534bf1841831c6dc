//! Limits in bytes, and delays.

use super::*;

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
