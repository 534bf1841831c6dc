//! Properties of every network, checked on random trees of hosts and switches of all models, with random links,
//! disciplines, back-pressure, traffic and timelines.
//!
//! The cases are the same in each run; `TAILBACK_FUZZ=5000` tries 5000 new cases for each property.
//!
//! `case` draws cases, and `build` makes networks of them. The tests of `tailback-parallel` draw documents that combine
//! all features.

#![allow(clippy::disallowed_methods, reason = "settings of the test come from the environment")]

mod build;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod transports;

use build::{SILENCE, built, eventful};
use case::{Case, FlowCase, case, flow};
use common::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use std::hash::{BuildHasher, Hasher, RandomState};
use tailback_qdisc::Spec;
use tailback_sim::plan::*;
use tailback_sim::{Report, Series, View, World};
use tailback_units::{Dur, Time};

/// Returns the settings for this number of fixed cases, or for new cases if `TAILBACK_FUZZ` has their number.
fn config(cases: u32) -> Config {
    let fixed = Config { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() };
    match std::env::var("TAILBACK_FUZZ").ok().and_then(|n| n.parse().ok()) {
        Some(cases) => {
            let seed = match Config::default().rng_seed {
                RngSeed::Fixed(seed) => seed,
                RngSeed::Random => RandomState::new().build_hasher().finish(),
            };
            println!("PROPTEST_RNG_SEED={seed} repeats this run");
            Config { cases, rng_seed: RngSeed::Fixed(seed), ..fixed }
        }
        None => fixed,
    }
}

/// Returns the numbers of packets offered, delivered, dropped, and in the network at the end.
fn counts(report: &Report) -> [u64; 4] {
    let sum = |get: fn(&tailback_sim::FlowReport) -> u64| report.flows.iter().map(|flow| get(&flow)).sum();
    [
        sum(|f| f.offered.packets),
        sum(|f| f.delivered.packets),
        sum(|f| f.dropped.packets),
        sum(|f| f.in_network.packets),
    ]
}

/// Checks that a run in at most two to four parts has the same report; the case's seed decides the number of parts and
/// the engine.
fn in_parts(net: &Net, case: &Case, report: &Report) {
    let engine = if case.seed.is_multiple_of(2) { Engine::Merged } else { Engine::Plain };
    same_in_parts(Plan { engine, ..net.routed() }, report, 2 + (case.seed % 3) as usize);
}

/// Checks that the packets found in queues, on links and at inputs agree with the counters of ports and flows.
fn adds_up(view: &View) {
    let mut found_packets = 0;
    let mut inside = 0;
    for (name, port) in &view.ports {
        for class in &port.classes {
            let found =
                class.by_flow.values().fold((0, 0), |(packets, bytes), n| (packets + n.packets, bytes + n.bytes));
            assert_eq!(found, (class.queued.packets, class.queued.bytes), "{name} at {}", view.time_s);
            found_packets += class.queued.packets;
        }
        found_packets += port.on_link_frames;
        assert_eq!(port.queue_bytes, port.classes.iter().map(|class| class.queued.bytes).sum::<u64>());
        if let Some(transmission) = &port.transmission {
            assert!(transmission.end_s >= view.time_s && port.on_link_frames > 0, "{name}");
        }
    }
    found_packets +=
        view.nodes.values().flat_map(|node| node.at_inputs.values()).map(|count| count.packets).sum::<u64>();
    for (name, flow) in &view.flows {
        let expected = flow.offered.packets - flow.delivered.packets - flow.dropped.packets;
        assert_eq!(expected, flow.in_network.packets, "{name}");
        inside += expected;
    }
    // Frames on links include control frames, so that the sum may be larger.
    assert!(found_packets >= inside, "{found_packets} packets found, {inside} in the network at {}", view.time_s);
}

/// Checks that a view equals the sample number `sample` of the time series, which is of the same instant.
fn equals_sample(view: &View, series: &Series, sample: usize) {
    for (name, port) in &view.ports {
        let own = &series.ports[name];
        let times = |sample: usize| (own.stopped_s[sample], own.held_s[sample]);
        assert_eq!(
            (port.queue_bytes, port.sent_bytes, port.dropped_packets, port.marked_packets),
            (own.queue_bytes[sample], own.sent_bytes[sample], own.dropped_packets[sample], own.marked_packets[sample]),
            "{name} at {}",
            view.time_s
        );
        assert_eq!((port.stopped, port.held), (own.stopped[sample], own.held[sample]), "{name} at {}", view.time_s);
        assert_eq!((port.stopped_s, port.held_s), times(sample), "{name} at {}", view.time_s);
        for (variable, value) in &port.state {
            let sampled = own.state[variable][sample];
            assert!(
                *value == sampled || value.is_nan() && sampled.is_nan(),
                "{name}: {variable} is {value}, {sampled}"
            );
        }
    }
    let inside: u64 = view.flows.values().map(|flow| flow.in_network.packets).sum();
    assert_eq!(inside, series.in_network_packets[sample]);
}

