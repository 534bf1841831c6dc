//! Claims about disciplines with classes: shares, priority, policing, borrowing, rounds, refusals.

use crate::common::{Steps, seeded};
use crate::link::{Arrival, Log, buffer, build, constant, merged, packet, random, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Cx, Discipline, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SITE: Site = Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE };

fn secs(s: u64) -> Time {
    Time::ZERO + Dur::from_secs(s)
}

/// Returns packets of 1000 B on the wire for ten seconds, one flow for each entry of `rates`, in Mbit/s on the wire.
fn streams(rates: &[f64]) -> Vec<Arrival> {
    let rate = |mbit: f64| Rate((mbit * 1e6) as u64);
    let stream = |(f, mbit): (usize, &f64)| constant(f as u32, 1000, rate(*mbit), Time(f as u64 * 12_345), secs(10));
    merged(rates.iter().enumerate().map(stream).collect())
}

/// Returns the outcomes of the arrivals in the first ten seconds.
fn served(document: Value, arrivals: &[Arrival]) -> Log {
    run(&mut build(document, &SITE), arrivals, RATE, 1, secs(10))
}

/// Returns the rate of each flow on the wire over ten seconds, in Mbit/s.
fn rates(log: &Log, flows: u32) -> Vec<f64> {
    (0..flows).map(|flow| log.bytes_of(flow) as f64 * 8.0 / 10.0 / 1e6).collect()
}

/// Fails if a flow's rate differs from the expected one, in Mbit/s, by more than the share `tolerance`.
fn assert_rates(log: &Log, expected: &[f64], tolerance: f64) {
    let found = rates(log, expected.len() as u32);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance * expected, "{found} Mbit/s, expected {expected}");
    }
}

#[test]
fn classes_share_the_link_by_weighted_max_min() {
    let class = |flow: u32, percent: &str| json!({ "match": { "flow": flow }, "bandwidth": percent });
    let classes: Vec<Value> = [(0, "40%"), (1, "30%"), (2, "20%")].map(|(f, p)| class(f, p)).into();
    let document = json!({ "kind": "class-based", "classes": classes });
    // Every flow exceeds its share: the classes get their bandwidths, and the default class the remaining 10 %.
    assert_rates(&served(document.clone(), &streams(&[9.0; 4])), &[4.0, 3.0, 2.0, 1.0], 0.01);
    // Flow 0 needs only 1 Mbit/s: the others share 9 Mbit/s in the proportion 3 : 2 : 1 of their bandwidths.
    let expected = [1.0, 9.0 * 3.0 / 6.0, 9.0 * 2.0 / 6.0, 9.0 / 6.0];
    assert_rates(&served(document, &streams(&[1.0, 9.0, 9.0, 9.0])), &expected, 0.01);
    // The priority class takes 1 Mbit/s of the reservable bandwidth and flow 1 takes 4. Flow 2, flow 3 and the default
    // class share the other 5 in the proportion 3 : 1 : 1, so that the weights of flows 1 to 4 are 4 : 3 : 1 : 1. Flow
    // 0 sends 0.99 Mbit/s and leaves 9.01.
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "1Mbit/s" } },
        { "match": { "flow": 1 }, "bandwidth": "4Mbit/s" },
        { "match": { "flow": 2 }, "remaining": 3 },
        { "match": { "flow": 3 }, "remaining": 1 },
    ] });
    assert_rates(
        &served(document, &streams(&[0.99, 9.0, 9.0, 9.0, 9.0])),
        &[0.99, 9.01 * 4.0 / 9.0, 9.01 * 3.0 / 9.0, 9.01 / 9.0, 9.01 / 9.0],
        0.01,
    );
}

