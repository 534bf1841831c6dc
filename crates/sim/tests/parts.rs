//! A run in parts gives exactly the report of the whole run, with a case for everything that can cross a link between
//! parts. Random networks are in `random_networks`, the gallery's scenarios in the Python tests.

use crate::common::*;
use serde_json::json;
use std::sync::Arc;
use tailback_sim::plan::*;
use tailback_sim::{Parts, Report};
use tailback_transport::Tcp;
use tailback_units::Dur;

/// Returns a row of switches with `hosts_each` hosts at each, without flows: the network, the switches and the hosts,
/// in the order of the row. Link 0 joins the first two switches. All links have the rate `mbit` Mbit/s and the delay
/// `delay`.
fn row(switches: usize, hosts_each: usize, mbit: u64, delay: Dur) -> (Net, Vec<NodeId>, Vec<NodeId>) {
    let mut net = Net::new(ETHERNET);
    net.plan.end = ms(300);
    net.plan.warmup = ms(50);
    let row: Vec<NodeId> = (0..switches).map(|i| net.switch(&format!("s{i}"))).collect();
    for pair in row.windows(2) {
        net.link(pair[0], pair[1], mbit);
    }
    let mut hosts = Vec::new();
    for (i, s) in row.iter().enumerate() {
        for k in 0..hosts_each {
            let h = net.host(&format!("h{i}{k}"));
            net.link(h, *s, mbit);
            hosts.push(h);
        }
    }
    net.delay(delay);
    (net, row, hosts)
}

/// Checks that runs in at most 1, 2, 3 and 4 parts give the report of the whole run. Returns the report, and the number
/// of parts of the last of these runs, which may be less than 4.
#[track_caller]
fn agrees_in_parts(net: &Net) -> (Report, usize) {
    let report = net.run();
    let parts = [1, 2, 3, 4].map(|most| same_in_parts(net.routed(), &report, most));
    let plain = Plan { engine: Engine::Plain, ..net.routed() };
    assert_eq!(same_in_parts(plain, &report, 2), parts[1]);
    assert!(parts.is_sorted(), "{parts:?}");
    (report, parts[3])
}

#[test]
fn datagrams_between_parts_give_the_report_of_the_whole_run() {
    let (mut net, row, hosts) = row(4, 2, 100, Dur::from_us(5));
    net.limit(row[1], row[2], 30_000);
    for (i, h) in hosts.iter().enumerate() {
        net.flow(*h, hosts[(i + 3) % hosts.len()], 0, poisson(900, 30_000_000));
        net.flow(*h, hosts[(i + 5) % hosts.len()], 0, bursts(20_000, 10_000_000));
    }
    net.plan.per_flow_delay = true;
    net.plan.delay_variation = true;
    net.plan.sample = Some(Dur::from_ms(1));
    net.plan.record = Record::of(RECORDS, 5_000);
    let (report, parts) = agrees_in_parts(&net);
    assert!(total_drops(&report) > 100 && parts == 4);
}

#[test]
fn frames_lost_on_a_link_between_parts_at_random_or_when_it_goes_down_are_counted_once() {
    let (mut net, _, hosts) = row(2, 3, 10, Dur::from_ms(2));
    for (i, h) in hosts.iter().enumerate() {
        net.flow(*h, hosts[(i + 3) % 6], 0, poisson(700, 4_000_000));
    }
    net.plan.links[1..].iter_mut().for_each(|link| link.delay = Dur::from_us(50));
    net.plan.links[0].loss = 0.05;
    for i in 0..8 {
        net.change(us(40_000 + 30_000 * i), ChangeKind::LinkDown(0));
        // The link is down for 0.8 to 6.4 ms, less and more than its delay of 2 ms.
        net.change(us(40_000 + 30_000 * i + 800 * (i + 1)), ChangeKind::LinkUp(0));
    }
    net.change(ms(100), ChangeKind::LinkDelay(0, Dur::from_us(300)));
    net.change(ms(150), ChangeKind::LinkRate(0, tailback_units::Rate::mbit(50)));
    net.change(ms(160), ChangeKind::FlowStop(1));
    net.change(ms(200), ChangeKind::FlowStart(1));
    net.plan.sample = Some(Dur::from_ms(3));
    let (report, _) = agrees_in_parts(&net);
    assert_eq!(Parts::new(net.routed(), 2).partition().cut(), [0]);
    let lost = |name: &str| port(&report, name).lost_on_line.packets;
    assert!(lost("s0->s1") > 20 && lost("s1->s0") > 20);
    let reasons: Vec<String> = report.flows.iter().flat_map(|f| f.drops).map(|drop| drop.reason).collect();
    let is_given = |reason: &str| reasons.iter().any(|given| given == reason);
    assert!(is_given("link loss") && is_given("link down"), "{reasons:?}");
}

