//! RED and the disciplines that contain it, step by step: the average after idle times, its probabilities at their
//! bounds, and the count of packets since the last choice.

use crate::common::*;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::law::red::{Adaptive, Count, Floyd, Idle, Params, Red};
use tailback_qdisc::law::rio::Rio;
use tailback_qdisc::law::{Backlog, Decision};
use tailback_qdisc::{Colour, Cx, Ecn, Qdisc, Reason, Site, Spec};
use tailback_random::{Rng, maths};
use tailback_units::{Amount, Dur, Fraction, Rate, Size, Time};

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns parameters with which the average is the queue itself, in packets, and p_b is (average − 2) / 4 below 6.
fn line() -> Params {
    Params {
        min: Some(Amount::packets(2)),
        max: Some(Amount::packets(6)),
        max_p: Fraction(1.0),
        weight: Some(1.0),
        gentle: false,
        byte_mode: false,
        count: Count::Packets,
        ..Params::default()
    }
}

/// The same as a document.
fn line_document() -> Value {
    json!({ "min": "2packets", "max": "6packets", "max-p": 1.0, "weight": 1.0, "gentle": false, "byte-mode": false,
            "count": "packets" })
}

fn packets(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 500 }
}

/// Floyd and Jacobson (1993), figure 2: an idle time in which m packets could have been sent multiplies the average by
/// (1 − w)^m; in ns by one power more, and the arrival is a sample. On this link a packet of 500 B takes 1 ms.
#[test]
fn idle_times_age_the_average_as_in_1993_or_as_in_ns() {
    for (idle, weight, waiting, missed, expected) in [
        (Idle::Ns, 0.5, 0, 0, 1.0),
        (Idle::Ns, 0.5, 0, 2, 0.25),
        (Idle::Ns, 0.5, 4, 0, 1.0 + 2.0),
        (Idle::Original, 0.5, 0, 0, 2.0),
        (Idle::Original, 0.5, 0, 2, 0.5),
        // A weight of 1 forgets the average after a packet time.
        (Idle::Ns, 1.0, 0, 0, 0.0),
        (Idle::Ns, 1.0, 3, 0, 3.0),
        (Idle::Original, 1.0, 0, 0, 2.0),
        (Idle::Original, 1.0, 0, 1, 0.0),
    ] {
        let params = Params { weight: Some(weight), idle, mean_packet: Size(500), ..line() };
        let mut law = Red::new(&params, Rate::mbit(4));
        // The first arrival ends the idle time at the start; the average becomes 2.
        law.observe(ms(0), packets(0));
        law.observe(ms(0), packets((2.0 / weight) as u64));
        assert_eq!(law.average(), 2.0);
        law.idle(ms(10));
        law.observe(ms(10 + missed) + Dur::from_us(900), packets(waiting));
        assert_eq!(law.average(), expected, "{idle:?} {weight} {waiting} {missed}");
    }
}

#[test]
fn the_probability_is_zero_below_min_and_one_at_max() {
    let mut law = Red::new(&line(), Rate::mbit(10));
    let rng = &mut Rng::named(1, "line");
    let mut p = |queue| {
        law.arrive(ms(1), packets(queue), 500, rng);
        law.probability()
    };
    assert_eq!([1, 2, 4, 1, 6, 0, 7].map(&mut p), [0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 1.0]);
    let mut law = Red::new(&Params { max_p: Fraction(0.5), ..line() }, Rate::mbit(10));
    law.arrive(ms(1), packets(6), 500, rng);
    assert_eq!(law.probability(), 1.0);
}

#[test]
fn at_the_limit_of_marks_itself_no_packet_may_be_marked() {
    for (limit, may) in [(0.5, false), (0.5001, true)] {
        let mut law = Red::new(&Params { mark_limit: Some(Fraction(limit)), ..line() }, Rate::mbit(10));
        law.arrive(ms(1), packets(4), 500, &mut Rng::named(1, "limit"));
        assert_eq!((law.probability(), law.may_mark()), (0.5, may), "{limit}");
    }
}

