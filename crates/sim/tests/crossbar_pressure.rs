//! Crossbar switches with back-pressure: congestion is detected at their inputs, and frames for stopped destinations
//! are skipped.

use crate::common::*;
use std::collections::BTreeSet;
use tailback_sim::plan::*;
use tailback_sim::trace::{Detail, Row};
use tailback_sim::{Report, World};
use tailback_units::Dur;

/// An input FIFO of 50 kB.
const FIFO: Fabric = Fabric::InputFifo { buffer: 50_000 };
/// Virtual output queues in one memory of 50 kB per input.
const ONE_MEMORY: Fabric = Fabric::VirtualOutputQueues { buffer: 50_000, output_buffer: UNLIMITED, speedup: 1.0 };
/// Virtual output queues of 50 kB each.
const LIMITED: Fabric = Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer: 50_000, speedup: 1.0 };

/// Returns the scopes of back-pressure that a crossbar supports.
fn scopes(fabric: &Fabric) -> &[Scope] {
    match fabric {
        Fabric::InputFifo { .. } => &[Scope::Plain],
        Fabric::VirtualOutputQueues { output_buffer: UNLIMITED, .. } => &[Scope::Plain, Scope::Destination],
        _ => &SCOPES,
    }
}

#[test]
fn an_input_stops_its_neighbour_for_as_long_as_calculated_by_hand() {
    // h -100- s1 -100- s2 -10- d (rates in Mbit/s), 100 frames of 1000 B. Crossing s2 takes 800 us, after which a frame
    // leaves the input of s2: one frame leaves every 800 us, from 960 us on. Frame k arrives at 80 (k + 1) us. With
    // frame 45, at 3680 us, 41 frames are in the input: XOFF, in force at 3686.72 us, after the start of frame 46. At
    // 9760 us 34 frames are left: XON, in force at 9766.72 us. Then 8 frames pass in each cycle of 6400 us, in which
    // the stop is in force for 5833.28 us. After 46 + 6 * 8 frames 6 remain, too few for another stop.
    for fabric in [FIFO, ONE_MEMORY, LIMITED] {
        let mut net = Net::new(Framing { mtu: 1000, ..RAW });
        let (h, s1, s2, d) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.host("d"));
        net.link(h, s1, 100);
        net.link(s1, s2, 100);
        net.link(s2, d, 10);
        net.at_switch(s2).fabric = fabric.clone();
        net.set_backpressure(s2, PLAIN);
        net.flow(h, d, 0, bulk(100_000));
        let report = net.run();
        let reported = port(&report, "s1->s2");
        assert_eq!((reported.notifications_received, reported.input_max_bytes), (14, Some(42_000)), "{fabric:?}");
        assert_eq!(ps(reported.stopped_s), Dur::from_ns(6_080_000 + 6 * 5_833_280), "{fabric:?}");
        assert_eq!((total_drops(&report), port(&report, "h->s1").input_max_bytes), (0, None));
    }
}

/// Returns a crossbar with three hosts, each of which sends 4 Mbit/s to d over a link of 10 Mbit/s, and 0.2 Mbit/s to
/// the host `idle`, whose link has the same rate. Flow 1 is the first to `idle`.
fn merging(fabric: &Fabric, backpressure: Option<BackPressure>) -> Net {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (s, d, idle) = (net.switch("s"), net.host("d"), net.host("idle"));
    net.at_switch(s).fabric = fabric.clone();
    net.at_switch(s).backpressure = backpressure;
    net.link(s, d, 10);
    net.link(s, idle, 10);
    for i in 1..=3 {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
        net.flow(h, d, i % 2, bursts(48_000, 4_000_000));
        net.flow(h, idle, 0, poisson(600, 200_000));
    }
    net.delay(Dur::from_us(1));
    net.plan.end = ms(20_000);
    net
}

