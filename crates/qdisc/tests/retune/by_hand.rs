//! Changes in the middle of a run whose effect is computed by hand.
//!
//! The link sends 10 Mbit/s: a packet of 1000 bytes on the wire takes 800 µs.

use super::ride::{Event, Ride, spec};
use crate::common::{Arrival, wire};
use serde_json::{Value, json};
use tailback_qdisc::{Colour, Discipline, Ecn, Qdisc, Reason, Site};
use tailback_units::{Dur, Rate, Time};

/// Buffer bytes of all packets; their length on the wire is 1000 bytes.
const SIZE: u16 = 979;

fn ms(n: u64) -> Time {
    Time::ZERO + Dur::from_ms(n)
}

/// Returns packets of flows 0 to `flows` − 1 in turn, at `load` times the rate of the link, before `until`.
fn constant(load: f64, flows: u32, until: Time) -> Vec<Arrival> {
    let gap = Dur::from_secs_f64(f64::from(wire(SIZE)) * 8.0 / (10e6 * load));
    let mut all: Vec<Arrival> = Vec::new();
    while all.last().is_none_or(|last| last.at + gap < until) {
        let seq = all.len() as u32;
        let at = Time::ZERO + gap * u64::from(seq);
        let ecn = Ecn::NotEct;
        all.push(Arrival { at, seq, flow: seq % flows, size: SIZE, ecn, colour: Colour::default() });
    }
    all
}

/// Returns a site for `packets` packets of any size at a link of 10 Mbit/s.
fn site(packets: u64) -> Site {
    Site { bytes: u64::MAX, packets, rate: Rate::mbit(10) }
}

/// Serves the traffic and returns the ride. A change consists of a time, parameters and a limit in packets; it is made
/// half-way between the first two events that allow this at or after the stated time.
fn changed(first: Value, packets: u64, traffic: &[Arrival], changes: &[(Time, Value, u64)]) -> Ride {
    let mut ride = Ride::new(&spec(&first), &site(packets), 1);
    let (mut changes, mut before) = (changes.iter().peekable(), spec(&first));
    ride.serve(traffic, |ride, now| {
        while let Some((_, document, packets)) = changes.next_if(|(at, ..)| *at <= now) {
            let to = spec(document);
            before.check_retune(&to).unwrap_or_else(|e| panic!("{document}: {e}"));
            ride.q.retune(now, &to, &site(*packets));
            before = to;
        }
    });
    assert!(changes.peek().is_none(), "a change after the end");
    ride
}

/// Returns the number of packets of each flow whose transmission begins at or after `from` and before `to`.
fn sent(ride: &Ride, traffic: &[Arrival], from: Time, to: Time) -> Vec<u64> {
    let mut counts = vec![0; 8];
    for event in &ride.log {
        if let Event::Sent { at, seq, .. } = event
            && (from..to).contains(at)
        {
            counts[traffic[*seq as usize].flow as usize] += 1;
        }
    }
    counts
}

/// Returns the times, at or after `from` and before `to`, at which packets are dropped for `reason`.
fn dropped(ride: &Ride, from: Time, to: Time, reason: Reason) -> Vec<Time> {
    let times = ride.log.iter().filter_map(|event| match event {
        Event::Dropped { at, why, .. } if *why == reason => Some(*at),
        _ => None,
    });
    times.filter(|at| (from..to).contains(at)).collect()
}

/// Returns the mean time, in ms, from arrival to transmission of the packets sent at or after `from` and before `to`.
fn mean_wait(ride: &Ride, traffic: &[Arrival], from: Time, to: Time) -> f64 {
    let waits: Vec<f64> = ride
        .log
        .iter()
        .filter_map(|event| match event {
            Event::Sent { at, seq, .. } if (from..to).contains(at) => {
                Some(at.since(traffic[*seq as usize].at).as_secs() * 1e3)
            }
            _ => None,
        })
        .collect();
    waits.iter().sum::<f64>() / waits.len() as f64
}

#[test]
fn a_queue_above_its_new_limit_loses_no_packet_and_admits_none_until_it_is_below() {
    // 20 packets wait, and two arrive per transmission. With a limit of 10 the next 10 transmissions reduce the queue
    // to 10 packets; meanwhile each arrival is refused. After that each transmission makes room for one packet.
    let traffic = constant(2.0, 1, ms(200));
    let (plain, packet) = (json!({ "kind": "drop-tail", "packets": 20 }), Dur::from_us(800));
    for (change, limit) in [(json!({ "kind": "drop-tail", "packets": 10 }), 1_000), (plain.clone(), 10)] {
        let mut lengths = Vec::new();
        let mut ride = Ride::new(&spec(&plain), &site(1_000), 1);
        ride.serve(&traffic, |ride, now| {
            lengths.push((now, ride.q.packets()));
            if now >= ms(100) {
                ride.q.retune(now, &spec(&change), &site(limit));
                assert_eq!(ride.q.packets(), lengths.last().unwrap().1);
            }
        });
        let at = |time: Time| lengths.iter().rfind(|(now, _)| *now <= time).unwrap().1;
        assert!((19..=20).contains(&at(ms(99))), "{}", at(ms(99)));
        let fallen = at(ms(100) + packet * 5);
        assert!((14..=16).contains(&fallen), "{fallen}");
        assert!((9..=10).contains(&at(ms(100) + packet * 12)));
        assert!(
            lengths
                .iter()
                .filter(|(now, _)| *now > ms(100) + packet * 12 && *now < ms(190))
                .all(|(_, n)| (9..=10).contains(n))
        );
        // The link is never idle.
        assert_eq!(sent(&ride, &traffic, ms(20), ms(180))[0], 200);
    }
}