/// ns-2.35 (`modify_p`): a probability of 1 is not multiplied by the size of the packet. With 1550 B since the first
/// packet the count is 3, so that p = 0.5 / (2 − 1.5) = 1.
#[test]
fn in_byte_mode_a_certain_choice_does_not_depend_on_the_packet_s_size() {
    for seed in 0..20 {
        let mut law = Red::new(&Params { byte_mode: true, mean_packet: Size(500), ..line() }, Rate::mbit(10));
        let rng = &mut Rng::named(seed, "certain");
        assert_eq!(law.arrive(ms(1), packets(4), 1500, rng), Decision::Pass);
        assert_eq!(law.arrive(ms(1), packets(4), 50, rng), Decision::Early);
    }
}

/// ns-2.35 (Floyd, Gummadi and Shenker 2001): the lower bound of max_p is 0.01, and on links above 8 Mbit/s 0.01 times
/// 8 Mbit/s over the rate.
#[test]
fn the_bottom_of_floyds_max_p_is_a_hundredth_or_less_on_fast_links() {
    for (rate, max_p, falls) in [
        (Rate::mbit(1), 0.010_001, true),
        (Rate::mbit(1), 0.01, false),
        (Rate::mbit(10), 0.008_000_05, true),
        (Rate::mbit(10), 0.008, false),
    ] {
        let floyd = Floyd { beta: 0.5, ..Floyd::default() };
        let params = Params { adaptive: Some(Adaptive::Floyd(floyd)), max_p: Fraction(max_p), ..line() };
        let mut law = Red::new(&params, rate);
        law.observe(Time::ZERO + Dur::from_secs(1), packets(0));
        assert_eq!(law.max_p(), if falls { 0.5 * max_p } else { max_p }, "{rate:?}");
    }
}

/// ns-2.35: w = 1 − exp(−1 / (10 · RTT · C)), with RTT 0.1 s or, on slow links, three packet times. A packet of 500 B
/// takes 0.1 s at 40 kbit/s.
#[test]
fn the_default_weight_on_a_slow_link_follows_from_three_packet_times() {
    let weight = |rate| Red::new(&Params::default(), rate).weight();
    let expected = |exponent: f64| 1.0 - maths::exp(-exponent);
    assert!((weight(Rate(40_000)) / expected(1.0 / 30.0) - 1.0).abs() < 1e-12);
    assert!((weight(Rate::mbit(4)) / expected(1e-3) - 1.0).abs() < 1e-12);
}

#[test]
fn a_minimum_of_one_byte_is_valid_and_a_flag_is_written_only_if_it_is_set() {
    let check = |min: &str| Checked::check(&decode::<Spec>(json!({ "kind": "red", "min": min })).unwrap());
    assert_eq!(check("1B"), Ok(()));
    assert_eq!(check("0B").unwrap_err().path, "max");
    let written = |value: Value| serde_json::to_value(decode::<Spec>(value).unwrap()).unwrap();
    for independent in [false, true] {
        let written = written(json!({ "kind": "red", "independent": independent }));
        assert_eq!(written.get("independent"), independent.then_some(&json!(true)));
    }
    for (victim, expected) in [("tail", None), ("head", Some(&json!("head")))] {
        let written = written(json!({ "kind": "drop-tail", "victim": victim }));
        assert_eq!(written.get("victim"), expected);
    }
}

/// A policy that drops only arriving packets can decide when a packet is scheduled; one that drops waiting packets
/// cannot.
#[test]
fn only_a_queue_that_drops_arriving_packets_has_an_admission_policy() {
    for kind in ["drop-tail", "red"] {
        for (victim, has) in [("tail", true), ("head", false), ("random", false)] {
            let spec: Spec = decode(json!({ "kind": kind, "victim": victim })).unwrap();
            assert_eq!(spec.rule(&Site::default()).is_some(), has, "{kind} {victim}");
            assert_eq!(spec.build(&Site::default()).admission_fifo().is_some(), has, "{kind} {victim}");
        }
    }
}