/// Returns a view without the times of events, which depend on the engine.
fn comparable(mut view: View) -> serde_json::Value {
    view.next_event_s = None;
    view.ports.values_mut().for_each(|port| port.wake_s = None);
    serde_json::to_value(&view).expect("a view has text keys and numbers")
}

proptest! {
    #![proptest_config(config(400))]

    /// `Net::run` compares the engines, `in_parts` compares one part with several, and `World::report` checks the
    /// conservation of each packet.
    #[test]
    fn no_packet_vanishes_overtakes_another_or_waits_for_ever_and_both_engines_agree(case in case()) {
        let net = eventful(&case);
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        prop_assert_eq!(inside, 0, "a network in which no source sends becomes empty");
        for flow in report.flows.iter() {
            prop_assert_eq!(flow.reordered, 0, "{}", flow.name);
            prop_assert_eq!(flow.drops.iter().map(|d| d.packets).sum::<u64>(), flow.dropped.packets);
            if let (Some(mean), Some(max)) = (flow.delay.mean_s, flow.delay.max_s) {
                prop_assert!(mean <= max);
            }
        }
        for port in &report.ports {
            let measured = report.end_s - report.warmup_s;
            prop_assert!(port.utilisation <= 1.0 && port.held_s <= measured);
            prop_assert!(port.stopped_s <= measured && port.slowed_s <= measured);
            let longest = port.stops.iter().map(|stop| stop.stopped_s).fold(0.0, f64::max);
            let all: f64 = port.stops.iter().map(|stop| stop.stopped_s).sum();
            // Stops of several classes or destinations may overlap: their union lies between the longest and the sum.
            prop_assert!(longest <= port.stopped_s && port.stopped_s <= all * (1.0 + 1e-12));
            prop_assert!(port.classes.iter().all(|class| class.queued.packets == 0));
        }
    }

    #[test]
    fn a_shorter_run_conserves_packets_and_equals_the_beginning_of_a_longer_one(case in case(), end in 1..300_000u64) {
        let mut net = eventful(&case);
        net.plan.end = us(end).max(case.warmup);
        net.plan.sample = Some(Dur::from_ms(1));
        net.plan.delay_variation = true;
        net.plan.record = Record::of(RECORDS, 1 + (case.seed % 700) as usize);
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        let short = report.series.unwrap();
        net.plan.end += Dur::from_ms(20);
        let long = net.run_merged().series.unwrap();
        prop_assert_eq!(&long.in_network_packets[..short.time_s.len()], &short.in_network_packets[..]);
        for (name, port) in &short.ports {
            prop_assert_eq!(&long.ports[name].sent_bytes[..short.time_s.len()], &port.sent_bytes[..]);
        }
    }

    /// A run of each engine is interrupted at each sample. Its views equal the samples of the time series, and the
    /// packets found in the views agree with the counters.
    #[test]
    fn stepping_changes_no_result_and_views_equal_the_samples_of_their_times(case in case(), end in 1_000..100_000u64) {
        let mut net = eventful(&case);
        net.plan.end = us(end).max(case.warmup);
        net.plan.sample = Some(Dur::from_us(2_500));
        net.plan.record = Record::of(RECORDS, 1_000);
        let whole = net.run();
        let series = whole.series.as_ref().expect("samples are taken");
        let mut views_by_engine = Vec::new();
        for engine in [Engine::Merged, Engine::Plain] {
            let mut world = World::new(Plan { engine, ..net.routed() });
            let mut views = Vec::new();
            for (sample, time) in series.time_s.iter().enumerate() {
                world.run_until(Time::ZERO + ps(*time));
                let view = world.view();
                adds_up(&view);
                equals_sample(&view, series, sample);
                views.push(comparable(view));
            }
            world.run_until(Time::NEVER);
            let report = world.report();
            prop_assert_eq!(&report.digest, &whole.digest);
            views_by_engine.push(views);
        }
        prop_assert_eq!(&views_by_engine[0], &views_by_engine[1], "the engines show different states");
    }

    /// A switch loses no packet if all ports that feed it obey notifications and its buffers have ample headroom.
    #[test]
    fn no_packet_is_lost_at_switches_whose_feeding_ports_all_obey(case in case()) {
        let mut case = case;
        case.events.clear();
        case.obeys = true;
        for switch in &mut case.switches {
            let mut backpressure = switch.backpressure.take().unwrap_or(PLAIN);
            // Congestion is detected in output queues and at a crossbar's inputs, but not in memory that outputs share.
            switch.fabric = match &switch.fabric {
                Fabric::CutThrough { header } => Fabric::CutThrough { header: *header },
                Fabric::InputFifo { .. } => {
                    // All frames share one FIFO, so that part of the traffic cannot be stopped on its own.
                    backpressure.scope = Scope::Plain;
                    Fabric::InputFifo { buffer: 1_000_000 }
                }
                Fabric::VirtualOutputQueues { speedup, .. } => {
                    let (buffer, output_buffer) = (UNLIMITED, 1_000_000);
                    Fabric::VirtualOutputQueues { buffer, output_buffer, speedup: *speedup }
                }
                _ => Fabric::OutputQueued,
            };
            let detection = Detection::Watermark { high: 0.5, low: 0.3 };
            switch.backpressure = Some(BackPressure { detection, response: Response::Block, end_stations: true, ..backpressure });
            // A PAUSE shorter than the time that its refresh needs would expire, so PAUSE frames have the longest time.
            if let Some(backpressure) = &mut switch.backpressure
                && let Signal::Mac { quanta } = &mut backpressure.signal {
                    *quanta = 65_535;
                }
        }
        for link in &mut case.links {
            link.loss = 0.0;
            // Headroom: half of the buffer, 500 kB, is more than arrives from a dozen links of 100 Mbit/s in 2 ms, 300
            // kB.
            link.limit = 1_000_000;
            link.spec = Spec::default();
        }
        let mut net = built(&case, true);
        // The packets wait at hosts, whose queues have no limit.
        for link in &mut net.plan.links {
            for (side, queue) in link.queue.iter_mut().enumerate() {
                if matches!(net.plan.nodes[usize::from(link.ends[side])].kind, NodeKind::Host(_)) {
                    queue.limits.fill(UNLIMITED);
                }
            }
        }
        let report = net.run();
        prop_assert_eq!(total_drops(&report), 0);
        prop_assert_eq!(counts(&report)[3], 0);
    }
}