#[test]
fn codel_begins_to_drop_one_interval_after_its_target_falls_below_the_delay() {
    // 40 packets wait about 32 ms: below a target of 1 s, above one of 5 ms. The first drop comes when the delay has
    // been above the target for an interval, at the next departure.
    let traffic = constant(2.0, 1, ms(600));
    let codel = |target: &str, interval: &str| json!({ "kind": "codel", "target": target, "interval": interval });
    let ride = changed(codel("1s", "1s"), 40, &traffic, &[(ms(200), codel("5ms", "100ms"), 40)]);
    let drops = dropped(&ride, Time::ZERO, ms(600), Reason::Early);
    assert!((ms(300)..ms(302)).contains(&drops[0]), "{:?}", drops[0]);
    // With an interval of 1 s at first, the delay has been above the target since the queue filled; the shorter
    // interval begins at the change.
    let ride = changed(codel("5ms", "1s"), 40, &traffic, &[(ms(200), codel("5ms", "100ms"), 40)]);
    let drops = dropped(&ride, Time::ZERO, ms(600), Reason::Early);
    assert!((ms(300)..ms(302)).contains(&drops[0]), "{:?}", drops[0]);
    // After the first drop, at about 300 ms, the next one is due 300 ms later. The shorter interval, set at 400 ms,
    // ends first.
    let ride = changed(codel("5ms", "300ms"), 40, &traffic, &[(ms(400), codel("5ms", "50ms"), 40)]);
    let drops = dropped(&ride, Time::ZERO, ms(600), Reason::Early);
    assert!((ms(300)..ms(315)).contains(&drops[0]) && (ms(450)..ms(452)).contains(&drops[1]), "{drops:?}");
    // A longer interval leaves the time of the first drop as it was; the next drop follows at the new distance.
    let ride = changed(codel("5ms", "100ms"), 40, &traffic, &[(ms(50), codel("5ms", "300ms"), 40)]);
    let drops = dropped(&ride, Time::ZERO, ms(600), Reason::Early);
    assert!((ms(100)..ms(115)).contains(&drops[0]) && drops[1] >= drops[0] + Dur::from_ms(300), "{drops:?}");
}

#[test]
fn cobalt_signals_within_two_new_intervals_of_a_change() {
    // The delay exceeds 5 ms after about 100 ms, so that the first signal is due after about 1.1 s.
    let traffic = constant(1.05, 1, ms(900));
    let cobalt = |interval: &str| json!({ "kind": "cobalt", "interval": interval });
    let ride = changed(cobalt("1s"), 1_000, &traffic, &[(ms(300), cobalt("50ms"), 1_000)]);
    let drops = dropped(&ride, Time::ZERO, ms(900), Reason::Early);
    assert!((ms(300)..ms(402)).contains(&drops[0]), "{drops:?}");
}

#[test]
fn red_with_equal_thresholds_keeps_the_queue_at_them_before_and_after_a_change() {
    // With min = max, no gentle region and a weight of 1, each arrival that finds the threshold waiting is dropped.
    let traffic = constant(2.0, 1, ms(600));
    let red = |packets: u64| {
        json!({ "kind": "red", "min": format!("{packets}packets"), "max": format!("{packets}packets"), "weight": 1.0,
                "gentle": false, "count": "packets" })
    };
    let ride = changed(red(20), 1_000, &traffic, &[(ms(200), red(5), 1_000), (ms(400), red(30), 1_000)]);
    // A packet waits for those in front of it, and on average for half of the one in transmission: the queue is
    // refilled at an arrival in the middle of each transmission or at its end.
    for (from, to, packets) in [(100, 200, 20.0), (250, 400, 5.0), (500, 590, 30.0)] {
        let wait = mean_wait(&ride, &traffic, ms(from), ms(to)) / 0.8;
        assert!((packets - 1.0..packets + 1.0).contains(&wait), "{wait} of {packets}");
    }
    assert!(dropped(&ride, Time::ZERO, ms(600), Reason::BufferFull).is_empty());
    // While the queue falls from 20 to 5, nothing is admitted.
    let admitted = traffic
        .iter()
        .filter(|a| (ms(200)..ms(211)).contains(&a.at))
        .filter(|a| ride.log.iter().any(|event| matches!(event, Event::Sent { seq, .. } if *seq == a.seq)));
    assert_eq!(admitted.count(), 0);
}

