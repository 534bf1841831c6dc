//! Delays, losses and queues compared with closed forms of queueing theory. In the statistical tests, a 99.9 %
//! confidence interval over replications must contain the value of the theory, and its half-width must be small.

use crate::common::*;
use tailback_measure::oracle::{
    BurstLoss, Class, cobham_waits, md1_wait, md1k_loss, mg1_wait, mm1k_loss, overload_loss,
};
use tailback_qdisc::{Spec, discipline::drop_tail};
use tailback_sim::Report;
use tailback_traffic::{Model, Poisson, Sizes};
use tailback_units::{Rate, Size, Time};

/// Rate of the link in Mbit/s.
const MBIT: u64 = 8;
/// Transmission time of a byte at that rate, in s.
const BYTE_S: f64 = 1e-6;

/// Returns a network in which host 0's queue and its link to host 1 are a single-server queue.
fn server() -> Net {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, MBIT);
    net
}

/// Returns the source rate that gives this load of the link, bit/s.
fn bps(load: f64) -> u64 {
    (load * 8e6) as u64
}

/// Returns the mean wait of a flow in s: the mean delay minus the transmission time of `mean_size` bytes.
fn mean_wait(report: &Report, flow: usize, mean_size: f64) -> f64 {
    mean_s(&report.flows.row(flow)) - mean_size * BYTE_S
}

#[test]
fn md1_waits_as_pollaczek_and_khinchin_say() {
    for (load, seconds) in [(0.5, 50), (0.8, 150), (0.9, 500)] {
        let mut net = server();
        net.flow(0, 1, 0, poisson(1000, bps(load)));
        net.plan.warmup = ms(2000);
        net.plan.end = ms(seconds * 1000);
        let measured = over(&net.replications(20), |report| mean_wait(report, 0, 1000.0));
        agrees(measured, md1_wait(load, 1000.0 * BYTE_S), 0.03);
    }
}

#[test]
fn mg1_with_two_sizes_waits_as_pollaczek_and_khinchin_say() {
    let mut net = server();
    // 100 B and 1500 B at loads of 0.2 and 0.5: the second moment matters, and not only the load.
    net.flow(0, 1, 0, poisson(100, bps(0.2)));
    net.flow(0, 1, 0, poisson(1500, bps(0.5)));
    net.plan.warmup = ms(2000);
    net.plan.end = ms(100_000);
    let (small, large) = (100.0 * BYTE_S, 1500.0 * BYTE_S);
    let rates = [0.2 / small, 0.5 / large];
    let rate = rates[0] + rates[1];
    let second_moment = (rates[0] * small * small + rates[1] * large * large) / rate;
    let theory = mg1_wait(rate, 0.7 / rate, second_moment);
    // Poisson arrivals see time averages (PASTA), so that packets of both sizes have the same mean wait.
    let reports = net.replications(20);
    agrees(over(&reports, |report| mean_wait(report, 0, 100.0)), theory, 0.03);
    agrees(over(&reports, |report| mean_wait(report, 1, 1500.0)), theory, 0.03);
}

#[test]
fn three_classes_wait_as_cobham_says_and_keep_kleinrocks_conservation_law() {
    let loads = [0.2, 0.3, 0.3];
    let sizes = [500u64, 1000, 1500];
    let mut net = Net::new(RAW);
    net.plan.classes = 3;
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, MBIT);
    for class in 0..3 {
        net.flow(a, b, class as u8, poisson(sizes[class], bps(loads[class])));
    }
    net.plan.warmup = ms(2000);
    net.plan.end = ms(250_000);
    let service = |class: usize| sizes[class] as f64 * BYTE_S;
    let classes: Vec<Class> = (0..3)
        .map(|k| Class {
            rate: loads[k] / service(k),
            mean_service: service(k),
            second_moment: service(k) * service(k),
        })
        .collect();
    let waits = cobham_waits(&classes);
    let wait = |report: &Report, k: usize| report.classes[k].delay.mean_s.unwrap() - service(k);
    let reports = net.replications(20);
    for (class, &expected) in waits.iter().enumerate() {
        agrees(over(&reports, |report| wait(report, class)), expected, 0.03);
    }
    // With one class and the discipline `priority`, all delays are equal to those with three priority classes.
    let levels: Vec<_> =
        (0..3).map(|flow| serde_json::json!({ "match": { "flow": flow }, "limit": "100GB" })).collect();
    let mut queued = net.clone();
    queued.plan.classes = 1;
    queued.plan.flows.iter_mut().for_each(|flow| flow.class = 0);
    for queue in queued.plan.links.iter_mut().flat_map(|link| &mut link.queue) {
        queue.limits.truncate(1);
        queue.places.truncate(1);
        let document = serde_json::json!({ "kind": "priority", "levels": levels });
        queue.discipline = tailback_document::decode(document).expect("three levels");
    }
    queued.plan.end = ms(20_000);
    let mut ports = net.clone();
    ports.plan.end = ms(20_000);
    let delays =
        |net: &Net| net.run().flows.iter().map(|flow| (flow.delay.mean_s, flow.delay.max_s)).collect::<Vec<_>>();
    assert_eq!(delays(&queued), delays(&ports));
    let conserved: f64 = (0..3).map(|k| loads[k] * waits[k]).sum();
    agrees(over(&reports, |report| (0..3).map(|k| loads[k] * wait(report, k)).sum()), conserved, 0.03);
}