#[test]
fn the_service_of_priority_does_not_advance_the_virtual_time_of_the_others() {
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": {}, "limit": "1000packets" },
        { "match": { "flow": 1 }, "bandwidth": "20%", "limit": "1000packets" },
        { "match": { "flow": 2 }, "bandwidth": "10%", "limit": "1000packets" },
    ] });
    let virtual_time = |q: &tailback_qdisc::Discipline| {
        let mut found = f64::NAN;
        q.probe(&mut |name, value| {
            if name == "virtual_time" {
                found = value;
            }
        });
        found
    };
    let mut q = build(document.clone(), &SITE);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let arrival = |flow| Arrival { at: Time::ZERO, flow, bytes: 1000, ecn: Ecn::NotEct };
    for flow in [1, 2, 1, 2, 0, 0, 0] {
        q.enqueue(Time::ZERO, packet(&arrival(flow), 0), cx);
    }
    let gate = Gate::default();
    for expected in [0, 0, 0] {
        let before = virtual_time(&q);
        assert_eq!(q.dequeue(Time::ZERO, &gate, cx).map(|p| p.flow()), Some(expected));
        assert_eq!(virtual_time(&q), before);
    }
    for _ in 0..4 {
        assert!(q.dequeue(Time::ZERO, &gate, cx).is_some(), "four packets of the classes");
    }
    assert!(virtual_time(&q) > 0.0);
    // The shares of flows 1 and 2 are therefore 2 : 1 without priority packets, and with an evenly spaced or a bursty
    // priority stream of 3 Mbit/s: a packet of 8000 bit every 8000/3 us.
    let bursts = |length: u64| -> Vec<Arrival> {
        let at = |k: u64| Time::ZERO + Dur::from_us(k / length * length * 8_000 / 3);
        (0..3_750).map(|k| Arrival { at: at(k), flow: 0, bytes: 1000, ecn: Ecn::NotEct }).collect()
    };
    for priority in [Vec::new(), bursts(1), bursts(100)] {
        let available = if priority.is_empty() { 10.0 } else { 7.0 };
        let log = served(document.clone(), &merged(vec![priority, streams(&[0.0001, 9.0, 9.0])]));
        let found = rates(&log, 3);
        assert!((found[1] / found[2] - 2.0).abs() < 0.02, "{found:?}");
        assert!((found[1] + found[2] - available).abs() < 0.08, "{found:?}");
    }
}

#[test]
fn a_priority_class_is_policed_under_congestion_only() {
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "2Mbit/s", "burst": "20kB" } },
    ] });
    // Alone, the priority class may use the whole link.
    let alone = served(document.clone(), &streams(&[8.0]));
    assert!(alone.dropped.is_empty());
    assert_rates(&alone, &[8.0], 0.001);
    // While another class waits, the priority class is served first but limited to its rate. The policer counts the 982
    // buffer bytes of a packet of 1000 B on the wire: 2 Mbit/s are 2 · 1000/982 = 2.0367 Mbit/s on the wire, and a
    // burst of 20 kB in ten seconds adds 0.016 · 1000/982 = 0.0163 Mbit/s.
    let arrivals = streams(&[8.0, 9.0]);
    let log = served(document, &arrivals);
    // The packets that passed the policer conform to its profile between any two arrivals: their arrivals are examined.
    let mut passed: Vec<_> = log.departed.iter().filter(|d| d.flow == 0).copied().collect();
    for d in &mut passed {
        d.start = arrivals[d.arrival].at;
    }
    // The first packet is left out: it arrived before the other class had a packet waiting, so that it was not policed.
    let passed = Log { departed: passed.split_off(1), ..Log::default() };
    assert!(excess(&passed, Rate(2_000_000), 20_000, |_| true) <= 0.0);
    assert_rates(&log, &[2.053, 7.947], 0.002);
    assert!(log.dropped.iter().filter(|d| d.flow == 0).all(|d| d.reason == Reason::Policed));
    let slowest = log.departed.iter().filter(|d| d.flow == 0).map(|d| d.start.since(arrivals[d.arrival].at)).max();
    // At most one packet of the other class and the 20 packets of the burst, 800 us each, leave before a priority
    // packet has left.
    assert!(slowest <= Some(Dur::from_us(800 * 21)), "{slowest:?}");
    let tight = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "2Mbit/s", "burst": "1kB" } },
    ] });
    let log = served(tight, &arrivals);
    let slowest = log.departed.iter().filter(|d| d.flow == 0).map(|d| d.start.since(arrivals[d.arrival].at)).max();
    assert!(
        slowest <= Some(Dur::from_us(800)),
        "with a burst of one packet, a priority packet waits for at most one packet of the other class: {slowest:?}"
    );
}

