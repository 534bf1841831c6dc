//! Claims about disciplines with classes: shares, priority, policing, borrowing, rounds, refusals.

use crate::common::{Steps, seeded};
use crate::link::{Arrival, Log, buffer, build, constant, merged, packet, random, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use tailback_qdisc::{Cx, Ecn, Gate, Qdisc, Reason, Site};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SITE: Site = Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE };

fn secs(s: u64) -> Time {
    Time::ZERO + Dur::from_secs(s)
}

/// One flow for each class, `rates` in Mbit/s, for ten seconds.
fn streams(rates: &[f64]) -> Vec<Arrival> {
    let rate = |mbit: f64| Rate((mbit * 1e6) as u64);
    let stream = |(f, mbit): (usize, &f64)| constant(f as u32, 1000, rate(*mbit), Time(f as u64 * 12_345), secs(10));
    merged(rates.iter().enumerate().map(stream).collect())
}

fn served(document: Value, arrivals: &[Arrival]) -> Log {
    run(&mut build(document, &SITE), arrivals, RATE, 1, secs(10))
}

/// Mbit/s of each flow.
fn rates(log: &Log, flows: u32) -> Vec<f64> {
    (0..flows).map(|flow| log.bytes_of(flow) as f64 * 8.0 / 10.0 / 1e6).collect()
}

fn assert_rates(log: &Log, expected: &[f64], part: f64) {
    let found = rates(log, expected.len() as u32);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= part * expected, "{found} Mbit/s, expected {expected}");
    }
}

#[test]
fn classes_share_the_link_by_weighted_max_min() {
    let class = |flow: u32, percent: &str| json!({ "match": { "flow": flow }, "bandwidth": percent });
    let classes: Vec<Value> = [(0, "40%"), (1, "30%"), (2, "20%")].map(|(f, p)| class(f, p)).into();
    let document = json!({ "kind": "class-based", "classes": classes });
    // All want more than there is: by weight, the default class having what is left.
    assert_rates(&served(document.clone(), &streams(&[9.0; 4])), &[4.0, 3.0, 2.0, 1.0], 0.01);
    // One wants 1 Mbit/s only: what it leaves is shared in proportion.
    let expected = [1.0, 9.0 * 3.0 / 6.0, 9.0 * 2.0 / 6.0, 9.0 / 6.0];
    assert_rates(&served(document, &streams(&[1.0, 9.0, 9.0, 9.0])), &expected, 0.01);
    // What remains behind 40 % and 10 % of priority: 5 Mbit/s in the proportion 3 : 1 : 1.
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
    // So shares do not depend on how the priority comes: 2 : 1, under none, an even and a bursty stream of 3 Mbit/s.
    let bursts = |long: u64| -> Vec<Arrival> {
        let at = |k: u64| Time::ZERO + Dur::from_us(k / long * long * 8_000 / 3);
        (0..3_750).map(|k| Arrival { at: at(k), flow: 0, bytes: 1000, ecn: Ecn::NotEct }).collect()
    };
    for priority in [Vec::new(), bursts(1), bursts(100)] {
        let left = if priority.is_empty() { 10.0 } else { 7.0 };
        let log = served(document.clone(), &merged(vec![priority, streams(&[0.0001, 9.0, 9.0])]));
        let found = rates(&log, 3);
        assert!((found[1] / found[2] - 2.0).abs() < 0.02, "{found:?}");
        assert!((found[1] + found[2] - left).abs() < 0.08, "{found:?}");
    }
}

#[test]
fn a_priority_class_is_policed_under_congestion_only() {
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "2Mbit/s", "burst": "20kB" } },
    ] });
    // Alone it may take what there is.
    let alone = served(document.clone(), &streams(&[8.0]));
    assert!(alone.dropped.is_empty());
    assert_rates(&alone, &[8.0], 0.001);
    // With another that waits it is held to its rate, and goes before it. The policer counts the 982 B of buffers, so that 2
    // Mbit/s and a burst of 20 kB in ten seconds are 2.0367 + 0.0163 on the wire.
    let arrivals = streams(&[8.0, 9.0]);
    let log = served(document, &arrivals);
    // What the policer has let pass conforms between any two arrivals.
    let mut passed: Vec<_> = log.left.iter().filter(|d| d.flow == 0).copied().collect();
    for d in &mut passed {
        d.start = arrivals[d.arrival].at;
    }
    // Before the other had something waiting there was no congestion: at most the first packet.
    let passed = Log { left: passed.split_off(1), ..Log::default() };
    assert!(excess(&passed, Rate(2_000_000), 20_000, |_| true) <= 0.0);
    assert_rates(&log, &[2.053, 7.947], 0.002);
    assert!(log.dropped.iter().filter(|d| d.1 == 0).all(|d| d.2 == Reason::Policed));
    let slowest = log.left.iter().filter(|d| d.flow == 0).map(|d| d.start.since(arrivals[d.arrival].at)).max();
    // One packet of the other, and the 20 that its own burst holds, leave before.
    assert!(slowest <= Some(Dur::from_us(800 * 21)), "{slowest:?}");
    let tight = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "2Mbit/s", "burst": "1kB" } },
    ] });
    let log = served(tight, &arrivals);
    let slowest = log.left.iter().filter(|d| d.flow == 0).map(|d| d.start.since(arrivals[d.arrival].at)).max();
    assert!(slowest <= Some(Dur::from_us(800)), "with one packet at a time it waits for one other: {slowest:?}");
}