/// Returns one switch with a host for each flow. All flows go to one output; each arrives over its own link, so that
/// its arrivals do not depend on other flows.
fn one_output(case: &Case, flows: &[FlowCase]) -> Net {
    let mut net = Net::new(ETHERNET);
    net.plan.seed = case.seed;
    net.plan.classes = 8;
    net.plan.end = ms(400);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    for (i, drawn) in flows.iter().enumerate() {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
        let flow = net.flow(h, d, drawn.class, drawn.model.clone());
        net.plan.flows[flow].start = drawn.start;
        net.plan.flows[flow].stop = SILENCE;
    }
    net
}

proptest! {
    #![proptest_config(config(150))]

    /// Priority is not preemptive: a frame may find one frame of a lower class in transmission. If a lower class were
    /// started while a higher one waits, the delay could grow by more than one frame.
    #[test]
    fn lower_classes_delay_a_higher_one_by_one_frame_at_most(case in case(), high in flow(), class in 0..7u8) {
        let high = FlowCase { class, ..high };
        let lower = |f: &FlowCase| FlowCase { class: class + 1 + f.class % (7 - class), ..f.clone() };
        let alone = one_output(&case, std::slice::from_ref(&high)).run();
        let all: Vec<FlowCase> = std::iter::once(high).chain(case.flows.iter().map(lower)).collect();
        let shared = one_output(&case, &all).run();
        if let (Some(before), Some(after)) = (alone.flows.row(0).delay.max_s, shared.flows.row(0).delay.max_s) {
            prop_assert!(ps(after) <= ps(before) + tx(10, WIRE), "{before} s alone, {after} s with others");
            prop_assert!(shared.flows.row(0).delay.mean_s <= alone.flows.row(0).delay.mean_s.map(|m| m + tx(10, WIRE).as_secs()));
        }
    }
}
