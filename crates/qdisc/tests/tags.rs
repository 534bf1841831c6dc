//! Claims about service by tags: WFQ, WF²Q+, SCFQ, STFQ and Virtual Clock.

use crate::common::seeded;
use crate::link::{Arrival, Log, build, constant, merged, random, run};
use proptest::prelude::*;
use serde_json::json;
use tailback_qdisc::{Ecn, Site};
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SITE: Site = Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE };
/// Transmission time of a byte at `RATE`, ps.
const BYTE: f64 = 800_000.0;
/// Transmission time of the largest packet, ps.
const LARGEST_PACKET: f64 = 1500.0 * BYTE;
/// Picoseconds that the rounding of tags and of the reference may cost.
const ROUNDING: f64 = 1_000.0;

/// Returns the document of a discipline with these weights of flows 0, 1, ….
fn weighted(kind: &str, weights: &[f64]) -> serde_json::Value {
    let list: serde_json::Map<_, _> = weights.iter().enumerate().map(|(f, w)| (f.to_string(), json!(w))).collect();
    let mut document = json!({ "kind": kind, "weights": list });
    if kind == "virtual-clock" {
        // The reserved rates are the final ones from the start: without `rate` they depend on the flows seen so far.
        document["rate"] = json!(format!("{}bit/s", (RATE.0 as f64 / weights.iter().sum::<f64>()) as u64));
    }
    document
}

fn served(kind: &str, weights: &[f64], arrivals: &[Arrival]) -> Log {
    run(&mut build(weighted(kind, weights), &SITE), arrivals, RATE, 1, Time::NEVER)
}

/// Returns the time, in ps, at which a fluid server that shares the link by weight among the backlogged
/// flows finishes each packet. It is computed without virtual time: bytes flow out of the first packet of
/// each flow until one of these packets is empty or another arrives.
fn fluid(arrivals: &[Arrival], weights: &[f64]) -> Vec<f64> {
    let mut finish = vec![0.0; arrivals.len()];
    let mut queues = vec![std::collections::VecDeque::<(usize, f64)>::new(); weights.len()];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let sum: f64 = queues.iter().zip(weights).filter(|(q, _)| !q.is_empty()).map(|(_, w)| w).sum();
        let arrival = arrivals.get(next).map_or(f64::INFINITY, |a| a.at.0 as f64);
        let empties = queues
            .iter()
            .zip(weights)
            .filter_map(|(q, w)| Some(now + q.front()?.1 * BYTE * sum / w))
            .fold(f64::INFINITY, f64::min);
        let until = arrival.min(empties);
        if until == f64::INFINITY {
            return finish;
        }
        for (queue, weight) in queues.iter_mut().zip(weights) {
            let Some(front) = queue.front_mut() else { continue };
            front.1 -= (until - now) * weight / sum / BYTE;
            if front.1 <= 1e-7 {
                finish[front.0] = until;
                queue.pop_front();
            }
        }
        now = until;
        if arrival <= now {
            let a = &arrivals[next];
            queues[a.flow as usize].push_back((next, f64::from(a.bytes)));
            next += 1;
        }
    }
}

/// Returns the time, in ps, at which a server that gives each flow exactly its share of the link would
/// finish each packet: expected arrival time plus size / rate (Goyal, Vin and Cheng 1996).
fn alone(arrivals: &[Arrival], weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let mut last = vec![0.0f64; weights.len()];
    arrivals
        .iter()
        .map(|a| {
            let f = a.flow as usize;
            last[f] = last[f].max(a.at.0 as f64) + f64::from(a.bytes) * BYTE * sum / weights[f];
            last[f]
        })
        .collect()
}

fn weights() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![Just(1.0), 0.1f64..10.0], 2..8)
}