/// Returns the discipline `kind` with these parameters of RED.
fn with_red(kind: &str, red: Value) -> Value {
    match kind {
        "red" => {
            let mut red = red;
            red["kind"] = json!("red");
            red
        }
        "rio" => json!({ "kind": "rio", "green": red, "yellow": red, "red": red }),
        kind => json!({ "kind": kind, "red": red }),
    }
}

fn rig(document: &Value, site: &Site, seed: u64) -> Rig {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Rig::new(&spec, site, Rng::named(seed, "port"))
}

/// Enqueues a packet of flow `seq`; returns its fate if that is decided at once.
fn arrive(rig: &mut Rig, at: Time, seq: u32, size: u16, colour: Colour, ecn: Ecn) -> Vec<Fate> {
    let mut log = Log::new();
    rig.arrive(&Arrival { at, seq, flow: seq, size, ecn, colour }, &mut log);
    log.into_iter().map(|(_, fate)| fate).collect()
}

/// With `idle` "1993" the idle time begins when the last packet leaves the queue, and the port reports nothing; with "ns"
/// it begins when the port reports that the link is idle.
#[test]
fn an_idle_time_begins_when_the_queue_becomes_empty_or_when_the_link_becomes_idle() {
    for kind in ["red", "ered", "red-pd", "choke", "rio"] {
        for (form, watches) in [("1993", false), ("ns", true)] {
            let red = json!({ "min": "100packets", "max": "200packets", "weight": 0.5, "count": "packets",
                              "idle": form });
            let site = places(50, Rate::mbit(4));
            let mut rig = rig(&with_red(kind, red), &site, 1);
            let name = if kind == "rio" { "green_average" } else { "average_packets" };
            assert_eq!(rig.q.watches_idle(), watches, "{kind} {form}");
            let log = &mut Log::new();
            for seq in 0..3 {
                arrive(&mut rig, ms(1), seq, 500, Colour::Green, Ecn::NotEct);
            }
            // 0, then half of one, then half of 0.5 and of 2.
            assert_eq!(rig.state(name), 1.25, "{kind} {form}");
            // The queue is empty from 12 ms on, and the link from 13 ms on.
            (10..13).for_each(|at| assert!(rig.leave(ms(at), log).is_some()));
            Queue::idle(&mut rig, ms(13), log);
            arrive(&mut rig, ms(14) + Dur::from_us(500), 3, 500, Colour::Green, Ecn::NotEct);
            // 1993: two packets of 1 ms since 12 ms; ns: one since 13 ms, and one sample of the empty queue.
            assert_eq!(rig.state(name), 1.25 / 4.0, "{kind} {form}");
            // A packet that leaves others behind begins no idle time.
            arrive(&mut rig, ms(15), 4, 500, Colour::Green, Ecn::NotEct);
            let average = (1.25 / 4.0) / 2.0 + 0.5;
            assert_eq!(rig.state(name), average, "{kind} {form}");
            assert!(rig.leave(ms(16), log).is_some());
            arrive(&mut rig, ms(30), 5, 500, Colour::Green, Ecn::NotEct);
            assert_eq!(rig.state(name), average / 2.0 + 0.5, "{kind} {form}");
        }
    }
}

/// Four packets wait, so that p_b is 0.5; the first packet after a choice passes for certain, and the third one is
/// chosen. The large packet does not fit.
fn four_waiting(kind: &str, colour: Colour, seed: u64) -> Rig {
    let site = Site { bytes: 5_500, packets: u64::MAX, rate: Rate::mbit(10) };
    let mut rig = rig(&with_red(kind, line_document()), &site, seed);
    for seq in 0..4 {
        assert_eq!(arrive(&mut rig, ms(1), seq, 1000, colour, Ecn::NotEct), []);
    }
    rig
}

#[test]
fn a_drop_because_the_queue_is_full_restarts_the_count_since_the_last_choice() {
    let full = [Fate::Dropped(Reason::BufferFull)];
    for kind in ["red", "choke", "red-pd", "ered"] {
        for seed in 0..20 {
            let mut rig = four_waiting(kind, Colour::Yellow, seed);
            // The count is 1 at each of them.
            for seq in 4..7 {
                assert_eq!(arrive(&mut rig, ms(2), seq, 3000, Colour::Yellow, Ecn::NotEct), full, "{kind}");
            }
            assert_eq!(arrive(&mut rig, ms(3), 7, 1000, Colour::Yellow, Ecn::NotEct), [], "{kind} {seed}");
        }
    }
}