#[test]
fn mm1k_loses_the_share_of_the_closed_form() {
    for (load, capacity) in [(0.5, 3), (0.9, 5), (1.2, 10)] {
        let mut net = server();
        let sizes = Sizes::Exponential;
        net.flow(
            0,
            1,
            0,
            Model::Poisson(Poisson { packet: Size(1000), sizes, rate: Some(Rate(bps(load))), interval: None }),
        );
        // One of the K packets is in service.
        net.queue(0, 1).discipline =
            Spec::DropTail(drop_tail::Params { packets: Some(capacity - 1), ..drop_tail::Params::default() });
        net.plan.warmup = ms(1000);
        net.plan.end = ms(200_000);
        agrees(
            over(&net.replications(20), |report| loss(&report.flows.row(0))),
            mm1k_loss(load, capacity as u32),
            0.03,
        );
    }
}

#[test]
fn md1k_loses_as_the_embedded_chain_says() {
    for (load, capacity) in [(0.5, 3), (0.9, 5), (1.2, 10)] {
        let mut net = server();
        net.flow(0, 1, 0, poisson(1000, bps(load)));
        net.limit(0, 1, 1000 * (capacity - 1));
        net.plan.warmup = ms(1000);
        net.plan.end = ms(100_000);
        agrees(
            over(&net.replications(20), |report| loss(&report.flows.row(0))),
            md1k_loss(load, capacity as u32),
            0.03,
        );
    }
}

#[test]
fn constant_overload_loses_exactly_the_excess() {
    // 12.5 Mbit/s into 8 Mbit/s: the link carries one packet per millisecond at any load above its rate.
    let mut net = server();
    net.flow(0, 1, 0, cbr(1000, 12_500_000));
    net.limit(0, 1, 10_000);
    net.plan.end = ms(10_000);
    let report = net.run();
    let flow = &report.flows.row(0);
    let (offered, waiting) = (flow.offered.packets as f64, flow.in_network.packets as f64);
    assert!((flow.delivered.packets as f64 - 10_000.0).abs() <= 1.0, "{flow:?}");
    let lost = overload_loss(12.5, 8.0) * offered - waiting;
    assert!((flow.dropped.packets as f64 - lost).abs() <= 1.0, "{lost} in {flow:?}");
    assert_eq!(waiting, 11.0, "a full buffer and one in service");
}

#[test]
fn evenly_spaced_packets_below_capacity_never_wait() {
    for rate in [1, 4, 8] {
        let mut net = server();
        net.flow(0, 1, 0, cbr(1000, rate * 1_000_000));
        let report = net.run();
        let flow = &report.flows.row(0);
        assert_eq!(ps(max_s(flow)), tx(MBIT, 1000), "at {rate} Mbit/s");
        assert_eq!(ps(mean_s(flow)), tx(MBIT, 1000), "at {rate} Mbit/s");
        let queue = &port(&report, "a->b").classes[0];
        assert_eq!((queue.max_bytes, queue.mean_bytes), (0, 0.0));
    }
}

#[test]
fn the_mean_queue_is_the_throughput_times_the_mean_wait() {
    for classes in [1, 3] {
        let mut net = Net::new(RAW);
        net.plan.classes = classes;
        let (a, b) = (net.host("a"), net.host("b"));
        net.link(a, b, MBIT);
        for class in 0..classes {
            net.flow(a, b, class, poisson(1000, bps(0.9 / f64::from(classes))));
        }
        net.plan.warmup = ms(1000);
        net.plan.end = ms(100_000);
        let report = net.run();
        let span = report.end_s - report.warmup_s;
        for (class, queue) in port(&report, "a->b").classes.iter().enumerate() {
            let measured = &report.classes[class];
            let wait = measured.delay.mean_s.unwrap() - 1000.0 * BYTE_S;
            // The integral of the queue over time is the sum of size times wait of all packets, except for packets that
            // wait at either end of the measurement: each of them changes it by at most its size times the longest
            // delay.
            let area = measured.delivered.bytes as f64 * wait;
            let slack = 2.0 * (queue.max_bytes as f64 + 1000.0) * measured.delay.max_s.unwrap();
            let measured = queue.mean_bytes * span;
            assert!((measured - area).abs() <= slack, "class {class}: {measured} for {area} within {slack}");
            assert!(slack < 0.05 * area, "the bound is tight");
        }
    }
}