#[test]
fn priority_level_1_is_served_before_level_2_and_both_starve_the_other_classes() {
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 1 }, "priority": { "level": 2 } },
        { "match": { "flow": 0 }, "priority": {} },
    ] });
    assert_rates(&served(document, &streams(&[6.0, 6.0, 6.0])), &[6.0, 4.0, 0.0], 0.01);
}

/// Returns the number of buffer bytes, which token buckets count, by which the departures of the flows that `includes`
/// accepts exceed burst + rate · t in the worst interval; it is at most 0 if they conform.
fn excess(log: &Log, rate: Rate, burst: u64, includes: impl Fn(u32) -> bool) -> f64 {
    const BYTE: i128 = 8_000_000_000_000;
    let (mut sent, mut least, mut worst) = (0i128, i128::MAX, i128::MIN);
    for d in log.departed.iter().filter(|d| includes(d.flow)) {
        let credit = i128::from(rate.0) * i128::from(d.start.0);
        least = least.min(sent * BYTE - credit);
        sent += i128::from(buffer(d.bytes));
        worst = worst.max(sent * BYTE - credit - least);
    }
    (worst - i128::from(burst) * BYTE) as f64 / BYTE as f64
}

proptest! {
    #![proptest_config(seeded(32))]

    #[test]
    fn the_output_of_a_shaper_conforms_to_its_rate_and_burst_in_every_interval(seed in any::<u64>(), kbit in 200u64..9_000, burst in 1500u64..40_000, load in 0.1f64..1.5) {
        let arrivals = random(seed, 4, 3_000, RATE, load);
        let document = json!({ "kind": "shaper", "rate": format!("{kbit}kbit/s"), "burst": format!("{burst}B"),
            "discipline": { "kind": "drr" } });
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::NEVER);
        prop_assert_eq!(log.departed.len(), arrivals.len());
        prop_assert!(excess(&log, Rate(kbit * 1000), burst, |_| true) <= 0.0);
    }

    #[test]
    fn a_leaf_keeps_to_its_ceiling_and_all_leaves_to_the_root_s_rate_plus_their_bursts(seed in any::<u64>(), ceil in 3_000u64..8_000) {
        let document = json!({ "kind": "htb", "classes": [
            { "name": "root", "rate": "8Mbit/s", "burst": "1600B", "cburst": "1600B" },
            { "name": "a", "parent": "root", "match": { "flow": 0 }, "rate": "3Mbit/s", "ceil": format!("{ceil}kbit/s"), "cburst": "3kB" },
            { "name": "b", "parent": "root", "match": { "flow": 1 }, "rate": "2Mbit/s", "ceil": "8Mbit/s" },
        ] });
        let mut arrivals = random(seed, 2, 4_000, RATE, 2.0);
        arrivals.iter_mut().filter(|a| a.flow == 0).for_each(|a| a.bytes = 1500);
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::NEVER);
        // A bucket that is not in debt lets one packet take it into debt; the largest packet has 1494 buffer bytes.
        prop_assert!(excess(&log, Rate(ceil * 1000), 3_000 + 1_494, |flow| flow == 0) <= 0.0);
        // Within its own rate a leaf may send whatever the root's bucket holds: its burst, which is 1 ms of its rate
        // plus 1600 B, and a packet of debt.
        let own = (375 + 1_600 + 1_494) + (250 + 1_600 + 1_494);
        prop_assert!(excess(&log, Rate(8_000_000), 1_600 + 1_494 + own, |_| true) <= 0.0);
    }
}

#[test]
fn a_shaper_keeps_its_rate_to_a_thousandth_and_its_child_its_shares_of_that() {
    let document = json!({ "kind": "shaper", "rate": "5Mbit/s", "burst": "10kB", "discipline": {
        "kind": "class-based", "classes": [
            { "match": { "flow": 0 }, "bandwidth": "60%" },
            { "match": { "flow": 1 }, "bandwidth": "30%" },
        ] } });
    let log = served(document, &streams(&[9.0, 9.0, 9.0]));
    let sum: f64 = rates(&log, 3).iter().sum();
    // 5 Mbit/s of buffer bytes are 5 · 1000 / 982 = 5.0916 on the wire; the initial burst of 10 kB adds 0.0081 over ten
    // seconds.
    assert!((sum - 5.0916 - 0.0081).abs() < 0.005, "{sum} Mbit/s");
    assert_rates(&log, &[3.055, 1.5275, 0.5092], 0.01);
}

