//! Switch models: throughput, delay and memory, compared with closed forms and hand calculations.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Rate};

/// Length of a packet, bytes.
const SIZE: u32 = 1000;
/// Transmission time of a packet of [`SIZE`] at 1 Gbit/s, microseconds.
const SLOT_US: u64 = 8;

/// Returns a star of `n` hosts with links of 1 Gbit/s. Each host sends Poisson traffic at the same rate to every host;
/// the sum over the destinations is the fraction `load` of its link.
fn uniform(n: usize, load: f64, fabric: Fabric) -> Net {
    let mut net = Net::new(RAW);
    let s = net.switch("s");
    net.at_switch(s).fabric = fabric;
    let hosts: Vec<NodeId> = (0..n).map(|i| net.host(&format!("h{i}"))).collect();
    for host in &hosts {
        net.link(*host, s, 1000);
    }
    let bps = (load * 1e9 / n as f64) as u64;
    for from in &hosts {
        for to in &hosts {
            // Hosts also send to themselves through the switch: in the classical model every input sends to every
            // output.
            net.flow(*from, *to, 0, poisson(u64::from(SIZE), bps));
        }
    }
    net
}

/// Returns the reports of `replications` runs of a star. A packet of a host to itself, too, is routed over the switch.
fn runs(net: &Net, replications: u64) -> Vec<Report> {
    let plan = net.routed();
    let to = |node: usize, d: usize| if node == 0 { d.wrapping_sub(1) as u32 } else { node as u32 - 1 };
    let nodes = plan.nodes.len();
    let routes: Vec<Vec<u32>> = (0..nodes).map(|n| (0..nodes).map(|d| to(n, d)).collect()).collect();
    (1..=replications).map(|seed| run(Plan { seed, routes: routes.clone().into(), ..plan.clone() })).collect()
}

/// Returns the mean utilisation of the switch's outputs.
fn throughput(report: &Report) -> f64 {
    let outputs = report.ports.iter().filter(|port| port.node == "s").map(|port| port.utilisation);
    let (sum, n) = outputs.fold((0.0, 0), |(sum, n), utilisation| (sum + utilisation, n + 1));
    sum / f64::from(n)
}

#[test]
fn input_fifos_saturate_where_karol_hluchyj_and_morgan_say() {
    // Table 1 of Karol, Hluchyj and Morgan (IEEE Transactions on Communications 35(12), 1987); the limit is 2 - sqrt 2
    // = 0.586.
    for (n, saturation) in [(2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)] {
        let mut net = uniform(n, 1.3, Fabric::InputFifo { buffer: 100_000 });
        net.plan.warmup = us(500 * SLOT_US);
        net.plan.end = us(20_000 * SLOT_US);
        agrees(over(&runs(&net, 10), throughput), saturation, 0.01);
    }
    let mut net = uniform(24, 1.2, Fabric::InputFifo { buffer: 100_000 });
    net.plan.warmup = us(500 * SLOT_US);
    net.plan.end = us(4_000 * SLOT_US);
    let measured = over(&runs(&net, 10), throughput);
    assert!(
        measured.lo() > 0.5858 && measured.hi() < 0.6184,
        "between the saturation of 8 and of infinitely many ports: {measured:?}"
    );
}

#[test]
fn virtual_output_queues_at_speed_up_2_and_output_queues_keep_saturated_outputs_busy() {
    for fabric in [
        Fabric::VirtualOutputQueues { buffer: 100_000_000, output_buffer: UNLIMITED, speedup: 2.0 },
        Fabric::OutputQueued,
    ] {
        let mut net = uniform(16, 1.1, fabric.clone());
        net.plan.warmup = us(8_000 * SLOT_US);
        net.plan.end = us(16_000 * SLOT_US);
        let measured = over(&runs(&net, 5), throughput);
        assert!(measured.lo() >= 0.99, "{fabric:?}: {measured:?}");
    }
}

#[test]
fn a_lone_input_shares_its_crossing_evenly_among_its_outputs() {
    // One host of 1 Gbit/s sends 100 Mbit/s to each of four outputs of 100 Mbit/s. At speed-up 1 its frames of 1000 B
    // cross one at a time at 100 Mbit/s: 12,500 frames in 1 s, a quarter of them for each output.
    let mut net = Net::new(RAW);
    let (s, h) = (net.switch("s"), net.host("h"));
    net.at_switch(s).fabric = Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer: UNLIMITED, speedup: 1.0 };
    net.link(h, s, 1000);
    for i in 0..4 {
        let d = net.host(&format!("d{i}"));
        net.link(s, d, 100);
        net.flow(h, d, 0, cbr(1000, 100_000_000));
    }
    let report = net.run();
    for flow in report.flows.iter() {
        let share = flow.delivered.packets as f64 / 12_500.0;
        assert!((share - 0.25).abs() < 0.01, "{} got {share}", flow.name);
    }
}