#[test]
fn utilisation_is_the_share_of_time_that_the_bytes_sent_take_on_the_link() {
    let mut net = server();
    net.flow(0, 1, 0, poisson(1000, bps(0.6)));
    net.plan.warmup = ms(500);
    net.plan.end = ms(20_000);
    let report = net.run();
    let measured = port(&report, "a->b");
    let span = report.end_s - report.warmup_s;
    let sent = measured.classes[0].sent.bytes as f64 * BYTE_S / span;
    // The transmission of one packet may cross each end of the measurement.
    assert!((measured.utilisation - sent).abs() <= 2.0 * 1000.0 * BYTE_S / span);
    assert!((measured.utilisation - 0.6).abs() < 0.02);
    assert_eq!(measured.rate_bps, 8_000_000);
    let saturated = {
        let mut net = server();
        net.flow(0, 1, 0, bulk(10_000_000));
        net.run()
    };
    assert_eq!(port(&saturated, "a->b").utilisation, 1.0);
    assert_eq!(port(&saturated, "b->a").utilisation, 0.0);
}

/// Returns a network in which bursts arrive over 100 Mbit/s at a link of 10 Mbit/s with a buffer of 50 kB (the rate
/// mismatch of the slides of Tobagi and others). The load is so low that nearly every burst finds the buffer empty.
fn mismatch(burst: u64) -> Net {
    let mut net = Net::new(ETHERNET);
    let (h, s1, s2, d) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.host("d"));
    net.link(h, s1, 100);
    net.link(s1, s2, 100);
    net.link(s2, d, 10);
    net.limit(s1, s2, 500_000);
    net.limit(s2, d, 50_000);
    // One burst in 20 000 begins before the previous one has drained.
    net.flow(h, d, 0, bursts(burst, 1_000));
    // A mean gap is 8 `burst` ms at 1 kbit/s, so that there are about 4000 bursts.
    net.plan.end = Time(4_000 * 8 * burst * 1_000_000_000);
    net
}

/// Returns the lost and the offered payload of a burst of `payload` bytes, replayed frame by frame in integer
/// picoseconds: an independent model of a store-and-forward switch whose buffer counts only waiting frames.
fn replay(payload: u64) -> (u64, u64) {
    let (mut remaining, mut lost, mut arrival) = (payload, 0, 0);
    let mut free = 0;
    // Start of transmission and buffer bytes of each waiting frame.
    let mut waiting = std::collections::VecDeque::<(u64, u64)>::new();
    while remaining > 0 {
        let part = remaining.min(1500);
        remaining -= part;
        let frame = (part + 18).max(64);
        arrival += tx(100, frame as u32 + 20).0;
        while waiting.front().is_some_and(|(start, _)| *start <= arrival) {
            waiting.pop_front();
        }
        if waiting.iter().map(|(_, bytes)| bytes).sum::<u64>() + frame > 50_000 {
            lost += part;
            continue;
        }
        let start = arrival.max(free);
        if start > arrival {
            waiting.push_back((start, frame));
        }
        free = start + tx(10, frame as u32 + 20).0;
    }
    (lost, payload)
}

#[test]
fn isolated_bursts_lose_what_a_replay_and_the_closed_form_of_a_rate_mismatch_say() {
    for burst in [6_000, 24_000, 48_000, 96_000] {
        let net = mismatch(burst);
        let measured = over(&net.replications(20), |report| {
            report.flows.row(0).dropped.bytes as f64 / report.flows.row(0).offered.bytes as f64
        });
        let fluid =
            BurstLoss { low: 64, high: 2 * burst, buffer: 50_000, ratio: 0.1, mtu: 1500, header: 18, min_frame: 64 };
        if 2 * burst < 50_000 {
            assert!(measured.hi() < 1e-4 && fluid.closed_form() == 0.0, "{measured:?}");
            continue;
        }
        let add = |(lost, offered), (more_lost, more_offered)| (lost + more_lost, offered + more_offered);
        let (lost, offered) = (64..=2 * burst).map(replay).fold((0, 0), add);
        agrees(measured, lost as f64 / offered as f64, 0.05);
        assert!((measured.mean - fluid.closed_form()).abs() < 0.02, "{measured:?} for {}", fluid.closed_form());
    }
}