#[test]
fn leaves_of_a_token_bucket_hierarchy_borrow_what_others_leave() {
    let document = |prio: u8| {
        json!({ "kind": "htb", "default": "rest", "classes": [
        { "name": "root", "rate": "8Mbit/s" },
        { "name": "a", "parent": "root", "match": { "flow": 0 }, "rate": "2Mbit/s", "ceil": "8Mbit/s", "quantum": "1000B" },
        { "name": "b", "parent": "root", "match": { "flow": 1 }, "rate": "1Mbit/s", "ceil": "8Mbit/s", "quantum": "3000B", "prio": prio },
        { "name": "rest", "parent": "root", "rate": "1Mbit/s" },
    ] })
    };
    // Tokens are buffer bytes: 1 Mbit/s of them is 1000 / 982 = 1.0183 on the wire, and 8 are 8.1466. 4 of the root's 8
    // Mbit/s are the leaves' own rates. a and b borrow the other 4 in turns of 1 : 3, while `rest` is at its ceiling: a
    // has 2 + 1, b 1 + 3 and `rest` 1, times 1.0183.
    assert_rates(&served(document(0), &streams(&[9.0, 9.0, 9.0])), &[3.055, 4.0733, 1.0183], 0.01);
    // At a lower priority b borrows nothing while a can borrow all: a has 2 + 4, times 1.0183.
    assert_rates(&served(document(1), &streams(&[9.0, 9.0, 9.0])), &[6.11, 1.0183, 1.0183], 0.01);
    assert_rates(&served(document(1), &streams(&[3.0, 9.0])), &[3.0, 5.1466], 0.01);
    // One leaf sends at most its parent's rate, since that has no parent to borrow from.
    assert_rates(&served(document(0), &streams(&[9.0])), &[8.1466], 0.01);
}

#[test]
fn weighted_round_robin_counts_packets_or_bytes() {
    let document = |count: &str| {
        json!({ "kind": "wrr", "count": count, "quantum": "1500B", "classes": [
        { "match": { "flow": 0 }, "weight": 3 }, { "match": { "flow": 1 } },
    ] })
    };
    let small = constant(0, 500, Rate(9_000_000), Time::ZERO, secs(10));
    let arrivals = merged(vec![small, constant(1, 1500, Rate(9_000_000), Time::ZERO, secs(10))]);
    let packets = |log: &Log, flow| log.departed.iter().filter(|d| d.flow == flow).count() as f64;
    let log = served(document("packets"), &arrivals);
    assert!((packets(&log, 0) / packets(&log, 1) - 3.0).abs() < 0.01);
    let log = served(document("bytes"), &arrivals);
    assert!((log.bytes_of(0) as f64 / log.bytes_of(1) as f64 - 3.0).abs() < 0.01);
}

#[test]
fn a_conversation_over_the_threshold_is_refused_until_it_is_below_a_quarter() {
    let document = json!({ "kind": "fair-queue", "queues": "per-flow", "threshold": "8packets" });
    let mut q = build(document, &SITE);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let offer = |q: &mut tailback_qdisc::Discipline, cx: &mut Cx<'_>| {
        let before = q.packets();
        q.enqueue(Time::ZERO, packet(&Arrival { at: Time::ZERO, flow: 0, bytes: 1000, ecn: Ecn::NotEct }, 0), cx);
        q.packets() > before
    };
    let taken = (0..10).filter(|_| offer(&mut q, cx)).count();
    assert_eq!(taken, 8);
    let mut steps = Steps::at_most(10);
    while q.packets() > 2 {
        steps.step("packets are accepted above a quarter of the threshold");
        assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some());
        if q.packets() >= 2 {
            assert!(!offer(&mut q, cx), "with {} waiting", q.packets());
        }
    }
    assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some());
    assert!(offer(&mut q, cx), "with one waiting, below a quarter of eight");
    assert!(cx.dropped.iter().all(|d| d.why == Reason::Early));
}

