//! `fq` and `netem` of Linux, limits of single code points, and WRED in front of a fair queue, compared with values
//! computed by hand.

use crate::common::Steps;
use crate::link::{Arrival, build, constant, merged, packet, run};
use serde_json::{Value, json};
use tailback_qdisc::{Cx, Ecn, Gate, Qdisc, Reason, Site};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SITE: Site = Site { bytes: u64::MAX, packets: 10_000, rate: RATE };

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns `count` packets of `bytes` wire bytes that arrive at `ms`.
fn burst(flow: u32, bytes: u16, count: usize, ms: u64) -> Vec<Arrival> {
    vec![Arrival { at: at(ms), flow, bytes, ecn: Ecn::NotEct }; count]
}

#[test]
fn a_new_flow_sends_its_first_ten_frames_at_once_then_all_take_turns_of_two() {
    let document = json!({ "kind": "fq", "buckets": "per-flow" });
    // Frames of 1514 buffer bytes, which `fq` counts, and 1523 B on the wire.
    let arrivals = merged(vec![burst(0, 1523, 60, 0), burst(1, 1523, 20, 30)]);
    let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, at(500));
    // 1523 B take 1.2184 ms: at 30 ms the 25th frame of flow 0 is on the link. Then flow 1 sends ten frames, its
    // initial credit of 15140 B; then both, now old flows, send two frames in turn until flow 1 has sent its twenty.
    let order: Vec<u32> = log.departed.iter().map(|d| d.flow).collect();
    let after: Vec<u32> = order[25..].to_vec();
    assert_eq!(after[..10], [1; 10]);
    let turns: Vec<u32> = after[10..30].to_vec();
    // One or two frames of flow 0 come first: the rest of the turn in which flow 1 arrived.
    let first = turns.iter().take_while(|flow| **flow == 0).count();
    assert!((1..=2).contains(&first), "{turns:?}");
    for pair in turns[first..].chunks_exact(4).take(4) {
        assert_eq!(pair, [1, 1, 0, 0], "{turns:?}");
    }
}

#[test]
fn each_flow_has_its_limit_and_flows_that_exceed_their_share_send_equal_buffer_bytes() {
    let document = json!({ "kind": "fq", "buckets": "per-flow" });
    let log = run(&mut build(document.clone(), &SITE), &burst(0, 1000, 150, 0), RATE, 1, at(1000));
    // The flow's limit is 100 packets, and all 150 arrive before the first leaves.
    assert_eq!((log.departed.len(), log.dropped.len()), (100, 50));
    let streams = vec![
        constant(0, 1500, Rate(9_000_000), at(0), at(3000)),
        constant(1, 300, Rate(9_000_000), at(0), at(3000)),
        constant(2, 1000, Rate(1_000_000), at(0), at(3000)),
    ];
    let log = run(&mut build(document, &SITE), &merged(streams), RATE, 1, at(3000));
    // Flow 2 gets its 1 Mbit/s, less than a third of 10; flows 0 and 1 share 9 Mbit/s equally by buffer bytes. Packets
    // of 1500 and 300 B on the wire have 1494 and 296 buffer bytes, so that the rates on the wire are as 1500/1494 to
    // 300/296.
    for (flow, mbit) in [(0, 4.479), (1, 4.521), (2, 1.0)] {
        let found = log.bytes_of(flow) as f64 * 8.0 / 3e6;
        assert!((found - mbit).abs() < 0.015, "flow {flow}: {found}");
    }
}