#[test]
fn a_class_that_is_stopped_behind_a_crossbar_does_not_hold_up_the_others() {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (s1, s2, d1, d2) = (net.switch("s1"), net.switch("s2"), net.host("d1"), net.host("d2"));
    net.at_switch(s1).fabric =
        Fabric::VirtualOutputQueues { buffer: 10_000_000, output_buffer: UNLIMITED, speedup: 1.0 };
    net.link(s1, s2, 100);
    let drain = net.link(s2, d1, 100);
    net.link(s2, d2, 100);
    net.limit(s2, d1, 50_000);
    net.set_backpressure(s2, scope(Scope::Class));
    net.change(ms(0), ChangeKind::LinkDown(drain));
    for (class, to) in [(1, d1), (0, d2)] {
        let h = net.host(&format!("h{class}"));
        net.link(h, s1, 100);
        net.flow(h, to, class, cbr(1500, 10_000_000));
    }
    let report = net.run();
    // Row 1 is the flow of class 0 to d2. The link to d1 is down, so that class 1 is stopped.
    assert_eq!(
        report.flows.row(1).offered.packets,
        report.flows.row(1).delivered.packets + report.flows.row(1).in_network.packets
    );
    assert!(report.flows.row(1).in_network.packets <= 1);
    assert_eq!(total_drops(&report), 0);
}

/// Returns the delay of one full frame from host to host over a switch, for the rates in Mbit/s of the links to and
/// from the switch.
fn one_frame(fabric: Fabric, rates: [u64; 2]) -> Dur {
    let mut net = Net::new(ETHERNET);
    let (h, s, d) = (net.host("h"), net.switch("s"), net.host("d"));
    net.at_switch(s).fabric = fabric;
    net.link(h, s, rates[0]);
    net.link(s, d, rates[1]);
    net.delay(Dur::from_us(1));
    net.flow(h, d, 0, bulk(1500));
    ps(max_s(&net.run().flows.row(0)))
}

#[test]
fn cut_through_adds_the_time_of_a_header_and_store_and_forward_that_of_a_frame() {
    let cut = Fabric::CutThrough { header: 64 };
    let travel = Dur::from_us(2);
    for mbit in [10, 100, 1000] {
        assert_eq!(one_frame(Fabric::OutputQueued, [mbit, mbit]), tx(mbit, WIRE) * 2 + travel);
        assert_eq!(one_frame(cut.clone(), [mbit, mbit]), tx(mbit, 64) + tx(mbit, WIRE) + travel);
    }
    // A slower output starts after the header: the frame arrives faster than it is sent.
    assert_eq!(one_frame(cut.clone(), [100, 10]), tx(100, 64) + tx(10, WIRE) + travel);
    // A faster output starts late enough to avoid an underrun: it sends the last byte just when that byte has arrived.
    assert_eq!(one_frame(cut.clone(), [10, 100]), tx(10, WIRE) + travel);
    // With a header as long as the frame, cut-through is store-and-forward.
    assert_eq!(one_frame(Fabric::CutThrough { header: WIRE }, [100, 100]), tx(100, WIRE) * 2 + travel);
}

#[test]
fn cut_through_frames_that_must_wait_are_forwarded_whole_and_in_order() {
    // Two inputs share an output: a frame that finds the output busy is received completely before it is forwarded.
    let mut net = Net::new(ETHERNET);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.at_switch(s).fabric = Fabric::CutThrough { header: 64 };
    net.link(s, d, 100);
    for i in 0..2 {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
        net.flow(h, d, 0, bulk(150_000));
    }
    let report = net.run();
    // 200 frames back to back after the first header.
    assert_eq!(ps(max_s(&report.flows.row(0)).max(max_s(&report.flows.row(1)))), tx(100, 64) + tx(100, WIRE) * 200);
    assert!(report.flows.iter().all(|f| f.reordered == 0 && f.delivered.packets == 100));
}

#[test]
fn a_chain_of_cut_through_switches_adds_a_header_time_each() {
    let mut net = Net::new(ETHERNET);
    let (h, d) = (net.host("h"), net.host("d"));
    let mut last = h;
    for i in 0..5 {
        let s = net.switch(&format!("s{i}"));
        net.at_switch(s).fabric = Fabric::CutThrough { header: 64 };
        net.link(last, s, 100);
        last = s;
    }
    net.link(last, d, 100);
    net.flow(h, d, 0, bulk(1500));
    assert_eq!(ps(max_s(&net.run().flows.row(0))), tx(100, 64) * 5 + tx(100, WIRE));
}

