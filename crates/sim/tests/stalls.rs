//! Every stop ends: no port waits for an event that never comes. Extreme but valid plans neither panic nor need memory
//! or time without bound.

use crate::common::*;
use tailback_sim::World;
use tailback_sim::plan::*;
use tailback_units::{Dur, Rate, Time};

/// Returns h -100- u -100- s (50 kB) -10- d (rates in Mbit/s, in parentheses the buffer of s towards d) with a transfer
/// of 2 MB, which takes 1.6 s at 10 Mbit/s without headers.
fn transfer(backpressure: BackPressure) -> Net {
    let mut net = Net::new(ETHERNET);
    let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
    net.link(h, u, 100);
    net.link(u, s, 100);
    net.link(s, d, 10);
    net.limit(s, d, 50_000);
    net.set_backpressure(s, backpressure);
    net.delay(Dur::from_us(1));
    net.flow(h, d, 0, bulk(2_000_000));
    net.plan.end = ms(4_000);
    net
}

/// Checks that flow 0 loses nothing and is complete at the end.
#[track_caller]
fn all_arrives(net: &Net) {
    let report = net.run();
    let flow = &report.flows.row(0);
    assert_eq!(flow.delivered.packets, flow.offered.packets, "{flow:?}");
}

#[test]
fn an_empty_queue_is_relieved_whatever_its_low_watermark() {
    for low in [0.0, 1e-9, 0.01] {
        all_arrives(&transfer(BackPressure { detection: Detection::Watermark { high: 0.8, low }, ..PLAIN }));
    }
}

#[test]
fn a_forecast_from_old_growth_stops_no_port_for_ever() {
    // The buffer may drain within the window in which growth is measured, so that the forecast is from old growth.
    for (window, horizon) in [(2, 5), (200, 5), (50, 5_000), (1, 60_000)] {
        let (window, horizon) = (Dur::from_ms(window), Dur::from_ms(horizon));
        for end_stations in [false, true] {
            let detection = Detection::FillRate { high: 0.8, low: 0.7, window, horizon };
            all_arrives(&transfer(BackPressure { detection, end_stations, ..PLAIN }));
        }
    }
}

#[test]
fn a_link_that_fails_while_it_carries_a_notification_resumes_when_it_is_up_again() {
    for backpressure in [
        PLAIN,
        scope(Scope::Class),
        scope(Scope::Destination),
        BackPressure { signal: Signal::Mac { quanta: 65_535 }, ..PLAIN },
    ] {
        for response_time in [Dur::ZERO, Dur::from_ms(1)] {
            // The link from u to s fails at 40 instants 0.5 ms apart, which cover a cycle of stopping and resuming. Its
            // delay is 1 ms, so that each kind of notification is in flight at some failure. The link to d stays up:
            // frames that are not lost are delivered.
            for k in 0..40 {
                let mut net = transfer(BackPressure { response_time, ..backpressure.clone() });
                net.plan.links[1].delay = Dur::from_ms(1);
                net.limit(3, 2, UNLIMITED);
                let down = us(100_000 + 500 * k);
                net.change(down, ChangeKind::LinkDown(1));
                net.change(down + Dur::from_us(700), ChangeKind::LinkUp(1));
                let report = net.run();
                let flow = &report.flows.row(0);
                assert_eq!(flow.in_network.packets, 0, "phase {k}: {flow:?}");
                let lost = flow.drops.iter().filter(|d| d.reason == "link down").map(|d| d.packets).sum::<u64>();
                assert!(lost <= 9, "more than 1 ms of frames at 100 Mbit/s: {flow:?}");
            }
        }
    }
}