#[test]
fn netem_delays_packets_by_a_constant_or_with_jitter_of_the_stated_distribution() {
    let arrivals = constant(0, 100, Rate(100_000), at(0), at(20_000));
    let delays = |document: Value| -> Vec<f64> {
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 7, at(30_000));
        log.departed.iter().map(|d| d.start.since(arrivals[d.arrival].at).as_secs() * 1e3).collect()
    };
    let same = delays(json!({ "kind": "netem", "delay": "25ms" }));
    assert!(same.len() == arrivals.len() && same.iter().all(|ms| (ms - 25.0).abs() < 1e-9));
    // Uniform between 15 and 35 ms: mean 25 ms, standard deviation 20 / sqrt(12) = 5.77 ms; of 2500 packets the mean is
    // within 0.35 ms (3 sigma).
    let moments = |all: &[f64]| {
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        (mean, (all.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / all.len() as f64).sqrt())
    };
    let uniform = delays(json!({ "kind": "netem", "delay": "25ms", "jitter": "10ms" }));
    let (mean, deviation) = moments(&uniform);
    assert!(uniform.iter().all(|ms| (15.0..35.2).contains(ms)));
    assert!((mean - 25.0).abs() < 0.4 && (deviation - 5.77).abs() < 0.3, "{mean} {deviation}");
    let normal = delays(json!({ "kind": "netem", "delay": "50ms", "jitter": "10ms", "distribution": "normal" }));
    let (mean, deviation) = moments(&normal);
    assert!((mean - 50.0).abs() < 0.7 && (deviation - 10.0).abs() < 0.6, "{mean} {deviation}");
}

#[test]
fn netem_with_jitter_reorders_packets_without_a_rate_and_never_with_a_rate() {
    let arrivals = constant(0, 100, Rate(800_000), at(0), at(2000));
    let overtaken = |document: Value| {
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 7, at(9_000));
        assert_eq!(log.departed.len(), arrivals.len());
        log.departed.windows(2).filter(|pair| pair[1].arrival < pair[0].arrival).count()
    };
    assert!(overtaken(json!({ "kind": "netem", "delay": "20ms", "jitter": "10ms" })) > 100);
    assert_eq!(overtaken(json!({ "kind": "netem", "delay": "20ms", "jitter": "10ms", "rate": "5Mbit/s" })), 0);
}

#[test]
fn netem_sends_at_its_rate_and_drops_beyond_its_limit() {
    // 100 packets at once at 1 Mbit/s, of 1250 B on the wire and 1238 B in buffers, which netem counts: one leaves
    // every 9.904 ms, the first after 9.904 ms and the delay.
    let document = json!({ "kind": "netem", "delay": "5ms", "rate": "1Mbit/s" });
    let log = run(&mut build(document.clone(), &SITE), &burst(0, 1250, 100, 0), RATE, 1, at(5000));
    let starts: Vec<u64> = log.departed.iter().map(|d| d.start.0 / 1_000_000_000).collect();
    assert_eq!(starts, (1..=100).map(|i| (5_000 + 9_904 * i) / 1_000).collect::<Vec<u64>>());
    let log = run(&mut build(document, &Site { packets: 30, ..SITE }), &burst(0, 1250, 100, 0), RATE, 1, at(5000));
    assert_eq!((log.departed.len(), log.dropped.len()), (30, 70));
}

#[test]
fn netem_loses_packets_independently_or_in_bursts_of_the_mean_length_of_its_markov_chain() {
    let arrivals = constant(0, 100, Rate(4_000_000), at(0), at(20_000));
    assert_eq!(arrivals.len(), 100_000);
    let lost = |document: Value| -> Vec<usize> {
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 3, at(30_000));
        log.dropped.iter().map(|d| d.arrival).collect()
    };
    // 2 % of 100 000 are lost: 2000 ± 133 (3 sigma).
    let independent = lost(json!({ "kind": "netem", "loss": 0.02 }));
    assert!((1860..2140).contains(&independent.len()), "{}", independent.len());
    // p = 1 %, r = 10 %: a share of p / (p + r) = 9.09 % is lost, in bursts of 1 / r = 10 packets on average.
    // Successive losses have the correlation 1 − p − r = 0.89: 9091 ± 1130 (3 sigma). The lengths of 909 bursts have
    // the standard deviation 9.5: a mean of 10 ± 0.95 (3 sigma).
    let bursts = lost(json!({ "kind": "netem", "bursts": { "enter": 0.01, "leave": 0.1 } }));
    let runs = 1 + bursts.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    assert!((bursts.len() as f64 - 9091.0).abs() < 1300.0, "{}", bursts.len());
    let length = bursts.len() as f64 / runs as f64;
    assert!((length - 10.0).abs() < 1.2, "{length}");
}