#[test]
fn one_saturated_queue_takes_alpha_over_one_plus_alpha_of_the_shared_memory() {
    const MEMORY: u64 = 300_000;
    for alpha in [0.25, 0.5, 1.0, 2.0, 8.0] {
        let mut net = Net::new(ETHERNET);
        let (s, d) = (net.switch("s"), net.host("d"));
        net.at_switch(s).fabric = Fabric::SharedMemory { memory: MEMORY, alpha };
        net.link(s, d, 10);
        let h = net.host("h");
        net.link(h, s, 100);
        net.flow(h, d, 0, cbr(1500, 90_000_000));
        let report = net.run();
        // Choudhury and Hahne (1998): the queue q takes alpha times the free memory: q = alpha (M - q), exact to a
        // frame.
        let fixed_point = alpha / (1.0 + alpha) * MEMORY as f64;
        let measured = port(&report, "s->d").classes[0].max_bytes as f64;
        assert!((measured - fixed_point).abs() < FRAME as f64, "alpha {alpha}: {measured} for {fixed_point}");
        assert!(report.flows.row(0).drops.iter().all(|drop| drop.reason == "shared memory full"));
    }
}

#[test]
fn shared_memory_is_never_exceeded_and_queues_that_saturate_together_share_it_evenly() {
    const MEMORY: u64 = 200_000;
    let mut net = Net::new(ETHERNET);
    let s = net.switch("s");
    net.at_switch(s).fabric = Fabric::SharedMemory { memory: MEMORY, alpha: 1.0 };
    for i in 0..4 {
        let (h, d) = (net.host(&format!("h{i}")), net.host(&format!("d{i}")));
        net.link(h, s, 100);
        net.link(s, d, 10);
        let flow = net.flow(h, d, 0, poisson(1500, 50_000_000));
        // Queues that start later get memory only if the others release some.
        net.plan.flows[flow].start = ms(50 * i);
        net.plan.flows[flow].stop = ms(700);
    }
    net.plan.sample = Some(Dur::from_us(777));
    net.plan.end = ms(1_000);
    let report = net.run();
    let series = report.series.as_ref().unwrap();
    let queues = |i: usize| (0..4).map(|k| series.ports[&format!("s->d{k}")].queue_bytes[i]).collect::<Vec<u64>>();
    assert!((0..series.time_s.len()).all(|i| queues(i).iter().sum::<u64>() <= MEMORY));
    // Each of n saturated queues: q = M alpha / (1 + n alpha), here M / 5.
    let settled = queues(series.time_s.iter().position(|t| *t > 0.6).unwrap());
    let share = MEMORY as f64 / 5.0;
    assert!(
        settled.iter().all(|q| *q as f64 <= share + FRAME as f64 && *q as f64 > share - 3.0 * FRAME as f64),
        "{settled:?}"
    );
    assert!(queues(series.time_s.len() - 1).iter().all(|q| *q == 0), "all memory is free again");
}

#[test]
fn frames_that_do_not_fit_into_an_input_buffer_are_dropped_and_counted() {
    let mut net = Net::new(RAW);
    let (s, h, d) = (net.switch("s"), net.host("h"), net.host("d"));
    net.at_switch(s).fabric = Fabric::InputFifo { buffer: 10_000 };
    net.link(h, s, 1000);
    net.link(s, d, 100);
    net.flow(h, d, 0, bulk(2_000_000));
    net.plan.framing.mtu = 1000;
    let report = net.run();
    let flow = &report.flows.row(0);
    assert!(flow.dropped.packets > 1_700 && flow.in_network.packets == 0, "{flow:?}");
    assert!(flow.drops.iter().all(|drop| drop.reason == "input buffer full"));
    assert_eq!(drops_of(&report, "s"), flow.dropped.packets);
    assert_eq!(port(&report, "h->s").refused_at_input.packets, flow.dropped.packets);
}

#[test]
fn a_switchs_latency_is_added_to_every_frame() {
    let mut net = Net::new(ETHERNET);
    let (h, s, d) = (net.host("h"), net.switch("s"), net.host("d"));
    net.at_switch(s).latency = Dur::from_us(7);
    net.link(h, s, 100);
    let out = net.link(s, d, 10);
    net.flow(h, d, 0, bulk(1500));
    assert_eq!(ps(max_s(&net.run().flows.row(0))), tx(100, WIRE) + Dur::from_us(7) + tx(10, WIRE));
    net.plan.links[out as usize].rate[0] = Rate::mbit(100);
    assert_eq!(ps(max_s(&net.run().flows.row(0))), tx(100, WIRE) * 2 + Dur::from_us(7));
}