#[test]
fn a_neighbour_whose_link_comes_up_is_notified_of_congestion_that_began_while_it_was_down() {
    for signal in [Signal::OnOff, Signal::Mac { quanta: 1000 }] {
        // u1 fills the queue of s to d, whose link is down; u2's link comes up later, and u2 must then be stopped.
        let mut net = Net::new(ETHERNET);
        let (s, d) = (net.switch("s"), net.host("d"));
        let drain = net.link(s, d, 10);
        net.limit(s, d, 50_000);
        net.set_backpressure(s, BackPressure { signal, ..PLAIN });
        net.change(Time::ZERO, ChangeKind::LinkDown(drain));
        for i in [1, 2] {
            let (h, u) = (net.host(&format!("h{i}")), net.switch(&format!("u{i}")));
            net.link(h, u, 10);
            let link = net.link(u, s, 10);
            let flow = net.flow(h, d, 0, cbr(1500, 9_000_000));
            net.plan.flows[flow].start = ms(if i == 1 { 0 } else { 400 });
            if i == 2 {
                net.change(Time::ZERO, ChangeKind::LinkDown(link));
                net.change(ms(600), ChangeKind::LinkUp(link));
            }
        }
        net.change(ms(2_000), ChangeKind::LinkUp(drain));
        net.plan.flows.iter_mut().for_each(|flow| flow.stop = ms(1_000));
        net.plan.end = ms(1_900);
        let stopped = net.run();
        assert_eq!(total_drops(&stopped), 0, "both neighbours are stopped");
        net.plan.end = ms(5_000);
        let report = net.run();
        assert!(report.flows.iter().all(|flow| flow.delivered.packets == flow.offered.packets));
    }
}

#[test]
fn notifications_do_not_accumulate_at_a_link_that_is_down() {
    // One quantum is 5.12 us at 100 Mbit/s, so that a stop needs many PAUSE frames, which must not queue up.
    let mut net = transfer(BackPressure { signal: Signal::Mac { quanta: 1 }, ..PLAIN });
    net.change(ms(100), ChangeKind::LinkDown(2));
    net.change(ms(200), ChangeKind::LinkDown(1));
    net.change(ms(1_200), ChangeKind::LinkUp(1));
    net.change(ms(1_200), ChangeKind::LinkUp(2));
    let report = net.run();
    assert_eq!(report.flows.row(0).in_network.packets, 0);
    // No more frames than fit into 2 s at 100 Mbit/s, where a byte takes 80 ns.
    assert!(report.control_frames < 2_000_000_000 / (u64::from(PAUSE) * 80), "{}", report.control_frames);
}

#[test]
fn a_limiter_that_becomes_ready_during_a_frame_of_another_class_sends_after_that_frame() {
    // Class 1 is slowed to half of the link's rate to the end; class 0 has a frame every 24 ms on average. If a frame
    // of class 0 is in transmission when class 1 may send, class 1 must not wait for the next frame of class 0.
    let response = Response::Rate { decrease: 0.5, floor: 0.5, increase: 0.5, interval: Dur::from_ms(1000) };
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (u, s, d) = (net.switch("u"), net.switch("s"), net.host("d"));
    net.link(u, s, 100);
    let drain = net.link(s, d, 100);
    net.queue(s, d).limits[1] = 50_000;
    net.set_backpressure(s, BackPressure { response, ..scope(Scope::Class) });
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    for class in 0..2 {
        let h = net.host(&format!("h{class}"));
        net.link(h, u, 1000);
        net.flow(h, d, class, poisson(1500, if class == 0 { 500_000 } else { 25_000_000 }));
    }
    net.plan.warmup = ms(100);
    net.plan.end = ms(900);
    let class = &net.run().ports[0].classes[1];
    assert!(class.max_bytes < 20 * FRAME, "{class:?}");
}

#[test]
fn plans_without_flows_links_warm_up_or_time_give_empty_reports() {
    let empty = Net::new(ETHERNET).run();
    assert!(empty.flows.is_empty() && empty.ports.is_empty() && empty.nodes.is_empty());
    let mut net = Net::new(ETHERNET);
    let (a, b) = (net.host("a"), net.host("b"));
    net.switch("alone");
    assert_eq!(net.run().nodes.len(), 3);
    net.link(a, b, 100);
    let idle = net.run();
    assert_eq!((idle.packet_hops, idle.ports[0].utilisation), (0, 0.0));
    net.flow(a, b, 0, cbr(1000, 1_000_000));
    net.plan.end = Time::ZERO;
    let instant = net.run();
    assert_eq!((instant.flows.row(0).offered.packets, instant.flows.row(0).in_network.packets), (1, 1));
    net.plan.warmup = ms(10);
    net.plan.end = ms(10);
    let unmeasured = net.run();
    assert_eq!(unmeasured.ports[0].utilisation, 0.0);
    assert!(unmeasured.flows.row(0).delay.mean_s.is_none());
}