#[test]
fn a_shaped_class_does_not_catch_up_on_what_it_held_back() {
    // The shaper limits the class to 1 of the 5 Mbit/s of its share; when it releases a packet, the class has no claim
    // to the difference.
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "bandwidth": "50%", "discipline": { "kind": "shaper", "rate": "1Mbit/s", "burst": "1kB" } },
        { "match": { "flow": 1 }, "bandwidth": "25%" },
    ] });
    let log = served(document, &streams(&[9.0, 9.0, 9.0]));
    assert_rates(&log, &[1.0, 4.5, 4.5], 0.01);
    let in_a_row = log.departed.windows(2).filter(|pair| pair[0].flow == 0 && pair[1].flow == 0).count();
    assert_eq!(in_a_row, 0, "never two of its packets in a row");
}

#[test]
fn a_token_bucket_hierarchy_sets_its_timer_to_the_debt_of_a_class_that_waits_and_not_of_an_empty_one() {
    let class = |name: &str, flow: u32, rate: &str| json!({ "name": name, "match": { "flow": flow }, "rate": rate, "burst": "1B", "cburst": "1B" });
    let document = json!({ "kind": "htb", "classes": [class("slow", 0, "8kbit/s"), class("fast", 1, "16kbit/s")] });
    let mut q = build(document, &SITE);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    for flow in [0, 0, 1] {
        q.enqueue(Time::ZERO, packet(&Arrival { at: Time::ZERO, flow, bytes: 1000, ecn: Ecn::NotEct }, 0), cx);
    }
    for _ in 0..2 {
        assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some(), "each class has tokens for one packet");
    }
    assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_none());
    // A packet of 982 buffer bytes leaves a debt of 981 B: 981 ms at 1 B/ms for the slow class, in which a packet
    // waits, and half of that for the fast one, which is empty.
    assert_eq!((q.packets(), q.next_wakeup()), (1, Some(Time::ZERO + Dur::from_ms(981))));
}

#[test]
fn an_inner_class_of_a_token_bucket_hierarchy_has_no_match_discipline_or_limit() {
    for (key, value) in
        [("match", json!({ "flow": 0 })), ("discipline", json!({ "kind": "drop-tail" })), ("limit", json!("9packets"))]
    {
        let mut inner = json!({ "name": "inner", "rate": "1Mbit/s" });
        inner[key] = value;
        let leaf = json!({ "name": "leaf", "parent": "inner", "rate": "1Mbit/s" });
        let spec: Spec = decode(json!({ "kind": "htb", "classes": [inner, leaf] })).expect("a document");
        let refused = Checked::check(&spec).expect_err("an inner class holds no packets");
        assert_eq!(refused.path, format!("classes[0].{key}"));
    }
}

/// Cisco IOS, `priority-list queue-limit`: 20, 40, 60 and 80 packets for the queues high, medium, normal and low.
#[test]
fn the_default_levels_of_priority_queueing_have_the_limits_of_ios() {
    for (name, limit) in [("high", 20), ("medium", 40), ("normal", 60), ("low", 80)] {
        let mut q = build(json!({ "kind": "priority", "default": name }), &SITE);
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        for index in 0..100 {
            q.enqueue(
                Time::ZERO,
                packet(&Arrival { at: Time::ZERO, flow: 0, bytes: 1000, ecn: Ecn::NotEct }, index),
                cx,
            );
        }
        assert_eq!(q.packets(), limit, "{name}");
    }
}

/// Each class has COBALT, whose Blue has the probability 1 after a drop at a full queue, and 0 after a step down. The
/// waiting packets leave within the 5 ms in which Blue makes no further step, so that their departure does not lower
/// the probability.
#[test]
fn an_idle_link_is_reported_to_each_empty_class() {
    let cobalt = json!({ "kind": "cobalt", "increment": 1.0, "decrement": 1.0 });
    let level = |flow: u32| json!({ "match": { "flow": flow }, "discipline": cobalt, "limit": "2packets" });
    for flow in [0, 1] {
        for (reported, delivered) in [(true, 0), (false, 1)] {
            let mut q = build(json!({ "kind": "priority", "levels": [level(0), level(1)] }), &SITE);
            let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
            let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
            let at = |ms| Time::ZERO + Dur::from_ms(ms);
            let arrive = |q: &mut Discipline, cx: &mut Cx<'_>, ms, count| {
                for index in 0..count {
                    q.enqueue(at(ms), packet(&Arrival { at: at(ms), flow, bytes: 1000, ecn: Ecn::NotEct }, index), cx);
                }
            };
            // The third packet finds no room.
            arrive(&mut q, cx, 10, 3);
            while q.dequeue(at(11), &Gate::default(), cx).is_some() {}
            q.idle(at(11), cx);
            if reported {
                q.idle(at(20), cx);
            }
            // Blue drops the first of two packets at departure if its probability is still 1; it never drops the last
            // one.
            arrive(&mut q, cx, 21, 2);
            let first = q.dequeue(at(21), &Gate::default(), cx).map(|packet| packet.seq);
            assert_eq!(first, Some(delivered), "flow {flow}, reported: {reported}");
        }
    }
}