proptest! {
    #![proptest_config(seeded(48))]

    #[test]
    fn wfq_finishes_each_packet_within_one_packet_time_of_the_fluid_server(seed in any::<u64>(), weights in weights(), load in 0.6f64..1.3) {
        let arrivals = random(seed, weights.len() as u32, 1500, RATE, load);
        let reference = fluid(&arrivals, &weights);
        for d in &served("wfq", &weights, &arrivals).departed {
            let (end, fluid) = (d.end.0 as f64, reference[d.arrival]);
            prop_assert!(end <= fluid + LARGEST_PACKET + ROUNDING, "packet {}: {end} after {fluid}", d.arrival);
        }
    }

    #[test]
    fn each_discipline_keeps_its_delay_bound_for_each_flow(seed in any::<u64>(), weights in weights(), load in 0.6f64..1.3) {
        let arrivals = random(seed, weights.len() as u32, 1500, RATE, load);
        let reference = alone(&arrivals, &weights);
        let sum: f64 = weights.iter().sum();
        let others = (weights.len() - 1) as f64;
        for kind in ["wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq"] {
            let log = served(kind, &weights, &arrivals);
            prop_assert_eq!(log.departed.len(), arrivals.len());
            for d in &log.departed {
                let own = f64::from(d.bytes) * BYTE;
                let (end, alone) = (d.end.0 as f64, reference[d.arrival]);
                let bound = match kind {
                    // Expected arrival, plus one packet of each other flow, plus the packet's own time on the link.
                    "stfq" => -own * sum / weights[d.flow as usize] + others * LARGEST_PACKET + own,
                    "scfq" => others * LARGEST_PACKET,
                    // The rate is rounded to a whole number of bit/s.
                    "virtual-clock" => LARGEST_PACKET + alone * 1e-5,
                    _ => LARGEST_PACKET,
                };
                prop_assert!(end <= alone + bound + ROUNDING, "{kind}, packet {}: {end} after {alone}", d.arrival);
            }
        }
    }

    #[test]
    fn backlogged_flows_get_service_by_weight(seed in any::<u64>(), ratio in 1.0f64..6.0) {
        let weights = [1.0, ratio, 1.0];
        let mut arrivals = random(seed, 3, 3000, RATE, 1.0);
        for a in &mut arrivals { a.at = Time::ZERO; }
        for kind in ["wfq", "wf2q-plus", "scfq", "stfq", "virtual-clock"] {
            let log = served(kind, &weights, &arrivals);
            let mut shares = [0.0f64; 3];
            let mut remaining = [0, 1, 2].map(|f| arrivals.iter().filter(|a| a.flow == f).count());
            for d in &log.departed {
                let f = d.flow as usize;
                shares[f] += f64::from(d.bytes) / weights[f];
                remaining[f] -= 1;
                if remaining[f] == 0 {
                    break;
                }
                // |W_f / r_f - W_m / r_m| <= L_f / r_f + L_m / r_m, here 3000 B at most; twice that, since some disciplines have
                // the bound only for intervals.
                let difference = shares.iter().fold(0.0, |m: f64, s| m.max(*s)) - shares.iter().fold(f64::MAX, |m, s| m.min(*s));
                prop_assert!(difference <= 2.0 * 3000.0, "{kind}: {shares:?}");
            }
        }
    }
}

#[test]
fn a_token_bucket_flow_meets_the_bound_of_parekh_and_gallager() {
    // Flow 0: 1 Mbit/s with bursts of 8 packets; its weight gives it exactly 1 of 10 Mbit/s.
    let mut sources = vec![];
    for k in 0..100u64 {
        let at = Time::ZERO + Dur::from_ms(64) * k;
        sources.push(vec![Arrival { at, flow: 0, bytes: 1000, ecn: Ecn::NotEct }; 8]);
    }
    for f in 1..10 {
        sources.push(constant(f, 1500, Rate(3_000_000), Time(u64::from(f) * 77), Time::ZERO + Dur::from_secs(7)));
    }
    let arrivals = merged(sources);
    // b / r + Lmax / C, with the burst b of 8 packets and Lmax of 1500 B.
    let bound = Dur::from_ms(64) + Dur::from_us(1200);
    let mut slowest = Dur::ZERO;
    for kind in ["wfq", "wf2q-plus"] {
        for d in served(kind, &[1.0; 10], &arrivals).departed.iter().filter(|d| d.flow == 0) {
            let delay = d.end.since(arrivals[d.arrival].at);
            assert!(delay <= bound, "{kind}: {delay}");
            slowest = slowest.max(delay);
        }
    }
    assert!(slowest > Dur::from_ms(55), "the bound is nearly reached: {slowest}");
    let fifo = run(&mut build(json!({ "kind": "drop-tail" }), &SITE), &arrivals, RATE, 1, Time::NEVER);
    let worst =
        fifo.departed.iter().filter(|d| d.flow == 0).map(|d| d.end.since(arrivals[d.arrival].at)).max().unwrap();
    assert!(worst > bound * 10, "{worst}");
}