#[test]
fn a_burst_of_a_gigabyte_is_cut_into_packets_and_counted() {
    let mut net = Net::new(ETHERNET);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 10_000);
    net.flow(a, b, 0, bulk(1_000_000_000));
    net.plan.end = ms(900);
    let report = net.run_merged();
    assert_eq!(report.flows.row(0).offered.bytes, 1_000_000_000);
    assert_eq!(report.flows.row(0).delivered.bytes, 1_000_000_000);
    // A queue of 100 frames and one frame in transmission: the remainder of the burst is lost at once.
    net.limit(0, 1, 100 * FRAME);
    assert_eq!(net.run().flows.row(0).delivered.packets, 101);
}

#[test]
fn the_slowest_and_the_fastest_links_neither_overflow_nor_divide_by_zero() {
    for (rate, packets) in [(1, 40_000), (10_000_000_000_000, 100)] {
        let mut net = Net::new(ETHERNET);
        let (a, s, b) = (net.host("a"), net.switch("s"), net.host("b"));
        net.link(a, s, 1);
        net.link(s, b, 1);
        net.plan.links.iter_mut().for_each(|link| link.rate = [Rate(rate); 2]);
        net.flow(a, b, 0, bulk(1500 * packets));
        let report = net.run();
        assert_eq!(report.flows.row(0).offered.packets, packets);
    }
}

#[test]
fn flows_send_only_between_their_starts_and_stops() {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 100);
    // A packet per millisecond from 0 to 100 ms, from 300 to 400 ms, and from 600 to 710 ms (with a restart in
    // between).
    net.flow(a, b, 0, cbr(1000, 8_000_000));
    for (at, start) in [(100, false), (300, true), (400, false), (600, true), (610, true), (710, false), (800, false)] {
        net.change(ms(at), if start { ChangeKind::FlowStart(0) } else { ChangeKind::FlowStop(0) });
    }
    net.plan.sample = Some(Dur::from_ms(50));
    let report = net.run();
    let reported = &report.series.as_ref().unwrap().flows[&report.flows.row(0).group].delivered_bytes;
    // A change is handled after the emissions of sources at the same instant, so both ends of a phase count: 101
    // packets in the first phase and in the second. In the third, 10 and that at 610 ms precede the restart, and 101
    // follow it.
    let sent: Vec<u64> = reported.windows(2).map(|w| (w[1] - w[0]) / 1000).collect();
    assert_eq!(sent[..4], [50, 1, 0, 0], "{sent:?}");
    assert_eq!(sent[6..9], [50, 1, 0], "{sent:?}");
    assert_eq!(sent.iter().sum::<u64>() + reported[0] / 1000, 101 + 101 + 10 + 1 + 101, "{sent:?}");
}

/// Returns the plan of a star of `n` hosts, each of which sends to the next one.
fn star(n: usize, fabric: Fabric) -> Plan {
    let mut net = Net::new(ETHERNET);
    let s = net.switch("s");
    net.at_switch(s).fabric = fabric;
    for i in 1..=n {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
    }
    for i in 1..=n {
        net.flow(i as NodeId, (i % n + 1) as NodeId, 0, cbr(1500, 10_000_000));
    }
    net.plan.end = ms(20);
    net.plan.sample = Some(Dur::from_ms(5));
    // A search for routes would itself be quadratic; here the only link of each host is its route.
    let to = |from: usize, to: usize| if from == 0 { to.wrapping_sub(1) as u32 } else { from as u32 - 1 };
    net.plan.routes = (0..=n).map(|from| (0..=n).map(|d| to(from, d)).collect()).collect::<Vec<Vec<u32>>>().into();
    net.plan
}

#[test]
fn stars_of_thousands_of_ports_need_no_work_that_is_quadratic_in_the_ports() {
    // Work that is quadratic in the number of ports for each frame, name or neighbour would take minutes.
    for (n, fabric) in [
        (4_000, Fabric::OutputQueued),
        (400, Fabric::VirtualOutputQueues { buffer: 1_000_000, output_buffer: UNLIMITED, speedup: 1.0 }),
    ] {
        let mut world = World::new(star(n, fabric));
        to_end(&mut world);
        let report = world.report();
        assert_eq!(total_drops(&report), 0);
        assert!(report.packet_hops as usize > 30 * n);
    }
}