#[test]
fn deficit_round_robin_shares_by_the_new_weights_from_the_next_round_on() {
    let traffic = constant(4.0, 2, ms(400));
    let drr = |weight: f64| json!({ "kind": "drr", "quantum": "1kB", "weights": { "1": weight } });
    let ride = changed(drr(1.0), 1_000, &traffic, &[(ms(200), drr(3.0), 1_000)]);
    let before = sent(&ride, &traffic, ms(100), ms(200));
    assert!(before[0].abs_diff(before[1]) <= 1, "{before:?}");
    // A round is four packets, 4 · 0.8 = 3.2 ms; 30 rounds are counted.
    let after = sent(&ride, &traffic, ms(200) + Dur::from_us(3200), ms(200) + Dur::from_us(3200 * 31));
    assert!(after[0].abs_diff(30) <= 1 && after[1].abs_diff(90) <= 1, "{after:?}");
}

#[test]
fn a_huge_quantum_has_no_effect_after_it_has_been_reduced() {
    // A turn of 1 GB would last 800 s.
    let traffic = constant(4.0, 2, ms(400));
    for kind in ["drr", "sfq", "fq-codel", "fq", "wrr", "htb"] {
        let kind = |quantum: &str| match kind {
            "wrr" => {
                json!({ "kind": "wrr", "count": "bytes", "quantum": quantum, "classes": [{ "match": { "flow": [1] } }] })
            }
            "htb" => json!({ "kind": "htb", "default": "a", "classes": [
                { "name": "a", "rate": "9Mbit/s", "burst": "1GB", "cburst": "1GB", "quantum": quantum },
                { "name": "b", "rate": "9Mbit/s", "burst": "1GB", "cburst": "1GB", "quantum": quantum, "match": { "flow": [1] } },
            ] }),
            "fq" => json!({ "kind": kind, "buckets": "per-flow", "quantum": quantum, "initial-quantum": quantum,
                            "flow-limit": 10_000 }),
            "fq-codel" => {
                json!({ "kind": kind, "buckets": "per-flow", "quantum": quantum, "target": "1h", "interval": "1h" })
            }
            _ => json!({ "kind": kind, "buckets": "per-flow", "quantum": quantum }),
        };
        let ride = changed(kind("1GB"), 1_000, &traffic, &[(ms(200), kind("1kB"), 1_000)]);
        let before = sent(&ride, &traffic, ms(10), ms(200));
        assert_eq!(before[0].min(before[1]), 0, "one turn");
        // After the change the rest of the turn is at most the new quantum and the largest packet of 65 kB, about 53 ms
        // at 10 Mbit/s.
        let after = sent(&ride, &traffic, ms(260), ms(400));
        assert!(after[0].abs_diff(after[1]) <= 2, "{after:?}");
    }
}

#[test]
fn weighted_round_robin_shares_by_the_new_weights_from_the_next_turn_on() {
    let traffic = constant(4.0, 2, ms(400));
    let wrr = |weight: u32| json!({ "kind": "wrr", "classes": [{ "match": { "flow": [1] }, "weight": weight }] });
    let ride = changed(wrr(9), 1_000, &traffic, &[(ms(200), wrr(2), 1_000)]);
    // A round is 9 + 1 packets of 0.8 ms before the change and 2 + 1 after it: 10 rounds in 80 ms, 30 in 30 · 2.4 ms.
    let before = sent(&ride, &traffic, ms(100), ms(180));
    assert!(before[1].abs_diff(90) <= 2, "{before:?}");
    let after = sent(&ride, &traffic, ms(203), ms(203) + Dur::from_us(2400 * 30));
    assert!(after[0].abs_diff(30) <= 1 && after[1].abs_diff(60) <= 2, "{after:?}");
}

#[test]
fn waiting_packets_keep_their_tags_and_new_weights_apply_to_later_arrivals() {
    // In these disciplines a packet gets its tag when it arrives. 60 packets wait, 30 of each flow, which are served in
    // turn; then each round is one packet of flow 0 and three of flow 1: of 100 packets in 80 ms 25 and 75.
    let traffic = constant(4.0, 2, ms(400));
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq", "virtual-clock"] {
        let kind = |weight: f64| {
            let mut document = json!({ "kind": kind, "weights": { "1": weight } });
            if kind == "virtual-clock" {
                document["rate"] = json!("2500kbit/s");
            }
            document
        };
        let ride = changed(kind(1.0), 60, &traffic, &[(ms(200), kind(3.0), 60)]);
        let before = sent(&ride, &traffic, ms(100), ms(200));
        assert!(before[0].abs_diff(before[1]) <= 2, "{before:?}");
        let after = sent(&ride, &traffic, ms(300), ms(380));
        assert!(after[0].abs_diff(25) <= 2 && after[1].abs_diff(75) <= 2, "{after:?}");
    }
}