#[test]
fn over_a_million_packets_wfq_never_exceeds_the_bounds_of_parekh_and_gallager() {
    let weights = [1.0, 1.0, 2.0, 0.3, 5.0, 1.0, 0.7, 3.0];
    let (mut packets, mut tightest) = (0, f64::INFINITY);
    for (seed, load) in [(1, 0.7), (2, 0.9), (3, 0.98), (4, 1.2)] {
        let arrivals = random(seed, 8, 260_000, RATE, load);
        let (reference, alone) = (fluid(&arrivals, &weights), alone(&arrivals, &weights));
        let log = served("wfq", &weights, &arrivals);
        // For each flow the largest delay, and sigma / g, the largest delay on a link that serves only this flow, at
        // rate g.
        let (mut worst, mut burst) = ([0.0f64; 8], [0.0f64; 8]);
        for d in &log.departed {
            let (end, at, flow) = (d.end.0 as f64, arrivals[d.arrival].at.0 as f64, d.flow as usize);
            assert!(end <= reference[d.arrival] + LARGEST_PACKET + ROUNDING, "packet {} lags the fluid", d.arrival);
            worst[flow] = worst[flow].max(end - at);
            burst[flow] = burst[flow].max(alone[d.arrival] - at);
        }
        for flow in 0..8 {
            let bound = burst[flow] + LARGEST_PACKET + ROUNDING;
            assert!(worst[flow] <= bound, "flow {flow}: {} ps, at most {bound}", worst[flow]);
            tightest = tightest.min(bound / worst[flow]);
        }
        packets += log.departed.len();
    }
    assert!(packets >= 1_000_000, "{packets} packets");
    assert!(tightest < 2.0, "no bound is within twice the largest delay: {tightest}");
}

/// Returns the arrivals and weights of Bennett and Zhang's example: flow 0 has half of the link and eleven packets at
/// once; each of ten other flows has a twentieth of the link and one packet.
fn worst_case() -> (Vec<Arrival>, Vec<f64>) {
    let packet = |flow| Arrival { at: Time::ZERO, flow, bytes: 1000, ecn: Ecn::NotEct };
    let arrivals = (0..11).map(|_| packet(0)).chain((1..=10).map(packet)).collect();
    (arrivals, std::iter::once(0.5).chain([0.05; 10]).collect())
}

/// Returns the positions of the packets of flow 0 in the order of departures of that example.
fn places_of_flow_0(kind: &str) -> Vec<usize> {
    let (arrivals, weights) = worst_case();
    let log = served(kind, &weights, &arrivals);
    log.departed.iter().enumerate().filter(|(_, d)| d.flow == 0).map(|(i, _)| i).collect()
}

#[test]
fn wfq_runs_ahead_of_the_fluid_server_and_wf2q_plus_does_not() {
    assert_eq!(places_of_flow_0("wfq")[..10], (0..10).collect::<Vec<_>>()[..]);
    assert_eq!(places_of_flow_0("wf2q-plus"), (0..11).map(|i| 2 * i).collect::<Vec<_>>());
}

#[test]
fn virtual_clock_penalises_past_use_and_fair_queueing_does_not() {
    // Flow 0 alone for a second at the full rate, twice its reservation; then flow 1 comes.
    let second = Time::ZERO + Dur::from_secs(1);
    let arrivals = merged(vec![
        constant(0, 1000, RATE, Time::ZERO, Time::ZERO + Dur::from_secs(2)),
        constant(1, 1000, RATE, second, Time::ZERO + Dur::from_secs(2)),
    ]);
    let share = |document: serde_json::Value| {
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::ZERO + Dur::from_secs(2));
        let after = log.departed.iter().filter(|d| d.start > second && d.start < second + Dur::from_ms(450));
        let of_flow_0: Vec<f64> = after.map(|d| if d.flow == 0 { 1.0 } else { 0.0 }).collect();
        of_flow_0.iter().sum::<f64>() / of_flow_0.len() as f64
    };
    let penalised = share(json!({ "kind": "virtual-clock", "rate": "5Mbit/s" }));
    assert!(penalised < 0.01, "{penalised}");
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq"] {
        let fair = share(json!({ "kind": kind }));
        assert!((fair - 0.5).abs() < 0.01, "{kind}: {fair}");
    }
}

#[test]
fn a_full_queue_drops_waiting_packets_with_larger_tags_than_the_arrival_s() {
    let packet = |flow, at| Arrival { at: Time(at), flow, bytes: 1000, ecn: Ecn::NotEct };
    // One packet of flow 0 is in transmission and five wait; flow 1 arrives at a full queue.
    let mut arrivals: Vec<Arrival> = (0..6).map(|i| packet(0, i)).collect();
    arrivals.extend((0..4).map(|i| packet(1, 10 + i)));
    let site = Site { packets: 5, ..SITE };
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq"] {
        let log = run(&mut build(json!({ "kind": kind }), &site), &arrivals, RATE, 1, Time::NEVER);
        let dropped: Vec<u32> = log.dropped.iter().map(|d| d.flow).collect();
        assert!(dropped.iter().filter(|f| **f == 0).count() >= 2 && dropped.len() == 4, "{kind}: {dropped:?}");
    }
}