#[test]
fn back_pressure_of_every_scope_and_signal_between_parts_gives_the_report_of_the_whole_run() {
    let mut control_frames = 0;
    for (stopped, quanta) in SCOPES.into_iter().flat_map(|s| [(s, None), (s, Some(40)), (s, Some(65_535))]) {
        // PAUSE frames carry no addresses.
        let by_address = matches!(stopped, Scope::Destination | Scope::ClassDestination);
        if by_address && quanta.is_some() {
            continue;
        }
        let (mut net, row, hosts) = row(3, 2, 10, Dur::from_us(20));
        let signal = quanta.map_or(Signal::OnOff, |quanta| Signal::Mac { quanta });
        for s in &row {
            net.set_backpressure(
                *s,
                BackPressure { signal, end_stations: true, response_time: Dur::from_us(7), ..scope(stopped) },
            );
        }
        net.plan.links.iter_mut().for_each(|link| link.queue.iter_mut().for_each(|q| q.limits.fill(30_000)));
        for h in &hosts[..4] {
            net.flow(*h, hosts[5], 0, bursts(40_000, 6_000_000));
            net.flow(hosts[4], *h, 0, poisson(400, 1_000_000));
        }
        net.change(ms(100), ChangeKind::Thresholds { node: row[2], high: 0.5, low: 0.2 });
        net.change(ms(150), ChangeKind::LinkDown(1));
        net.change(ms(157), ChangeKind::LinkUp(1));
        net.change(ms(200), ChangeKind::PauseStorm { node: hosts[5], on: true });
        net.change(ms(210), ChangeKind::PauseStorm { node: hosts[5], on: false });
        let (report, parts) = agrees_in_parts(&net);
        assert!(report.control_frames > 20 && parts > 1, "{stopped:?} {quanta:?}: {}", report.control_frames);
        control_frames += report.control_frames;
    }
    assert!(control_frames > 1000);
}

#[test]
fn crossbars_with_back_pressure_in_both_parts_give_the_report_of_the_whole_run() {
    let limited = Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer: 20_000, speedup: 1.5 };
    let one_memory = Fabric::VirtualOutputQueues { buffer: 30_000, output_buffer: UNLIMITED, speedup: 1.0 };
    let fifo = Fabric::InputFifo { buffer: 30_000 };
    let cases = SCOPES.into_iter().map(|stopped| (limited.clone(), stopped));
    for (fabric, stopped) in cases.chain([(one_memory, Scope::Destination), (fifo, Scope::Plain)]) {
        let (mut net, row, hosts) = row(3, 2, 10, Dur::from_us(20));
        for s in &row {
            net.at_switch(*s).fabric = fabric.clone();
            net.set_backpressure(
                *s,
                BackPressure { end_stations: true, response_time: Dur::from_us(7), ..scope(stopped) },
            );
        }
        for h in &hosts[..4] {
            net.flow(*h, hosts[5], 0, bursts(40_000, 6_000_000));
            net.flow(hosts[4], *h, 0, poisson(400, 1_000_000));
        }
        net.change(ms(100), ChangeKind::Thresholds { node: row[2], high: 0.5, low: 0.2 });
        net.change(ms(150), ChangeKind::LinkDown(1));
        net.change(ms(157), ChangeKind::LinkUp(1));
        net.plan.sample = Some(Dur::from_ms(1));
        let (report, parts) = agrees_in_parts(&net);
        assert!(report.control_frames > 20 && parts > 1, "{fabric:?} {stopped:?}: {}", report.control_frames);
    }
}