/// RED does not decide about green packets, so that one that is dropped because the queue is full changes no count.
#[test]
fn a_green_packet_that_a_full_queue_drops_does_not_restart_the_count_of_ered() {
    let mut rig = four_waiting("ered", Colour::Yellow, 1);
    let full = [Fate::Dropped(Reason::BufferFull)];
    assert_eq!(arrive(&mut rig, ms(2), 4, 3000, Colour::Green, Ecn::NotEct), full);
    // Of the packets that found two or more waiting this is the third one.
    let early = [Fate::Dropped(Reason::Early)];
    assert_eq!(arrive(&mut rig, ms(2), 5, 1000, Colour::Yellow, Ecn::NotEct), early);
}

#[test]
fn a_precedence_without_a_red_of_its_own_has_the_last_one() {
    let law = || {
        let mut law = Rio::new(&[line(), line()], Rate::mbit(10));
        law.arrive(ms(1), &[packets(4), packets(4)], 500, 9, &mut Rng::named(1, "rio"));
        law
    };
    let (mut ninth, mut last, mut first) = (law(), law(), law());
    ninth.forced(9);
    last.forced(1);
    first.forced(0);
    assert_eq!(format!("{ninth:?}"), format!("{last:?}"));
    assert_ne!(format!("{ninth:?}"), format!("{first:?}"));
}

/// CHOKe (Pan, Prabhakar and Psounis, INFOCOM 2000) drops each packet that it compares once, whatever the number of
/// draws that select it. With 64 draws each of four packets is drawn, but for a probability of 4e-8.
#[test]
fn choke_drops_each_matching_packet_once_and_no_other() {
    for seed in 0..5 {
        let red = json!({ "min": "1packet", "max": "100packets", "weight": 1.0, "count": "packets", "max-p": 1e-9 });
        let document = json!({ "kind": "choke", "candidates": 64, "red": red });
        let mut rig = rig(&document, &places(50, Rate::mbit(10)), seed);
        let mut log = Log::new();
        let send = |rig: &mut Rig, log: &mut Log, seq, flow| {
            let (at, ecn, colour) = (ms(1), Ecn::NotEct, Colour::Green);
            rig.arrive(&Arrival { at, seq, flow, size: 1000, ecn, colour }, log);
        };
        // The first packets find an average of less than one packet. Then the others differ from those that wait.
        for (seq, flow) in [(0, 5), (1, 7), (2, 8), (3, 9)] {
            send(&mut rig, &mut log, seq, flow);
        }
        send(&mut rig, &mut log, 4, 7);
        let early = Fate::Dropped(Reason::Early);
        assert_eq!(log, [(1, early), (4, early)]);
        let mut waiting = Vec::new();
        rig.q.visit(&mut |packet| waiting.push(packet.seq));
        assert_eq!(waiting, [0, 2, 3]);
    }
    // Two matching packets in front of others: positions shift as packets are taken out.
    let red = json!({ "min": "3packets", "max": "100packets", "weight": 1.0, "count": "packets", "max-p": 1e-9 });
    let document = json!({ "kind": "choke", "candidates": 64, "red": red });
    let mut rig = rig(&document, &places(50, Rate::mbit(10)), 1);
    let mut log = Log::new();
    for (seq, flow) in [(0, 5), (1, 5), (2, 8), (3, 9), (4, 5)] {
        rig.arrive(&Arrival { at: ms(1), seq, flow, size: 1000, ecn: Ecn::NotEct, colour: Colour::Green }, &mut log);
    }
    let mut waiting = Vec::new();
    rig.q.visit(&mut |packet| waiting.push(packet.seq));
    assert_eq!((waiting, log.len()), (vec![2, 3], 3));
}