#[test]
fn after_an_idle_time_a_flow_is_not_delayed_for_its_past_service() {
    let packet = |flow, ms| Arrival { at: Time::ZERO + Dur::from_ms(ms), flow, bytes: 1000, ecn: Ecn::NotEct };
    let mut arrivals = vec![packet(0, 0); 10];
    // At once on an idle link: they leave in the order of arrival.
    arrivals.extend([packet(2, 100), packet(0, 100), packet(1, 100)]);
    for kind in ["wfq", "wf2q-plus", "scfq", "stfq"] {
        let log = run(&mut build(json!({ "kind": kind }), &SITE), &arrivals, RATE, 1, Time::NEVER);
        let last: Vec<u32> = log.departed[10..].iter().map(|d| d.flow).collect();
        assert_eq!(last, [2, 0, 1], "{kind}");
    }
}

/// A link that becomes faster sends a packet in less time than its former rate says. The fluid server has sent the whole packet,
/// too, when the next one begins.
#[test]
fn wfq_counts_a_packet_in_full_that_is_sent_faster_than_the_rate_says() {
    use crate::link::packet;
    use tailback_qdisc::{Cx, Gate, Qdisc};
    use tailback_random::Rng;
    let order = |later: u16| -> Vec<u32> {
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        let arrival = |flow, bytes| packet(&Arrival { at: Time::ZERO, flow, bytes, ecn: Ecn::NotEct }, 0);
        let mut q = build(json!({ "kind": "wfq" }), &SITE);
        (0..3).for_each(|_| q.enqueue(Time::ZERO, arrival(0, 1000), cx));
        (0..2).for_each(|_| assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some()));
        q.enqueue(Time::ZERO, arrival(1, later), cx);
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &Gate::default(), cx)).map(|p| p.flow()).collect()
    };
    // When flow 1 arrives, the virtual time is that of the first packet's end, 1000. Its packet has the finish tag 3500 or 2900,
    // and the third packet of flow 0 has 3000.
    assert_eq!(order(2_500), [0, 1]);
    assert_eq!(order(1_900), [1, 0]);
}

/// The work of a packet that is sent faster than the rate says is done before the next one begins: V + work / sum of weights comes
/// before the maximum with the smallest start tag (Bennett and Zhang, Hierarchical packet fair queueing algorithms).
#[test]
fn wf2q_plus_counts_a_packet_that_is_sent_faster_than_the_rate_says_before_it_chooses_the_next() {
    use crate::link::packet;
    use tailback_qdisc::{Cx, Gate, Qdisc};
    use tailback_random::Rng;
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let arrival = |flow, bytes| packet(&Arrival { at: Time::ZERO, flow, bytes, ecn: Ecn::NotEct }, 0);
    let mut q = build(json!({ "kind": "wf2q-plus" }), &SITE);
    // Start tags 0, 1000 and 2000. At the second service V = max(0 + 1000, 1000) = 1000.
    (0..3).for_each(|_| q.enqueue(Time::ZERO, arrival(0, 1000), cx));
    (0..2).for_each(|_| assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some()));
    // The packet of flow 1 has the tags 1000 and 2500. At the third service V = max(1000 + 1000 / 2, 1000) = 1500, so that
    // the third packet of flow 0, with the tags 2000 and 3000, is not eligible.
    q.enqueue(Time::ZERO, arrival(1, 1500), cx);
    let order: Vec<u32> =
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &Gate::default(), cx)).map(|p| p.flow()).collect();
    assert_eq!(order, [1, 0]);
    // With V = 2000 after the second service, its tags would be 2000 and 3500, and it would be served last.
}

#[test]
fn virtual_clock_refuses_a_reserved_rate_of_zero() {
    // A stamp is the size divided by the rate.
    use tailback_qdisc::discipline::virtual_clock::Params;
    let params = |bps| Params { rate: Some(Rate(bps)), ..Params::default() };
    let error = params(0).check().expect_err("the rate is zero");
    assert_eq!(error.path, "rate");
    assert!(error.to_string().contains("write a rate above zero"), "{error}");
    assert_eq!(params(1).check(), Ok(()));
}