#[test]
fn shares_of_a_class_based_policy_and_of_service_curves_change_at_once() {
    let traffic = constant(4.0, 2, ms(400));
    let class_based = |share: &str| {
        json!({ "kind": "class-based", "classes": [{ "match": { "flow": [1] }, "bandwidth": share }],
                "default": { "bandwidth": "2Mbit/s" } })
    };
    let hfsc = |rate: &str| {
        json!({ "kind": "hfsc", "default": "rest", "classes": [
            { "name": "one", "match": { "flow": [1] }, "ls": { "m2": rate } }, { "name": "rest", "ls": { "m2": "2Mbit/s" } },
        ] })
    };
    for (first, second) in [(class_based("20%"), class_based("6Mbit/s")), (hfsc("2Mbit/s"), hfsc("6Mbit/s"))] {
        let ride = changed(first, 1_000, &traffic, &[(ms(200), second.clone(), 1_000)]);
        let before = sent(&ride, &traffic, ms(100), ms(200));
        assert!(before[0].abs_diff(before[1]) <= 2, "{before:?}");
        let after = sent(&ride, &traffic, ms(204), ms(284));
        assert!(after[0].abs_diff(25) <= 2 && after[1].abs_diff(75) <= 2, "{second}: {after:?}");
    }
}

/// Returns disciplines that send at a rate: shapers, and service curves that limit or guarantee the rate.
fn rated(rate: &str) -> [Value; 6] {
    [
        json!({ "kind": "shaper", "rate": rate, "burst": "2kB" }),
        json!({ "kind": "htb", "default": "all", "classes": [
            { "name": "all", "rate": rate, "burst": "2kB", "cburst": "2kB", "limit": "100packets" },
        ] }),
        json!({ "kind": "hfsc", "default": "all", "classes": [
            { "name": "all", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": rate }, "limit": "100packets" },
        ] }),
        json!({ "kind": "hfsc", "default": "all", "classes": [
            { "name": "all", "rt": { "m2": rate }, "limit": "100packets" },
        ] }),
        json!({ "kind": "hfsc", "default": "all", "classes": [
            { "name": "site", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": rate } },
            { "name": "all", "parent": "site", "ls": { "m2": "1Mbit/s" }, "limit": "100packets" },
        ] }),
        json!({ "kind": "hfsc", "default": "all", "classes": [
            { "name": "site", "ls": { "m2": "1Mbit/s" } },
            { "name": "all", "parent": "site", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": rate }, "limit": "100packets" },
        ] }),
    ]
}

#[test]
fn a_shaped_rate_changes_at_once_also_while_a_packet_waits_for_its_tokens() {
    let traffic = constant(2.0, 1, ms(900));
    for kind in 0..6 {
        let kind = |rate: &str| rated(rate)[kind].clone();
        // At 10 kbit/s the next packet would leave 800 ms later.
        let changes =
            [(ms(300), kind("10kbit/s"), 100), (ms(400), kind("1Mbit/s"), 100), (ms(650), kind("2Mbit/s"), 100)];
        let ride = changed(kind("4Mbit/s"), 100, &traffic, &changes);
        let bytes = |from: u64, to: u64| u64::from(SIZE) * sent(&ride, &traffic, ms(from), ms(to))[0];
        // rate · time, give or take the burst and a packet.
        for (from, to, expected) in [(100, 300, 100_000), (300, 400, 125), (400, 650, 31_250), (650, 890, 60_000)] {
            let found = bytes(from, to);
            assert!(found.abs_diff(expected) <= 3_000, "{}: {found} of {expected}", kind("1bit/s"));
        }
        let first = ride.log.iter().find_map(|event| match event {
            Event::Sent { at, .. } if *at >= ms(400) => Some(*at),
            _ => None,
        });
        // A packet takes 7.8 ms at 1 Mbit/s; 17 ms allow for two.
        assert!(first.is_some_and(|at| at <= ms(400) + Dur::from_us(17_000)), "{}: {first:?}", kind("1bit/s"));
    }
}

#[test]
fn packets_that_wait_for_a_slow_rate_leave_at_the_new_one_without_further_arrivals() {
    // At 10 kbit/s a packet takes 783 ms. At 4 Mbit/s the 40 packets take 78 ms; the change comes between the last
    // arrival and the time at which the next packet would have left.
    let traffic = constant(2.0, 1, ms(16));
    for kind in 0..6 {
        let (slow, fast) = (rated("10kbit/s")[kind].clone(), rated("4Mbit/s")[kind].clone());
        let ride = changed(slow, 100, &traffic, &[(ms(100), fast.clone(), 100)]);
        let last = ride.log.iter().rev().find_map(|event| match event {
            Event::Sent { at, .. } => Some(*at),
            _ => None,
        });
        assert!(last.is_some_and(|at| at < ms(600)), "{fast}: {last:?}");
        assert_eq!(sent(&ride, &traffic, Time::ZERO, ms(600))[0], traffic.len() as u64);
    }
}

#[test]
fn tokens_are_kept_up_to_the_new_burst() {
    let shaper = |burst: &str| json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": burst });
    let mut ride = Ride::new(&spec(&shaper("10kB")), &site(100), 1);
    let tokens = |ride: &mut Ride, at: Time, burst: &str| {
        ride.q.retune(at, &spec(&shaper(burst)), &site(100));
        ride.probe("tokens_bytes")
    };
    assert_eq!(ride.probe("tokens_bytes"), 10_000.0);
    assert_eq!(tokens(&mut ride, ms(1), "4kB"), 4_000.0);
    // A larger bucket is not filled by the change; 1 Mbit/s give 125 bytes per millisecond.
    assert_eq!(tokens(&mut ride, ms(2), "8kB"), 4_000.0);
    assert_eq!(tokens(&mut ride, ms(10), "9kB"), 5_000.0);
}

#[test]
fn pie_moves_the_delay_to_its_new_target() {
    // Without responsive flows the probability settles at the excess, 1 − 1/1.25, and the delay at the target.
    let traffic = constant(1.25, 1, ms(24_000));
    let pie = |target: &str| json!({ "kind": "pie", "target": target, "burst": "0s" });
    let ride = changed(pie("15ms"), 10_000, &traffic, &[(ms(12_000), pie("60ms"), 10_000)]);
    let (before, after) =
        (mean_wait(&ride, &traffic, ms(6_000), ms(12_000)), mean_wait(&ride, &traffic, ms(17_000), ms(24_000)));
    assert!((13.0..17.0).contains(&before) && (54.0..66.0).contains(&after), "{before}, {after}");
}

#[test]
fn a_running_timer_keeps_its_time_unless_the_new_interval_ends_earlier() {
    let check_timer = |kind: &dyn Fn(&str) -> Value| {
        let mut ride = Ride::new(&spec(&kind("20ms")), &site(100), 1);
        let wakeup_after_retune = |ride: &mut Ride, at: Time, interval: &str| {
            ride.q.retune(at, &spec(&kind(interval)), &site(100));
            ride.q.next_wakeup().expect("a timer")
        };
        assert_eq!(wakeup_after_retune(&mut ride, ms(1), "20ms"), ms(20));
        // A longer interval begins at the next expiry.
        assert_eq!(wakeup_after_retune(&mut ride, ms(2), "5s"), ms(20));
        assert_eq!(wakeup_after_retune(&mut ride, ms(3), "4ms"), ms(7));
        assert_eq!(wakeup_after_retune(&mut ride, ms(6), "4ms"), ms(7));
    };
    check_timer(&|update| json!({ "kind": "pie", "update": update }));
    check_timer(&|update| json!({ "kind": "rem", "update": update }));
    check_timer(&|update| json!({ "kind": "dualpi2", "update": update }));
    check_timer(&|update| json!({ "kind": "fq-pie", "pie": { "update": update } }));
    check_timer(&|update| json!({ "kind": "wrr", "default": { "discipline": { "kind": "pie", "update": update } } }));
    // The first interval of RED-PD is ten round-trip times.
    check_timer(&|interval| {
        let rtt = match interval {
            "20ms" => "2ms",
            "5s" => "500ms",
            _ => "400us",
        };
        json!({ "kind": "red-pd", "rtt": rtt })
    });
}

#[test]
fn packets_after_a_shorter_delay_do_not_overtake_those_that_wait() {
    let traffic = constant(0.5, 1, ms(300));
    let netem = |delay: &str| json!({ "kind": "netem", "delay": delay });
    let ride = changed(netem("50ms"), 1_000, &traffic, &[(ms(100), netem("5ms"), 1_000)]);
    let order: Vec<u32> = ride
        .log
        .iter()
        .filter_map(|event| if let Event::Sent { seq, .. } = event { Some(*seq) } else { None })
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    // Packets that waited at the change leave after 50 ms. 100 ms after the change no packet waits behind them any
    // more, and the delay is 5 ms.
    let wait = mean_wait(&ride, &traffic, ms(250), ms(300));
    assert!((4.99..5.01).contains(&wait), "{wait}");
    let wait = mean_wait(&ride, &traffic, ms(60), ms(149));
    assert!((49.99..50.81).contains(&wait), "{wait}");
}

#[test]
fn averages_and_probabilities_are_kept() {
    let traffic = constant(1.5, 1, ms(300));
    for (first, second, names) in [
        (
            json!({ "kind": "red", "weight": 0.01 }),
            json!({ "kind": "red", "weight": 0.02, "min": "3packets", "gentle": false }),
            vec!["average_bytes", "probability"],
        ),
        (
            json!({ "kind": "pie" }),
            json!({ "kind": "pie", "target": "3ms", "alpha": 1.0 }),
            vec!["probability", "delay_seconds"],
        ),
        (
            json!({ "kind": "blue" }),
            json!({ "kind": "blue", "increment": 0.1, "rise": "doubling" }),
            vec!["probability"],
        ),
        (
            json!({ "kind": "avq" }),
            json!({ "kind": "avq", "gamma": 0.5, "alpha": 0.9 }),
            vec!["virtual_queue_bytes", "virtual_rate_bits_per_second"],
        ),
        (
            json!({ "kind": "sfb", "bin-size": 3 }),
            json!({ "kind": "sfb", "bin-size": 9, "freeze-down": "1ms" }),
            vec!["mean_probability", "max_bin_packets"],
        ),
    ] {
        let mut seen = 0;
        let mut ride = Ride::new(&spec(&first), &site(30), 1);
        ride.serve(&traffic, |ride, now| {
            if now >= ms(200) && seen == 0 {
                let before: Vec<f64> = names.iter().map(|name| ride.probe(name)).collect();
                ride.q.retune(now, &spec(&second), &site(40));
                let after: Vec<f64> = names.iter().map(|name| ride.probe(name)).collect();
                assert_eq!(before, after, "{second}");
                assert!(before.iter().any(|value| *value > 0.0), "{first}");
                seen += 1;
            }
        });
        assert_eq!(seen, 1);
    }
}

#[test]
fn variables_are_moved_into_their_new_bounds() {
    // p' of DualPI2 without drops is at most 1 / coupling.
    let traffic = constant(2.0, 1, ms(900));
    let dualpi2 =
        |coupling: f64| json!({ "kind": "dualpi2", "coupling": coupling, "drop-on-overload": false, "alpha": 20.0 });
    let mut ride = Ride::new(&spec(&dualpi2(2.0)), &site(1_000), 1);
    ride.serve(&traffic, |_, _| {});
    assert_eq!(ride.probe("base_probability"), 0.5);
    ride.q.retune(ms(900), &spec(&dualpi2(8.0)), &site(1_000));
    assert_eq!(ride.probe("base_probability"), 0.125);
    // The burst allowance of PIE is at most `burst`.
    let pie = |burst: &str| json!({ "kind": "pie", "burst": burst });
    let mut ride = Ride::new(&spec(&pie("150ms")), &site(100), 1);
    ride.q.retune(ms(1), &spec(&pie("20ms")), &site(100));
    assert_eq!(ride.probe("burst_allowance_seconds"), 0.02);
}

#[test]
fn a_policer_takes_its_new_rate_at_once() {
    // The link always has packets of flow 0, so that flow 1 gets what its policer lets pass.
    let traffic = constant(4.0, 2, ms(900));
    let policed = |rate: &str| {
        json!({ "kind": "class-based", "classes": [
            { "match": { "flow": [1] }, "priority": { "rate": rate, "burst": "2kB" } },
        ] })
    };
    let ride = changed(policed("2Mbit/s"), 1_000, &traffic, &[(ms(400), policed("4Mbit/s"), 1_000)]);
    for (from, to, megabits) in [(100, 400, 2), (400, 800, 4)] {
        let bytes = u64::from(SIZE) * sent(&ride, &traffic, ms(from), ms(to))[1];
        assert!(bytes.abs_diff((to - from) * megabits * 125) <= 3_000, "{bytes} from {from} ms to {to} ms");
    }
}

#[test]
fn a_price_is_not_moved_by_a_change_of_the_interval_alone() {
    // The link is just busy: 25 packets arrive in 20 ms, and 12.5 in 10 ms.
    let traffic = constant(1.0, 1, ms(2_000));
    let rem = |update: &str| {
        json!({ "kind": "rem", "update": update, "weight": 0.5, "queue-weight": 1e-6, "gamma": 1.0, "phi": 1.0001,
                "mean-packet": "1kB" })
    };
    let ride = changed(rem("20ms"), 1_000, &traffic, &[(ms(1_010), rem("10ms"), 1_000)]);
    let price = |from: u64, to: u64| {
        let seen = ride.log.iter().filter_map(|event| match event {
            Event::Seen { at, probes, .. } if (ms(from)..ms(to)).contains(at) => Some(f64::from_bits(probes[0])),
            _ => None,
        });
        seen.fold(0.0, f64::max)
    };
    assert!(price(1_010, 1_200) <= price(800, 1_010) + 1.5, "{} {}", price(800, 1_010), price(1_010, 1_200));
}

#[test]
fn a_moving_hash_that_begins_moves_first_after_an_interval() {
    let traffic = constant(1.5, 6, ms(300));
    let sfb = |rehash: Value| json!({ "kind": "sfb", "rehash": rehash });
    let (still, moving) = (json!({ "kind": "sfb" }), sfb(json!({ "interval": "50ms" })));
    let mut ride = Ride::new(&spec(&still), &site(30), 1);
    let bins = |ride: &Ride| match &ride.q {
        Discipline::Sfb(sfb) => (0..6).flat_map(|flow| sfb.law().bins(flow)).collect::<Vec<usize>>(),
        _ => unreachable!("it is SFB"),
    };
    let (mut begun, mut seen) = (false, Vec::new());
    ride.serve(&traffic, |ride, now| {
        if now >= ms(100) && !begun {
            begun = true;
            ride.q.retune(now, &spec(&moving), &site(30));
        }
        seen.push((now, bins(ride)));
    });
    let at = |time: Time| seen.iter().rfind(|(now, _)| *now <= time).map(|(_, bins)| bins.clone());
    assert_eq!(at(ms(149)), at(ms(99)));
    assert_ne!(at(ms(153)), at(ms(99)));
}

#[test]
fn tables_and_counts_are_cut_to_their_new_length_or_begin_anew() {
    let traffic = constant(2.0, 6, ms(2_000));
    let change = |first: Value, second: Value| {
        let mut ride = Ride::new(&spec(&first), &site(30), 1);
        let (mut now, mut states) = (Time::ZERO, Vec::new());
        ride.serve(&traffic, |ride, at| {
            now = at;
            if at >= ms(1_500) && states.is_empty() {
                states.push((ride.q.state_bytes(), format!("{:?}", ride.q)));
                ride.q.retune(at, &spec(&second), &site(30));
                states.push((ride.q.state_bytes(), format!("{:?}", ride.q)));
            }
        });
        let after = states.pop().expect("a change");
        (states.pop().expect("a change"), after)
    };
    // A queue of 24 bytes, the frequency of hits of 8, and 4 for each recent flow.
    let (before, after) = change(json!({ "kind": "sred", "zombies": 40 }), json!({ "kind": "sred", "zombies": 7 }));
    assert_eq!((before.0, after.0), (24 + 8 + 160, 24 + 8 + 28));
    // A count of 8 bytes for each of eight precedences.
    let (before, after) = change(json!({ "kind": "wred" }), json!({ "kind": "wred", "spread": true }));
    assert_eq!(after.0, before.0 + 64);
    // Three of five intervals are forgotten: their lengths, 8 bytes each, and the lists of flows dropped in them.
    let red_pd = |intervals: u32| json!({ "kind": "red-pd", "rtt": "10ms", "intervals": intervals, "needed": 1 });
    let (before, after) = change(red_pd(5), red_pd(2));
    let entries =
        |text: &str| text.split("history: ").nth(1).unwrap().split("], lengths: ").next().unwrap().matches('[').count();
    assert_eq!((entries(&before.1), entries(&after.1)), (1 + 5, 1 + 2));
    assert!(after.0 + 3 * 8 <= before.0, "{} {}", before.0, after.0);
    // No token of SFB's penalty box has been used, so that the tokens are the burst.
    let sfb = |burst: u32| json!({ "kind": "sfb", "form": "linux", "penalty-box": { "burst": burst } });
    let (before, after) = change(sfb(60), sfb(5));
    assert!(before.1.contains("tokens: 60,") && after.1.contains("tokens: 5,"));
    // A change to parameters without bursts ends the bad state.
    let netem = |bursts: Value| json!({ "kind": "netem", "bursts": bursts });
    let (before, after) = change(netem(json!({ "enter": 1.0, "leave": 0.0, "bad": 0.1 })), json!({ "kind": "netem" }));
    assert!(before.1.contains("bad: true") && after.1.contains("bad: false"));
    // A measurement of the departure rate ends with the change of the estimator.
    let pie = |estimator: &str| json!({ "kind": "pie", "estimator": estimator });
    let (before, after) = change(pie("departure-rate"), pie("timestamp"));
    assert!(before.1.contains("measurement: Some") && after.1.contains("measurement: None"));
    // The next hash function is drawn within the new interval.
    let sfq = |perturb: &str| json!({ "kind": "sfq", "perturb": perturb });
    let (before, after) = change(sfq("1h"), sfq("5ms"));
    assert!(before.1.contains("next: t=3600s") && after.1.contains("next: t=1.50"), "{}", after.1);
    // When `min-qlen-step` becomes positive, the step of DualPI2 applies to all packets that wait then.
    let dualpi2 = |min_qlen_step: u64| json!({ "kind": "dualpi2", "min-qlen-step": min_qlen_step });
    let (mut ride, mut log) = (Ride::new(&spec(&dualpi2(0)), &site(30), 1), Vec::new());
    let low: Vec<Arrival> = constant(2.0, 1, ms(20)).into_iter().map(|a| Arrival { ecn: Ecn::Ect1, ..a }).collect();
    ride.serve(&low, |ride, now| {
        let change = if now < ms(8) {
            0
        } else if now < ms(10) {
            2
        } else {
            0
        };
        ride.q.retune(now, &spec(&dualpi2(change)), &site(30));
        let stepped = format!("{:?}", ride.q)
            .split("stepped: [")
            .nth(1)
            .map(|text| text.split(']').next().unwrap().matches("true").count());
        log.push((change, stepped.unwrap() as u64, ride.q.packets()));
    });
    assert!(
        log.iter().all(|(change, stepped, waiting)| *stepped == if *change == 0 { 0 } else { *waiting }),
        "{log:?}"
    );
    assert!(log.iter().any(|(_, stepped, _)| *stepped > 3));
}

#[test]
fn an_adaptation_of_red_that_begins_waits_for_its_interval() {
    let traffic = constant(1.0, 1, ms(1_000));
    let floyd = json!({ "kind": "red", "adaptive": { "kind": "floyd", "interval": "200ms" } });
    let ride = changed(json!({ "kind": "red" }), 100, &traffic, &[(ms(500), floyd, 100)]);
    let moved = ride.log.iter().find_map(|event| match event {
        Event::Seen { at, probes, .. } if f64::from_bits(probes[1]) != 0.1 => Some(*at),
        _ => None,
    });
    assert!(moved.is_some_and(|at| (ms(700)..ms(703)).contains(&at)), "{moved:?}");
}

#[test]
fn packets_wait_for_the_tokens_that_the_new_accounting_counts() {
    // With an overhead of 1000 bytes a packet leaves every (979 + 1000) · 8 us = 15.8 ms, without overhead every 7.8
    // ms.
    let traffic = constant(2.0, 1, ms(600));
    let shaper = |more: &str| json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "10kB", "accounting": more });
    for change in [300, 304, 308, 312].map(ms) {
        let ride = changed(shaper("1000B"), 1_000, &traffic, &[(change, shaper("0B"), 1_000)]);
        let sent: Vec<Time> =
            ride.log.iter().filter_map(|e| if let Event::Sent { at, .. } = e { Some(*at) } else { None }).collect();
        let next = sent.iter().position(|at| *at >= change).expect("packets wait");
        let due = change.max(sent[next - 1] + Dur::from_us(7_832));
        assert!(sent[next] >= due && sent[next] < due + Dur::from_ms(1), "{:?}, due {due:?}", sent[next]);
    }
}

/// With an adaptation `max-p` is the initial value only, and may therefore be set when an adaptation begins or ends.
#[test]
fn max_p_of_red_may_change_when_an_adaptation_begins_or_ends() {
    let plain = spec(&json!({ "kind": "red", "max-p": 0.1 }));
    let adaptive = |p: f64| spec(&json!({ "kind": "red", "max-p": p, "adaptive": { "kind": "floyd" } }));
    assert_eq!(plain.check_retune(&adaptive(0.2)), Ok(()));
    assert_eq!(adaptive(0.2).check_retune(&plain), Ok(()));
    assert_eq!(adaptive(0.2).check_retune(&adaptive(0.3)).expect_err("it adapts").path, "max-p");
}

#[test]
fn the_laws_of_all_flows_take_their_new_target() {
    // As CoDel: a queue of 20 % overload waits about 40 ms when the target falls to 5 ms.
    let traffic = constant(1.2, 1, ms(600));
    let codel = |target: &str, interval: &str| json!({ "kind": "fq-codel", "buckets": "per-flow", "target": target, "interval": interval });
    let ride = changed(codel("1s", "1s"), 1_000, &traffic, &[(ms(200), codel("5ms", "100ms"), 1_000)]);
    let drops = dropped(&ride, Time::ZERO, ms(600), Reason::Early);
    assert!((ms(300)..ms(302)).contains(&drops[0]), "{:?}", drops[0]);
}

#[test]
fn a_new_accounting_is_considered_at_once_by_a_shaper_that_holds_a_packet_back_and_by_no_other() {
    use crate::link::packet;
    use tailback_qdisc::{Cx, Gate};
    use tailback_random::Rng;
    let shaper = |more: &str| spec(&json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "2kB", "accounting": more }));
    for (packets, timer) in [(1, None), (2, Some(ms(5)))] {
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        let mut q = shaper("500B").build(&site(100));
        let arrival = crate::link::Arrival { at: ms(0), flow: 0, bytes: 1000, ecn: Ecn::NotEct };
        (0..packets).for_each(|i| q.enqueue(ms(0), packet(&arrival, i), cx));
        // The tokens of 2 kB suffice for one packet.
        let left = [0; 2].map(|_| q.dequeue(ms(0), &Gate::default(), cx).is_some());
        assert_eq!((left, q.packets()), ([true, false], packets as u64 - 1));
        q.retune(ms(5), &shaper("0B"), &site(100));
        assert_eq!(q.next_wakeup(), timer);
    }
}