#[test]
fn switches_of_every_model_in_all_parts_give_the_report_of_the_whole_run() {
    let fabrics = [
        Fabric::SharedMemory { memory: 40_000, alpha: 1.0 },
        Fabric::InputFifo { buffer: 20_000 },
        Fabric::VirtualOutputQueues { buffer: 20_000, output_buffer: UNLIMITED, speedup: 1.5 },
        Fabric::CutThrough { header: 64 },
    ];
    for fabric in fabrics {
        let (mut net, row, hosts) = row(3, 2, 10, Dur::from_us(3));
        for s in &row {
            net.at_switch(*s).fabric = fabric.clone();
            net.at_switch(*s).latency = Dur::from_us(4);
        }
        for (i, h) in hosts.iter().enumerate() {
            net.flow(*h, hosts[(i + 2) % 6], 0, poisson(900, 5_000_000));
            net.flow(*h, hosts[(i + 4) % 6], 0, bursts(9_000, 2_000_000));
        }
        let (_, parts) = agrees_in_parts(&net);
        assert!(parts > 2, "{fabric:?}");
    }
}

/// Returns a network with TCP connections in both directions between two switches, whose ports to each other have a
/// buffer of 30 kB. `document` has the parameters of the connections.
fn connections(document: serde_json::Value) -> Net {
    let (mut net, row, hosts) = row(2, 3, 50, Dur::from_ms(1));
    net.plan.end = ms(3_000);
    net.limit(row[0], row[1], 30_000);
    net.limit(row[1], row[0], 30_000);
    let tcp: Arc<Tcp> = tcp(document);
    for (i, h) in hosts.iter().enumerate() {
        let bytes = if i % 2 == 0 { 40_000_000 } else { 100_000 };
        let flow = net.flow(*h, hosts[(i + 3) % 6], 0, bulk(bytes));
        net.plan.flows[flow].transport = Some(tcp.clone());
        net.plan.flows[flow].probe = true;
        let short = net.flow(*h, hosts[(i + 4) % 6], 0, bursts(30_000, 1_000_000));
        net.plan.flows[short].transport = Some(tcp.clone());
    }
    net.plan.sample = Some(Dur::from_ms(50));
    net
}

#[test]
fn tcp_connections_between_parts_give_the_report_of_the_whole_run() {
    let mut net = connections(json!({ "recovery": { "kind": "sack" }, "segment": "1000B" }));
    net.plan.links[0].loss = 0.002;
    net.change(ms(900), ChangeKind::LinkDown(0));
    // The link is down for 0.4 s, longer than any timeout of an established connection in this test.
    net.change(ms(1_300), ChangeKind::LinkUp(0));
    let (report, parts) = agrees_in_parts(&net);
    let sum = |get: fn(&tailback_sim::TransportReport) -> u64| -> u64 {
        report.flows.iter().filter_map(|flow| flow.transport).map(|transport| get(&transport)).sum()
    };
    let seen @ [fast_retransmits, timeouts, acks_lost] =
        [sum(|t| t.fast_retransmits), sum(|t| t.timeouts), sum(|t| t.acks_lost)];
    assert!(fast_retransmits > 20 && timeouts > 0 && acks_lost > 0, "{seen:?}");
    assert!(report.completions.values().map(|c| c.count).sum::<u64>() > 20);
    assert!(parts > 1);
}