#[test]
fn nothing_is_lost_at_inputs_whose_neighbours_obey() {
    for fabric in [FIFO, ONE_MEMORY, LIMITED] {
        assert!(total_drops(&merging(&fabric, None).run()) > 1_000, "without back-pressure many frames are lost");
        for scope_of in scopes(&fabric) {
            let idealised = BackPressure { end_stations: true, ..scope(*scope_of) };
            let mac = BackPressure { signal: Signal::Mac { quanta: 65_535 }, ..idealised.clone() };
            let unpartitioned = BackPressure { partition: false, ..idealised.clone() };
            let has_addresses = matches!(scope_of, Scope::Destination | Scope::ClassDestination);
            for backpressure in
                [Some(idealised), Some(unpartitioned), (!has_addresses).then_some(mac)].into_iter().flatten()
            {
                let report = merging(&fabric, Some(backpressure.clone())).run();
                assert_eq!(total_drops(&report), 0, "{fabric:?} {backpressure:?}");
                assert!(port(&report, "h1->s").notifications_received > 100, "{fabric:?} {backpressure:?}");
                assert!(report.flows.iter().all(|flow| flow.reordered == 0));
                // d fills no input, and is never notified.
                assert_eq!(port(&report, "d->s").notifications_received, 0);
            }
        }
    }
}

#[test]
fn trace_rows_of_congested_queues_name_the_input_and_the_output() {
    let mut net = merging(&LIMITED, Some(BackPressure { end_stations: true, ..scope(Scope::ClassDestination) }));
    net.plan.trace = Some(Box::default());
    let mut world = World::new(net.routed());
    to_end(&mut world);
    let (rows, report) = (world.take_trace(), world.report());
    let name = |port: u32| report.ports[port as usize].name.as_str();
    let cause = |row: &Row| match row.detail.as_deref() {
        Some(Detail::Congestion { cause, .. }) => (name(cause.port), cause.class),
        other => panic!("{other:?}"),
    };
    let mut congested = BTreeSet::new();
    let mut now = BTreeSet::new();
    for row in &rows {
        match row.event {
            EventKind::Congested => {
                congested.insert((name(row.port), cause(row)));
                assert!(now.insert((row.port, cause(row))), "a queue becomes congested once: {row:?}");
            }
            EventKind::Relieved => {
                assert!(now.remove(&(row.port, cause(row))), "only congested queues are relieved: {row:?}");
            }
            // Only the neighbour behind a congested input is notified.
            EventKind::Notify => assert!(now.contains(&(row.port, cause(row))), "{row:?}"),
            _ => {}
        }
    }
    // h1 and h3 send bursts to d in class 1, and h2 in class 0; all of them congest their own queue for the output to
    // d.
    let expected = [("s->h1", ("s->d", 1)), ("s->h2", ("s->d", 0)), ("s->h3", ("s->d", 1))];
    assert!(congested.is_superset(&expected.into()), "{congested:?}");
    assert!(congested.iter().all(|(input, (output, _))| input.starts_with("s->h") && output.starts_with("s->")));
}

/// Returns the mean delay, in s, of the first host's packets to the idle host.
fn delay_to_idle(report: &Report) -> f64 {
    mean_s(&report.flows.row(1))
}

#[test]
fn queues_with_limits_of_their_own_stop_a_destination_without_holding_up_the_others() {
    let end_stations = |scope_of| Some(BackPressure { end_stations: true, ..scope(scope_of) });
    let limited = |scope_of| delay_to_idle(&merging(&LIMITED, end_stations(scope_of)).run());
    let (plain, destination) = (limited(Scope::Plain), limited(Scope::Destination));
    // The delay is about that with unlimited queues, in which frames for d also compete for the crossing.
    let unlimited = Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer: UNLIMITED, speedup: 1.0 };
    let free = delay_to_idle(&merging(&unlimited, None).run());
    assert!(destination < 1.3 * free, "{destination} s for {free} s");
    assert!(plain > 5.0 * destination, "{plain} s for {destination} s");
    let classes = limited(Scope::ClassDestination);
    assert!((classes / destination - 1.0).abs() < 0.3, "{classes} {destination}");
}