#[test]
fn priority_of_the_first_level_goes_before_that_of_the_second_and_starves_the_rest() {
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 1 }, "priority": { "level": 2 } },
        { "match": { "flow": 0 }, "priority": {} },
    ] });
    assert_rates(&served(document, &streams(&[6.0, 6.0, 6.0])), &[6.0, 4.0, 0.0], 0.01);
}

/// Returns by how many buffer bytes, which token buckets count, the departures of the flows exceed burst + rate · t in
/// the worst interval; below 0 if they never do.
fn excess(log: &Log, rate: Rate, burst: u64, of: impl Fn(u32) -> bool) -> f64 {
    const BYTE: i128 = 8_000_000_000_000;
    let (mut sent, mut least, mut worst) = (0i128, i128::MAX, i128::MIN);
    for d in log.left.iter().filter(|d| of(d.flow)) {
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
    fn what_a_shaper_lets_pass_conforms_between_any_two_instants(seed in any::<u64>(), kbit in 200u64..9_000, burst in 1500u64..40_000, load in 0.1f64..1.5) {
        let arrivals = random(seed, 4, 3_000, RATE, load);
        let document = json!({ "kind": "shaper", "rate": format!("{kbit}kbit/s"), "burst": format!("{burst}B"),
            "discipline": { "kind": "drr" } });
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::NEVER);
        prop_assert_eq!(log.left.len(), arrivals.len());
        prop_assert!(excess(&log, Rate(kbit * 1000), burst, |_| true) <= 0.0);
    }

    #[test]
    fn no_leaf_exceeds_its_ceiling_nor_all_together_the_root_and_their_own_bursts(seed in any::<u64>(), ceil in 3_000u64..8_000) {
        let document = json!({ "kind": "htb", "classes": [
            { "name": "root", "rate": "8Mbit/s", "burst": "1600B", "cburst": "1600B" },
            { "name": "a", "parent": "root", "match": { "flow": 0 }, "rate": "3Mbit/s", "ceil": format!("{ceil}kbit/s"), "cburst": "3kB" },
            { "name": "b", "parent": "root", "match": { "flow": 1 }, "rate": "2Mbit/s", "ceil": "8Mbit/s" },
        ] });
        let mut arrivals = random(seed, 2, 4_000, RATE, 2.0);
        arrivals.iter_mut().filter(|a| a.flow == 0).for_each(|a| a.bytes = 1500);
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::NEVER);
        // A bucket that is not in debt lets one packet go into it; the largest takes 1494 B of buffers.
        prop_assert!(excess(&log, Rate(ceil * 1000), 3_000 + 1_494, |flow| flow == 0) <= 0.0);
        // By right a leaf sends whatever its parent says: 1 ms of its rate and 1600 B, and a packet of debt.
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
    // And the burst at the beginning. 5 Mbit/s of buffer bytes are 5 · 1000 / 982 = 5.0916 on the wire.
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
    // Tokens are buffer bytes: 1 Mbit/s of them is 1000 / 982 = 1.0183 on the wire, and 8 are 8.1466.
    // 4 Mbit/s are assured; the rest is borrowed in turns of 1 : 3, for `rest` may not borrow.
    assert_rates(&served(document(0), &streams(&[9.0, 9.0, 9.0])), &[3.055, 4.0733, 1.0183], 0.01);
    // With a priority below, b borrows nothing while a wants it.
    assert_rates(&served(document(1), &streams(&[9.0, 9.0, 9.0])), &[6.11, 1.0183, 1.0183], 0.01);
    assert_rates(&served(document(1), &streams(&[3.0, 9.0])), &[3.0, 5.1466], 0.01);
    // Up to the ceiling of their parent's rate, with no other parent to borrow from.
    assert_rates(&served(document(0), &streams(&[9.0])), &[8.1466], 0.01);
}

#[test]
fn rounds_are_by_packets_or_by_bytes() {
    let document = |count: &str| {
        json!({ "kind": "wrr", "count": count, "quantum": "1500B", "classes": [
        { "match": { "flow": 0 }, "weight": 3 }, { "match": { "flow": 1 } },
    ] })
    };
    let small = constant(0, 500, Rate(9_000_000), Time::ZERO, secs(10));
    let arrivals = merged(vec![small, constant(1, 1500, Rate(9_000_000), Time::ZERO, secs(10))]);
    let packets = |log: &Log, flow| log.left.iter().filter(|d| d.flow == flow).count() as f64;
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
        steps.step("packets leave and others are let in");
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
    // 1 Mbit/s of the half that it would get; when its shaper lets go, it has no arrears to claim.
    let document = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "bandwidth": "50%", "discipline": { "kind": "shaper", "rate": "1Mbit/s", "burst": "1kB" } },
        { "match": { "flow": 1 }, "bandwidth": "25%" },
    ] });
    let log = served(document, &streams(&[9.0, 9.0, 9.0]));
    assert_rates(&log, &[1.0, 4.5, 4.5], 0.01);
    let longest = log.left.windows(2).filter(|pair| pair[0].flow == 0 && pair[1].flow == 0).count();
    assert_eq!(longest, 0, "never two of its packets in a row");
}
