//! Detection, notification and response: which nodes stop, because of which congestion, and which do not.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Time};

/// Returns three branches hi -10- ui (500 kB) -10- s that merge at s (50 kB) -10- d (rates in Mbit/s, in parentheses
/// the buffer of the port to the right). Each hi sends bursts at 3 Mbit/s.
fn merging(backpressure: Option<BackPressure>) -> Net {
    let mut net = Net::new(ETHERNET);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    net.limit(s, d, 50_000);
    net.at_switch(s).backpressure.clone_from(&backpressure);
    for i in 1..=3 {
        let (h, u) = (net.host(&format!("h{i}")), net.switch(&format!("u{i}")));
        net.link(h, u, 10);
        net.link(u, s, 10);
        net.limit(u, s, 500_000);
        net.at_switch(u).backpressure.clone_from(&backpressure);
        net.flow(h, d, 0, bursts(48_000, 3_000_000));
    }
    net.delay(Dur::from_us(1));
    net.plan.end = ms(60_000);
    net
}

#[test]
fn nothing_is_lost_where_all_feeding_ports_obey() {
    assert!(drops_of(&merging(None).run(), "s") > 1_000, "without back-pressure many frames are lost");
    let mac = BackPressure { signal: Signal::Mac { quanta: 65_535 }, ..PLAIN };
    let feeding = BackPressure { notify: Notify::Feeding, ..PLAIN };
    let priority = BackPressure { scope: Scope::Class, ..mac.clone() };
    for backpressure in SCOPES.map(scope).into_iter().chain([mac, feeding, priority]) {
        let report = merging(Some(backpressure.clone())).run();
        assert_eq!(drops_of(&report, "s"), 0, "{backpressure:?}");
        assert!(port(&report, "u1->s").notifications_received > 100, "{backpressure:?}");
        assert!(report.flows.iter().all(|flow| flow.reordered == 0));
    }
}

/// Returns the report of four flows from separate hosts over s1 -100- s2, in the order (class 0, d1), (class 1, d1),
/// (class 0, d2), (class 1, d2). The flow of class 1 to d1 overloads d1's link of 10 Mbit/s; the others have a low
/// load.
fn four_flows(backpressure: Option<BackPressure>) -> Report {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (s1, s2, d1, d2) = (net.switch("s1"), net.switch("s2"), net.host("d1"), net.host("d2"));
    net.link(s1, s2, 100);
    net.link(s2, d1, 10);
    net.link(s2, d2, 100);
    net.limit(s2, d1, 50_000);
    net.limit(s2, d2, 50_000);
    net.at_switch(s2).backpressure = backpressure;
    for (i, (class, to, rate)) in
        [(0, d1, 500_000), (1, d1, 12_000_000), (0, d2, 510_000), (1, d2, 520_000)].into_iter().enumerate()
    {
        let h = net.host(&format!("h{i}"));
        net.link(h, s1, 100);
        net.flow(h, to, class, cbr(1000, rate));
    }
    net.delay(Dur::from_us(1));
    net.run()
}

#[test]
fn each_scope_delays_exactly_the_flows_that_it_stops() {
    let mac = |scope| BackPressure { scope, signal: Signal::Mac { quanta: 1000 }, ..PLAIN };
    let cases = [
        (None, [false, true, false, false]),
        (Some(scope(Scope::Plain)), [true, true, true, true]),
        (Some(scope(Scope::Class)), [false, true, false, true]),
        (Some(scope(Scope::Destination)), [true, true, false, false]),
        (Some(scope(Scope::ClassDestination)), [false, true, false, false]),
        (Some(mac(Scope::Plain)), [true, true, true, true]),
        (Some(mac(Scope::Class)), [false, true, false, true]),
    ];
    for (backpressure, delayed) in cases {
        let report = four_flows(backpressure.clone());
        for (flow, delayed) in report.flows.iter().zip(delayed) {
            // Without stops, a frame waits for at most one other frame at each hop: 0.85 ms at the link of 10 Mbit/s. A
            // stop lasts until a tenth of the buffer, 5 kB, has drained at 10 Mbit/s: 4 ms.
            assert_eq!(max_s(&flow) > 3e-3, delayed, "{}: {} s under {backpressure:?}", flow.name, max_s(&flow));
        }
        assert_eq!(total_drops(&report) > 0, backpressure.is_none(), "{backpressure:?}");
    }
}