#[test]
fn choke_marks_a_packet_chosen_at_random_and_drops_one_above_max() {
    let mut red = line_document();
    red["ecn"] = json!(true);
    let mut rig = rig(&with_red("choke", red), &places(50, Rate::mbit(10)), 1);
    // The third packet that finds two or more waiting is chosen, with five in the queue: p_b is 0.5, the count 3.
    for seq in 0..4 {
        assert_eq!(arrive(&mut rig, ms(1), seq, 1000, Colour::Green, Ecn::Ect0), []);
    }
    assert_eq!(rig.marked, 0);
    assert_eq!(arrive(&mut rig, ms(1), 4, 1000, Colour::Green, Ecn::Ect0), []);
    assert_eq!(rig.marked, 1);
    // At five the next two cannot be chosen for certain; at six every packet is dropped.
    let mut seq = 5;
    let mut steps = Steps::at_most(100);
    while rig.q.packets() < 6 {
        steps.step("packets are marked, not dropped");
        arrive(&mut rig, ms(1), seq, 1000, Colour::Green, Ecn::Ect0);
        seq += 1;
    }
    let marked = rig.marked;
    assert_eq!(arrive(&mut rig, ms(1), seq, 1000, Colour::Green, Ecn::Ect0), [Fate::Dropped(Reason::Early)]);
    assert_eq!(rig.marked, marked);
}

/// RED-PD (Mahajan, Floyd and Wetherall, ICNP 2001): the filter drops packets of a monitored flow only if more than one
/// packet waits and the average is at least `min`.
#[test]
fn the_filter_of_red_pd_drops_only_above_one_packet_and_at_min() {
    let document = |min: u32, max: u32| {
        json!({ "kind": "red-pd", "rtt": "20ms", "intervals": 1, "needed": 1, "hold": "0s",
                "red": { "min": format!("{min}packets"), "max": format!("{max}packets"), "weight": 1.0,
                         "gentle": false, "byte-mode": false, "count": "packets", "max-p": 1e-9 } })
    };
    let site = places(1_000, Rate::mbit(10));
    let to = |min| decode::<Spec>(document(min, 1_000)).unwrap();
    // (packets that wait, min, `true` if the filter drops packets)
    for (waiting, min, filters) in [(1, 1, false), (2, 1, true), (2, 2, true), (2, 3, false), (3, 4, false)] {
        let mut rig = rig(&document(1, 2), &site, 3);
        let arrive = |rig: &mut Rig, at, seq| {
            let mut log = Log::new();
            let (flow, size, ecn, colour) = (0, 1000, Ecn::NotEct, Colour::Green);
            rig.arrive(&Arrival { at, seq, flow, size, ecn, colour }, &mut log);
            log.first().map(|(_, fate)| *fate)
        };
        // From two packets on, RED drops all: 8 of 10.
        (0..10).for_each(|seq| _ = arrive(&mut rig, ms(1), seq));
        let judged = ms(200);
        rig.wake(judged, &mut Log::new());
        assert_eq!((rig.state("monitored_flows"), rig.state("largest_filter_probability")), (1.0, 0.5));
        rig.q.retune(judged, &to(min), &site);
        let mut log = Log::new();
        while rig.q.packets() > waiting {
            rig.leave(judged, &mut log);
        }
        let mut seq = 10;
        while rig.q.packets() < waiting {
            let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
            let at = judged;
            let other = Arrival { at, seq, flow: 1, size: 1000, ecn: Ecn::NotEct, colour: Colour::Green };
            rig.q.enqueue(judged, packet(&other), cx);
            seq += 1;
        }
        // The average before the first of them is that at an earlier arrival.
        let mut filtered = 0;
        for n in 0..100 {
            let fate = arrive(&mut rig, judged, 100 + n);
            let unresponsive = fate == Some(Fate::Dropped(Reason::Unresponsive));
            filtered += u32::from(unresponsive && n > 0);
            if rig.q.packets() > waiting {
                rig.leave(judged, &mut log);
            }
        }
        assert_eq!(filtered > 20, filters, "{waiting} {min}: {filtered}");
        assert!(filters || filtered == 0, "{waiting} {min}: {filtered}");
    }
}