#[test]
fn one_memory_for_all_outputs_loses_frames_to_an_idle_output_and_limits_per_queue_prevent_it() {
    // h1 offers 54 Mbit/s to d1 and 45 Mbit/s to d2; h2 offers 45 Mbit/s to d1. The outputs have 100 Mbit/s, so that
    // d1's is nearly saturated and d2's is not. Returned is the flow from h1 to d2.
    let lost = |fabric: Fabric| {
        let mut net = Net::new(ETHERNET);
        let (s, d1, d2) = (net.switch("s"), net.host("d1"), net.host("d2"));
        net.at_switch(s).fabric = fabric;
        let hosts = [net.host("h1"), net.host("h2")];
        for node in hosts.into_iter().chain([d1, d2]) {
            net.link(node, s, 100);
        }
        for (from, to, mbit) in [(hosts[0], d1, 54), (hosts[1], d1, 45), (hosts[0], d2, 45)] {
            net.flow(from, to, 0, poisson(1500, mbit * 1_000_000));
        }
        net.plan.end = ms(10_000);
        net.run().flows.row(2)
    };
    let one = lost(Fabric::VirtualOutputQueues { buffer: 100_000, output_buffer: UNLIMITED, speedup: 1.0 });
    assert!(loss(&one) > 0.05, "{}", loss(&one));
    let limited = lost(Fabric::VirtualOutputQueues { buffer: 100_000, output_buffer: 50_000, speedup: 1.0 });
    assert_eq!((limited.dropped.packets, limited.offered.packets > 30_000), (0, true));
}

/// Returns the report of h that sends 20 Mbit/s to d1, whose link is down (until 500 ms if `mended`, otherwise to the
/// end), and 5 Mbit/s to d2. The path leads over s1, which has the given switch model, and s2, which stops
/// destinations.
fn stopped_destination(fabric: Fabric, mended: bool) -> Report {
    let mut net = Net::new(ETHERNET);
    let (h, s1, s2, d1, d2) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.host("d1"), net.host("d2"));
    net.at_switch(s1).fabric = fabric;
    net.link(h, s1, 100);
    net.link(s1, s2, 100);
    let drain = net.link(s2, d1, 100);
    net.link(s2, d2, 100);
    net.limit(s2, d1, 50_000);
    net.set_backpressure(s2, scope(Scope::Destination));
    net.change(ms(0), ChangeKind::LinkDown(drain));
    if mended {
        net.change(ms(500), ChangeKind::LinkUp(drain));
    }
    net.flow(h, d1, 0, cbr(1500, 20_000_000));
    net.flow(h, d2, 0, cbr(1500, 5_000_000));
    net.run()
}

#[test]
fn virtual_output_queues_pass_over_a_destination_that_is_stopped_behind_them_and_a_fifo_does_not() {
    let unlimited = |output_buffer| Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer, speedup: 1.0 };
    for fabric in [Fabric::OutputQueued, unlimited(UNLIMITED), unlimited(10_000_000)] {
        let report = stopped_destination(fabric.clone(), false);
        assert!(max_s(&report.flows.row(1)) < 1e-3, "{fabric:?}: {}", max_s(&report.flows.row(1)));
        assert_eq!(report.flows.row(0).delivered.packets, 0, "destination d1 is stopped");
        assert!(report.flows.iter().all(|flow| flow.reordered == 0 && flow.dropped.packets == 0));
    }
    let blocked = stopped_destination(Fabric::InputFifo { buffer: UNLIMITED }, true);
    assert!(max_s(&blocked.flows.row(1)) > 0.4, "the head of the line waits for d1");
    assert_eq!(blocked.flows.row(1).dropped.packets, 0);
    // Frames that waited are sent when the link to d1 is up.
    assert!(blocked.flows.row(1).in_network.packets < 10);
}

#[test]
fn inputs_stop_their_neighbours_also_after_new_thresholds_and_a_failure_of_the_link() {
    let mut net = merging(&LIMITED, Some(BackPressure { end_stations: true, ..PLAIN }));
    net.change(ms(5_000), ChangeKind::Thresholds { node: 0, high: 0.4, low: 0.2 });
    for i in 0..20 {
        net.change(ms(6_000 + 500 * i), ChangeKind::LinkDown(2));
        net.change(ms(6_010 + 500 * i), ChangeKind::LinkUp(2));
    }
    let report = net.run();
    let lost: u64 =
        report.flows.iter().flat_map(|f| f.drops).filter(|d| d.reason != "link down").map(|d| d.packets).sum();
    assert_eq!(lost, 0, "the neighbour is notified again of the stops in force");
}