#[test]
fn only_the_paths_of_flows_with_telemetry_are_kept_in_one_part() {
    let mut net = connections(json!({ "recovery": { "kind": "newreno" } }));
    let hpcc = tcp(json!({ "congestion-control": { "kind": "hpcc", "base-rtt": "3ms" }, "segment": "1000B" }));
    let flow = net.flow(2, 3, 0, bulk(10_000_000));
    net.plan.flows[flow].transport = Some(hpcc);
    let (_, parts) = agrees_in_parts(&net);
    let partition = Parts::new(net.routed(), 2).partition().clone();
    assert_eq!(partition.part_of(0), partition.part_of(2), "the first switch of the flow's path, and its source");
    assert!(parts > 1);
}

#[test]
fn nodes_that_share_state_stay_in_one_part_and_others_may_be_divided() {
    let (mut net, row, hosts) = row(4, 2, 100, Dur::from_us(50));
    let web = application(json!({
        "kind": "web", "request": { "kind": "fixed", "size": "300B" }, "main": { "kind": "fixed", "size": "20kB" },
        "object": { "kind": "fixed", "size": "9kB" }, "objects": { "kind": "geometric", "mean": 3.0 }, "parallel": 2,
        "service": { "kind": "exponential", "mean": "1ms" }, "think": { "kind": "exponential", "mean": "5ms" },
    }));
    net.session(hosts[0], hosts[2], &web, Some(&tcp(json!({}))));
    net.session(hosts[4], hosts[6], &web, None);
    let transfers = application(json!({
        "kind": "transfers", "size": { "kind": "exponential", "mean": "20kB" }, "interval": "3ms",
    }));
    net.transfers(hosts[5], hosts[7], &transfers, &tcp(json!({})), 4);
    net.flow(hosts[1], hosts[7], 0, poisson(500, 20_000_000));
    let (report, parts) = agrees_in_parts(&net);
    assert!(report.applications.values().all(|group| group.time.count > 10));
    let partition = Parts::new(net.routed(), 2).partition().clone();
    for (a, b) in [(0, 2), (4, 6), (5, 7)] {
        assert_eq!(partition.part_of(hosts[a]), partition.part_of(hosts[b]));
    }
    assert!(parts > 1 && partition.parts() == 2);
    // With a shared buffer, a stopped port reads the state of the switch that stops it, so that all are in one part.
    let buffer = SharedBufferPlan { memory: 200_000, shift: 2, reserve: 3_000, resume: 3_000, headroom: None };
    for s in &row {
        net.at_switch(*s).fabric = Fabric::SharedBuffer(buffer);
        net.set_backpressure(*s, BackPressure { signal: Signal::Mac { quanta: 65_535 }, ..scope(Scope::Class) });
    }
    assert_eq!(Parts::new(net.routed(), 4).partition().parts(), 1);
}

#[test]
fn without_lookahead_there_is_one_part() {
    let (mut net, _, hosts) = row(3, 1, 100, Dur::ZERO);
    net.flow(hosts[0], hosts[2], 0, poisson(500, 20_000_000));
    let (_, parts) = agrees_in_parts(&net);
    assert!(parts > 1, "the transmission time of a frame gives lookahead");
    net.plan.links.iter_mut().for_each(|link| link.rate = [tailback_units::Rate(10_000_000_000_000_000); 2]);
    net.plan.framing = Framing { buffer: Length::Payload, ..RAW };
    assert_eq!(
        Parts::new(net.routed(), 3).partition().parts(),
        1,
        "a byte takes 0.8 fs at 10^16 bit/s, less than the resolution of 1 ps, so there is no lookahead"
    );
}

#[test]
fn parts_without_a_link_between_them_run_to_the_end_independently() {
    let (mut net, _, hosts) = row(2, 2, 100, Dur::from_us(1));
    net.plan.links.remove(0);
    net.flow(hosts[0], hosts[1], 0, poisson(500, 20_000_000));
    net.flow(hosts[3], hosts[2], 0, poisson(500, 20_000_000));
    net.change(ms(100), ChangeKind::FlowStop(1));
    let (_, parts) = agrees_in_parts(&net);
    assert!(parts > 1);
    let parts = Parts::new(net.routed(), 2);
    assert!(parts.partition().cut().is_empty() && parts.limit(ms(1)).is_some_and(|limit| limit > us(1_200)));
}