/// Offers packets with the code points `codes` at time zero and returns, for each, `true` if it is dropped.
fn fates(document: Value, site: &Site, codes: &[u8]) -> Vec<bool> {
    let mut q = build(document, site);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    for (index, code) in codes.iter().enumerate() {
        let mut packet = packet(&Arrival { at: Time::ZERO, flow: 0, bytes: 100, ecn: Ecn::NotEct }, index);
        packet.code = *code;
        q.enqueue(Time::ZERO, packet, cx);
    }
    assert!(cx.dropped.iter().all(|d| matches!(d.why, Reason::BufferFull | Reason::Early)));
    let mut fates = vec![false; codes.len()];
    for lost in cx.dropped.drain(..) {
        fates[lost.packet.seq as usize] = true;
    }
    let mut steps = Steps::at_most(codes.len() as u64);
    while q.dequeue(Time::ZERO, &Gate::default(), cx).is_some() {
        steps.step("more packets leave than have come");
    }
    fates
}

#[test]
fn a_code_point_with_its_own_limit_is_dropped_once_the_whole_queue_reaches_that_limit() {
    let document =
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "af22": "3packets", "af23": "150B" } });
    let (af21, af22, af23) = (18, 20, 22);
    // 100 B on the wire are 84 buffer bytes: an af23 packet is accepted only by an empty queue, an af22 packet if fewer
    // than three packets wait, every other packet if fewer than five wait.
    let codes = [af23, af23, af22, af22, af22, af21, af21, af22, af21];
    let expected = [false, true, false, false, true, false, false, true, true];
    assert_eq!(fates(document, &Site { packets: 5, ..SITE }, &codes), expected);
    let by_precedence = json!({ "kind": "weighted-tail-drop", "limits": { "0": "1packet" } });
    assert_eq!(fates(by_precedence, &SITE, &[0, 0, 46, 0]), [false, true, false, true]);
}

#[test]
fn wred_of_a_fair_queue_averages_the_whole_queue_and_the_flow_s_limit_applies_to_what_wred_accepts() {
    // At each arrival the average moves half of the distance to the queue length; from an average of two up WRED drops
    // all.
    let document = json!({ "kind": "fair-queue-wred",
        "wred": { "by": "dscp", "exponent": 1, "profiles": { "0": { "min": 2, "max": 2, "denominator": 1 } } },
        "fair-queue": { "weights": "equal", "queues": "per-flow", "threshold": "3packets" } });
    // The four packets find 0, 1, 2 and 3 waiting: averages 0, 0.5, 1.25, 2.125. WRED drops the fourth. EF packets,
    // whose profile starts at 36, pass WRED, and the flow's limit of three drops the fourth.
    assert_eq!(fates(document.clone(), &SITE, &[0, 0, 0, 0]), [false, false, false, true]);
    let mut q = build(document, &SITE);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    for index in 0..4 {
        let mut packet = packet(&Arrival { at: Time::ZERO, flow: 0, bytes: 100, ecn: Ecn::NotEct }, index);
        packet.code = 46;
        q.enqueue(Time::ZERO, packet, cx);
    }
    assert_eq!((q.packets(), cx.dropped.len()), (3, 1));
}

/// Linux (`fq_enqueue`): the credit of a flow is refilled if the time is *after* that of its removal and the delay.
#[test]
fn the_credit_of_a_flow_is_refilled_after_the_delay_and_not_at_its_end() {
    let removed = at(1);
    for (back, order) in [(removed + Dur::from_ms(40), [0, 1, 0]), (removed + Dur::from_ms(40) + Dur(1), [0, 0, 1])] {
        let mut q = build(
            json!({ "kind": "fq", "buckets": "per-flow", "quantum": "3028B", "initial-quantum": "1520B" }),
            &SITE,
        );
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        // 1514 buffer bytes, which leave a credit of 6.
        let frame = |flow| packet(&Arrival { at: back, flow, bytes: 1523, ecn: Ecn::NotEct }, 0);
        q.enqueue(at(0), frame(0), cx);
        assert!(q.dequeue(at(0), &Gate::default(), cx).is_some());
        assert!(q.dequeue(removed, &Gate::default(), cx).is_none());
        for flow in [0, 0, 1] {
            q.enqueue(back, frame(flow), cx);
        }
        let found = [0; 3].map(|_| q.dequeue(back, &Gate::default(), cx).expect("a frame").flow());
        assert_eq!(found, order);
    }
}

