//! Packets and events at the end of the warm-up: which of them count in the report.

use crate::common::*;
use tailback_units::Dur;

/// Returns a packet of 1000 B every millisecond from time zero on, over a link on which it takes 0.1 ms.
fn steady() -> Net {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 80);
    net.flow(a, b, 0, cbr(1000, 8_000_000));
    net.plan.end = ms(1_000);
    net
}

#[test]
fn packets_generated_before_the_end_of_the_warm_up_are_forwarded_but_not_measured() {
    for warmup in [0, 1, 250, 999, 1_000] {
        let mut net = steady();
        net.plan.warmup = ms(warmup);
        let report = net.run();
        let flow = &report.flows.row(0);
        // Both ends count: one packet is generated at the end of the warm-up, and one at the end of the run.
        assert_eq!(flow.offered.packets, 1_000 - warmup + 1);
        assert_eq!(flow.delivered.packets, 1_000 - warmup);
        assert_eq!(flow.delay.count, flow.delivered.packets);
        assert_eq!(report.classes[0].offered.packets, flow.offered.packets);
        assert_eq!(report.packet_hops, 1_000, "hops count from the start");
    }
}

#[test]
fn a_ports_counters_include_arrivals_at_the_last_instant_of_the_warm_up() {
    for warmup in [0, 1, 250] {
        let mut net = steady();
        net.plan.warmup = ms(warmup);
        let report = net.run();
        let reported = &report.ports[0].classes[0];
        assert_eq!(reported.arrived.packets, 1_000 - warmup + 1, "one for each packet generated");
        assert_eq!(reported.sent.packets, 1_000 - warmup);
        assert_eq!(reported.queued.packets, 1);
        let busy_s = 0.1e-3 * (1_000 - warmup) as f64;
        assert!((report.ports[0].utilisation - busy_s / (report.end_s - report.warmup_s)).abs() < 1e-12);
    }
}

#[test]
fn a_frame_in_transmission_and_a_queue_at_the_warm_ups_end_are_split_there() {
    // Ten packets arrive at once and take 1 ms each; the warm-up ends in the middle of the fourth transmission.
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 8);
    net.plan.framing.mtu = 1000;
    net.flow(a, b, 0, bulk(10_000));
    net.plan.warmup = us(3_500);
    net.plan.end = ms(20);
    let report = net.run();
    let reported = &report.ports[0];
    assert_eq!((reported.classes[0].arrived.packets, reported.classes[0].sent.packets), (0, 7));
    assert!((reported.utilisation - 6.5 / 16.5).abs() < 1e-12);
    assert_eq!(reported.classes[0].max_bytes, 6_000, "the maximum starts anew");
    // 6 packets wait for 0.5 ms, then 5, 4, ... 1 for 1 ms each.
    let area = 6.0 * 0.5 + 15.0;
    assert!((reported.classes[0].mean_bytes - 1000.0 * area / 16.5).abs() < 1e-9);
    assert_eq!((report.flows.row(0).offered.packets, report.flows.row(0).delivered.packets), (0, 0));
}

#[test]
fn a_frame_that_starts_as_the_warm_up_ends_is_not_counted_in_the_queue() {
    // Ten packets arrive at once and take 1 ms each; the fourth transmission starts exactly at the end of the warm-up,
    // so that 6 packets wait at that instant, and 6 + 5 + ... + 1 = 21 packet-milliseconds follow.
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 8);
    net.plan.framing.mtu = 1000;
    net.flow(a, b, 0, bulk(10_000));
    net.plan.warmup = us(3_000);
    net.plan.end = ms(20);
    let report = net.run();
    let reported = &report.ports[0].classes[0];
    assert_eq!((reported.max_bytes, reported.sent.packets), (6_000, 7));
    assert!((report.ports[0].utilisation - 7.0 / 17.0).abs() < 1e-12);
    assert!((reported.mean_bytes - 1000.0 * 21.0 / 17.0).abs() < 1e-9);
}

#[test]
fn losses_and_stops_before_the_warm_ups_end_do_not_count() {
    // The link to the destination is down until 100 ms: all losses and all stops are before the end of the warm-up.
    let mut net = Net::new(ETHERNET);
    let (h, s, d) = (net.host("h"), net.switch("s"), net.host("d"));
    net.link(h, s, 100);
    let drain = net.link(s, d, 100);
    net.limit(s, d, 10 * FRAME);
    net.flow(h, d, 0, cbr(1500, 10_000_000));
    net.change(ms(0), tailback_sim::plan::ChangeKind::LinkDown(drain));
    net.change(ms(100), tailback_sim::plan::ChangeKind::LinkUp(drain));
    let whole = net.run();
    assert!(drops_of(&whole, "s") > 50 && (port(&whole, "s->d").held_s - 0.1).abs() < 0.001);
    net.plan.warmup = ms(200);
    let later = net.run();
    assert_eq!((drops_of(&later, "s"), port(&later, "s->d").held_s, total_drops(&later)), (0, 0.0, 0));
    assert_eq!(later.flows.row(0).drops.len(), 0);
}

#[test]
fn both_engines_agree_whatever_instant_the_warm_up_ends_at() {
    let mut net = Net::new(ETHERNET);
    let (h, s, d) = (net.host("h"), net.switch("s"), net.host("d"));
    net.link(h, s, 100);
    net.link(s, d, 10);
    net.limit(s, d, 20 * FRAME);
    net.flow(h, d, 0, cbr(1500, 12_000_000));
    net.flow(h, d, 0, bursts(20_000, 2_000_000));
    net.plan.sample = Some(Dur::from_ms(3));
    net.plan.end = ms(60);
    // Warm-ups that end on events, and between them; `run` compares the engines.
    let ends = (0..40).map(|k| tx(100, WIRE) * 1 + tx(10, WIRE) * k);
    for warmup in ends.chain((0..40).map(|k| Dur::from_us(777 * k))) {
        net.plan.warmup = tailback_units::Time(warmup.0);
        net.run();
    }
}