/// Returns h -100- s1 (500 kB) -100- s2 (50 kB) -100- s3 (50 kB) -10- d (rates in Mbit/s, in parentheses the buffer of
/// the port to the right). h sends 50 Mbit/s, five times the rate of the last link.
fn chain(backpressure: BackPressure) -> Net {
    let mut net = Net::new(ETHERNET);
    let (h, s1, s2, s3, d) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.switch("s3"), net.host("d"));
    net.link(h, s1, 100);
    net.link(s1, s2, 100);
    net.link(s2, s3, 100);
    net.link(s3, d, 10);
    net.limit(s1, s2, 500_000);
    net.limit(s2, s3, 50_000);
    net.limit(s3, d, 50_000);
    for s in [s1, s2, s3] {
        net.set_backpressure(s, backpressure.clone());
    }
    net.delay(Dur::from_us(1));
    net.flow(h, d, 0, cbr(1500, 50_000_000));
    net
}

#[test]
fn congestion_spreads_upstream_switch_by_switch_to_the_first_whose_neighbour_does_not_stop() {
    for backpressure in SCOPES.map(scope) {
        let report = chain(backpressure).run();
        assert_eq!((drops_of(&report, "s2"), drops_of(&report, "s3")), (0, 0));
        assert!(drops_at(&report, "s1->s2") > 100);
        assert!(port(&report, "s1->s2").notifications_received > 1);
        assert!(port(&report, "s2->s3").notifications_received > 10);
        assert_eq!(port(&report, "h->s1").notifications_received, 0);
    }
}

#[test]
fn with_end_stations_notified_no_frame_is_lost_and_hosts_that_disobey_lose_frames() {
    for backpressure in SCOPES.map(|s| BackPressure { end_stations: true, ..scope(s) }) {
        let mut net = chain(backpressure);
        let report = net.run();
        assert_eq!(total_drops(&report), 0);
        assert!(port(&report, "h->s1").notifications_received > 0);
        assert!(port(&report, "h->s1").held_s > 0.1);
        let NodeKind::Host(host) = &mut net.plan.nodes[0].kind else { unreachable!("h is a host") };
        host.obeys = false;
        let report = net.run();
        assert!(drops_at(&report, "s1->s2") > 100);
        assert_eq!((port(&report, "h->s1").notifications_received, port(&report, "h->s1").held_s), (0, 0.0));
    }
}

/// Returns the report of a switch s whose queue u1 fills. u2 is the other neighbour of s and, if `both`, sends from 500
/// ms on.
fn two_neighbours(notify: Notify, both: bool) -> Report {
    let mut net = Net::new(ETHERNET);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    net.limit(s, d, 50_000);
    net.set_backpressure(s, BackPressure { notify, ..PLAIN });
    for i in [1, 2] {
        let (h, u) = (net.host(&format!("h{i}")), net.switch(&format!("u{i}")));
        net.link(h, u, 10);
        net.link(u, s, 10);
        if i == 1 || both {
            let flow = net.flow(h, d, 0, cbr(1500, 9_900_000));
            net.plan.flows[flow].start = ms(if i == 1 { 0 } else { 500 });
        }
    }
    // s is congested from about 400 ms to the end, so that u2 starts to send while s is congested.
    net.change(ms(400), ChangeKind::LinkDown(0));
    net.run()
}

#[test]
fn with_notify_feeding_only_neighbours_that_feed_the_queue_are_notified() {
    let notified = |report: &Report| [1, 2].map(|i| port(report, &format!("u{i}->s")).notifications_received > 0);
    assert_eq!(notified(&two_neighbours(Notify::All, false)), [true, true]);
    assert_eq!(notified(&two_neighbours(Notify::Feeding, false)), [true, false]);
    let late = two_neighbours(Notify::Feeding, true);
    assert_eq!(notified(&late), [true, true], "a neighbour that begins to feed a congested queue is notified then");
    assert_eq!(drops_of(&late, "s"), 0);
}

/// Returns the number of frames that arrive at the queue of s2 towards s3, in s1 - s2 - s3 with d1 and d2 behind s3.
/// The link from s2 to s3 is down, so that frames for d1 congest the queue. Ten frames for d2 follow at 500 ms.
fn frames_let_through(addresses: Addresses) -> u64 {
    let mut net = Net::new(ETHERNET);
    let (s1, s2, s3) = (net.switch("s1"), net.switch("s2"), net.switch("s3"));
    net.link(s1, s2, 100);
    let cut = net.link(s2, s3, 100);
    net.limit(s2, s3, 50_000);
    net.set_backpressure(s2, BackPressure { addresses, partition: false, ..scope(Scope::Destination) });
    for (i, rate) in [(1, 20_000_000), (2, 10_000_000)] {
        let (h, d) = (net.host(&format!("h{i}")), net.host(&format!("d{i}")));
        net.link(h, s1, 10);
        net.link(s3, d, 10);
        let flow = net.flow(h, d, 0, if i == 1 { cbr(1500, rate) } else { bulk(15_000) });
        net.plan.flows[flow].start = ms(if i == 1 { 0 } else { 500 });
    }
    net.change(Time::ZERO, ChangeKind::LinkDown(cut));
    let report = net.run();
    assert_eq!(total_drops(&report), 0);
    port(&report, "s2->s3").classes[0].arrived.packets
}