#[test]
fn sfq_draws_its_hash_function_anew_at_multiples_of_the_interval_and_once_after_a_pause() {
    let mut q = build(json!({ "kind": "sfq", "buckets": 16, "perturb": "10s" }), &SITE);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    // The first packet draws the first hash function.
    q.enqueue(at(0), packet(&burst(0, 100, 1, 0)[0], 0), cx);
    let before = |time: Time| Time(time.0 - 1);
    for (time, draws) in [
        (before(at(10_000)), false),
        (at(10_000), true),
        (before(at(20_000)), false),
        (at(20_000), true),
        (at(45_000), true),
        (before(at(50_000)), false),
        (at(50_000), true),
        (at(50_000), false),
    ] {
        let state = format!("{:?}", cx.rng);
        q.enqueue(time, packet(&burst(0, 100, 1, 0)[0], 0), cx);
        assert_eq!(format!("{:?}", cx.rng) != state, draws, "{time:?}");
    }
}

#[test]
fn a_shaper_in_form_linux_waits_for_the_tokens_of_the_next_packet_and_drops_what_exceeds_its_bucket() {
    // 1523 and 300 B on the wire are 1514 and 296 buffer bytes, each of which takes 1 us at 8 Mbit/s. The link takes
    // about 1 us per packet.
    let arrivals = merged(vec![burst(0, 1523, 2, 0), burst(1, 300, 1, 0)]);
    let shaper = |form: &str, burst: &str, child: &str| json!({ "kind": "shaper", "form": form, "rate": "8Mbit/s", "burst": burst, "discipline": { "kind": child } });
    let sent = |document: Value| {
        let log = run(&mut build(document, &SITE), &arrivals, Rate(10_000_000_000), 1, at(500));
        let starts: Vec<(u32, u64)> = log.departed.iter().map(|d| (d.flow, d.start.0 / 1_000_000)).collect();
        (starts, log.dropped.len())
    };
    // The bucket is empty after the first packet. A FIFO shows its next packet, CoDel passes it on.
    for child in ["drop-tail", "codel"] {
        assert_eq!(sent(shaper("linux", "1514B", child)), (vec![(0, 0), (0, 1514), (1, 1810)], 0), "{child}");
    }
    // Form "largest" waits for 1514 B also before the small packet.
    assert_eq!(sent(shaper("largest", "1514B", "drop-tail")), (vec![(0, 0), (0, 1514), (1, 3028)], 0));
    assert_eq!(sent(shaper("linux", "1513B", "drop-tail")), (vec![(1, 0)], 2));
}

#[test]
fn wrr_in_form_linux_takes_the_turns_of_drr_dequeue() {
    let class = |flow: u32| json!({ "match": { "flow": flow } });
    let document = json!({ "kind": "wrr", "form": "linux", "count": "bytes", "quantum": "1000B",
                           "classes": [class(0), class(1)] });
    // While a packet of the default class is on the link, flows 0 and 1 become busy, in this order. Flow 0 has 1000 B,
    // too few for 1523; flow 1 sends 523 and keeps 477; flow 0 has 2000 and keeps 477; flow 1 has 1477, sends two and
    // keeps 431; flow 0 has 1477; flow 1 has 1431 and sends its last one; flow 0 has 2477, then 1954.
    let arrivals = merged(vec![burst(2, 1523, 1, 0), burst(0, 1523, 3, 1), burst(1, 523, 4, 1)]);
    let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, at(500));
    let order: Vec<u32> = log.departed.iter().map(|d| d.flow).collect();
    assert_eq!(order, [2, 1, 0, 1, 1, 1, 0, 0]);
}