/// The class of flow 0 has Blue, whose probability is 1 after a second packet in its queue, and 0 after an idle time.
/// The class is idle from the end of its last packet's transmission, although the link is busy with the other class.
#[test]
fn a_class_is_idle_when_its_last_packet_has_been_sent_and_others_wait() {
    let blue = json!({ "kind": "blue", "increment": 1.0, "decrement": 1.0, "freeze": "0s", "threshold": "1packet" });
    let of = |flow: u32, more: &Value| {
        let mut class = json!({ "match": { "flow": flow }, "limit": "100packets" });
        more.as_object().expect("a table").iter().for_each(|(key, value)| class[key] = value.clone());
        class
    };
    let ls = |name: &str| json!({ "name": name, "ls": { "m2": "5Mbit/s" } });
    let mut first = ls("first");
    first["discipline"] = blue.clone();
    let with_blue = json!({ "discipline": blue });
    for document in [
        json!({ "kind": "hfsc", "classes": [of(0, &first), of(1, &ls("second"))] }),
        json!({ "kind": "wrr", "classes": [of(0, &with_blue), of(1, &json!({}))] }),
    ] {
        for (sent, accepted) in [(false, 0), (true, 1)] {
            let mut q = build(document.clone(), &SITE);
            let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
            let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
            let mut now = secs(1);
            let arrive = |q: &mut Discipline, cx: &mut Cx<'_>, now, flow| {
                q.enqueue(now, packet(&Arrival { at: now, flow, bytes: 1000, ecn: Ecn::NotEct }, 0), cx);
            };
            for flow in [0, 0, 1, 1, 1, 1, 1, 1, 1, 1] {
                arrive(&mut q, cx, now, flow);
            }
            let mut left = 2;
            while left > 0 {
                now += Dur::from_ms(1);
                left -= u32::from(q.dequeue(now, &Gate::default(), cx).expect("packets wait").flow() == 0);
            }
            if sent {
                now += Dur::from_ms(1);
                assert_eq!(q.dequeue(now, &Gate::default(), cx).map(|packet| packet.flow()), Some(1));
            }
            let waiting = q.packets();
            arrive(&mut q, cx, now, 0);
            assert_eq!(q.packets() - waiting, accepted, "{document}, sent: {sent}");
        }
    }
}

/// Linux (`htb_dequeue_tree`): a class has its turn until its deficit, 0 at first, falls below 0; then it gets its quantum.
#[test]
fn htb_ends_a_turn_when_the_deficit_is_below_zero() {
    // Of two packets of 1000 B the second ends exactly at a deficit of 0 with a quantum of 2000 B, and below it with 1999 B.
    for (quantum, order) in [(2_000, [0, 1, 0, 0, 1, 1, 0, 0]), (1_999, [0, 1, 0, 1, 0, 0, 1, 1])] {
        let class = |name: &str, flow: u32| {
            json!({ "name": name, "rate": "9Mbit/s", "burst": "1GB", "cburst": "1GB", "quantum": format!("{quantum}B"),
                    "match": { "flow": flow } })
        };
        let document = json!({ "kind": "htb", "default": "a", "classes": [class("a", 0), class("b", 1)] });
        let mut q = build(document, &SITE);
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        for flow in [0, 1].repeat(8) {
            q.enqueue(Time::ZERO, packet(&Arrival { at: Time::ZERO, flow, bytes: 1000, ecn: Ecn::NotEct }, 0), cx);
        }
        let found = [0; 8].map(|_| q.dequeue(Time::ZERO, &Gate::default(), cx).expect("packets wait").flow());
        assert_eq!(found, order, "{quantum}");
    }
}