#[test]
fn the_filtering_database_also_stops_addresses_that_have_no_frame_in_the_buffer() {
    // With addresses from the buffer, d2 is stopped only when its first frame is in the buffer.
    assert_eq!(frames_let_through(Addresses::Buffer), frames_let_through(Addresses::FilteringDatabase) + 1);
}

#[test]
fn a_partitioned_buffer_shields_a_flow_from_a_stopped_destination_and_a_shared_one_does_not() {
    let report = |partition: bool| {
        let mut net = Net::new(ETHERNET);
        let (s1, s2, d1, d2) = (net.switch("s1"), net.switch("s2"), net.host("d1"), net.host("d2"));
        net.link(s1, s2, 100);
        net.link(s2, d1, 10);
        net.link(s2, d2, 100);
        net.limit(s1, s2, 500_000);
        net.limit(s2, d1, 50_000);
        net.limit(s2, d2, 50_000);
        for s in [s1, s2] {
            net.set_backpressure(s, BackPressure { partition, ..scope(Scope::Destination) });
        }
        for (name, to, model) in [("h1", d1, cbr(1500, 30_000_000)), ("h2", d2, bursts(6_000, 10_000_000))] {
            let h = net.host(name);
            net.link(h, s1, 100);
            net.flow(h, to, 0, model);
        }
        net.plan.end = ms(5_000);
        net.run()
    };
    let (partitioned, shared) = (report(true), report(false));
    assert_eq!(partitioned.flows.row(1).dropped.packets, 0);
    assert!(max_s(&partitioned.flows.row(1)) < 10e-3, "{}", max_s(&partitioned.flows.row(1)));
    assert!(loss(&shared.flows.row(1)) > 0.3, "{}", loss(&shared.flows.row(1)));
    assert_eq!(drops_of(&partitioned, "s2") + drops_of(&shared, "s2"), 0);
}

#[test]
fn watermarks_of_70_and_80_percent_cost_no_throughput() {
    for backpressure in [None, Some(scope(Scope::Plain)), Some(scope(Scope::Destination))] {
        let mut net = Net::new(ETHERNET);
        let (h, s1, s2, d) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.host("d"));
        net.link(h, s1, 100);
        net.link(s1, s2, 100);
        net.link(s2, d, 10);
        net.limit(s2, d, 50_000);
        net.at_switch(s2).backpressure = backpressure.clone();
        net.flow(h, d, 0, poisson(1500, 30_000_000));
        net.plan.warmup = ms(500);
        net.plan.end = ms(5_000);
        let report = net.run();
        assert_eq!(port(&report, "s2->d").utilisation, 1.0, "{backpressure:?}");
    }
}

/// Returns the bytes of a flow to d3 that were delivered by 300, 590 and 900 ms. d3's link is always up. Two other
/// destinations behind the same switch s2 are cut off: the link of d1 comes up at 300 ms, that of d2 at 600 ms.
fn deliveries_to_the_third(backpressure: BackPressure) -> [u64; 3] {
    let mut net = Net::new(ETHERNET);
    let (s1, s2) = (net.switch("s1"), net.switch("s2"));
    net.link(s1, s2, 100);
    net.set_backpressure(s2, backpressure);
    for i in 1..=3 {
        let (h, d) = (net.host(&format!("h{i}")), net.host(&format!("d{i}")));
        net.link(h, s1, 100);
        let link = net.link(s2, d, 100);
        net.limit(s2, d, 50_000);
        net.flow(h, d, 0, cbr(1500, 10_000_000));
        if i < 3 {
            net.change(Time::ZERO, ChangeKind::LinkDown(link));
            net.change(ms(300 * i), ChangeKind::LinkUp(link));
        }
    }
    net.delay(Dur::from_us(1));
    net.plan.sample = Some(Dur::from_ms(10));
    let report = net.run();
    assert_eq!(total_drops(&report), 0);
    let delivered = &report.series.as_ref().unwrap().flows[&report.flows.row(2).group].delivered_bytes;
    [delivered[29], delivered[58], delivered[89]]
}

#[test]
fn a_port_that_two_queues_have_stopped_resumes_only_when_both_are_relieved() {
    let mac = BackPressure { signal: Signal::Mac { quanta: 1000 }, ..PLAIN };
    for backpressure in [PLAIN, mac] {
        let [both_congested, one_congested, relieved] = deliveries_to_the_third(backpressure);
        assert_eq!(both_congested, one_congested, "one queue is still congested");
        assert!(relieved > one_congested + 100_000, "{relieved} after {one_congested}");
    }
}
