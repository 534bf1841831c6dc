//! What holds in every network: claims checked on random trees of hosts and switches of all models,
//! with random links, disciplines, back-pressure, traffic and timelines.
//!
//! The cases are the same at each run; `TAILBACK_FUZZ=5000` tries that many new ones.

mod common;

use common::*;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};
use std::sync::Arc;
use tailback_diffserv::{Colour, Meter};
use tailback_qdisc::{Accounting, Spec, discipline::drop_head, discipline::drop_tail};
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_traffic::{Application, Bernoulli, Model};
use tailback_transport::{Cc, Tcp};
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Sources fall silent at this instant, and from the one after it all links are up.
const SILENCE: Time = Time(200_000_000_000);
const MENDED: Time = Time(250_000_000_000);
/// By then the network has run empty: 100 MB at the slowest rate.
const END: Time = Time(80_000_000_000_000);

fn config(cases: u32) -> Config {
    let fixed = Config { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() };
    match std::env::var("TAILBACK_FUZZ").ok().and_then(|n| n.parse().ok()) {
        Some(cases) => Config { cases, rng_seed: RngSeed::Random, ..fixed },
        None => fixed,
    }
}

#[derive(Clone, Debug)]
struct SwitchCase {
    /// The switch that it hangs on, modulo those before it.
    parent: usize,
    fabric: Fabric,
    law: Option<BackPressure>,
    latency: Dur,
    hosts: usize,
}

#[derive(Clone, Debug)]
struct LinkCase {
    mbit: u64,
    delay: Dur,
    loss: f64,
    jitter: [Dur; 2],
    limit: u64,
    spec: Spec,
    /// Transmit ring, and the rate of a shaper in Mbit/s.
    ring: Option<u32>,
    shaper: Option<u64>,
}

#[derive(Clone, Debug)]
struct FlowCase {
    from: usize,
    to: usize,
    class: u8,
    model: Model,
    start: Time,
}

/// A meter, with what it polices; ports are taken modulo how many there are.
#[derive(Clone, Debug)]
struct ConditionerCase {
    place: Place,
    per_flow: bool,
    meter: Meter,
    police: Option<Colour>,
}

/// What changes when; numbers are taken modulo how many there are.
#[derive(Clone, Debug)]
enum Event {
    Flap(u32, Dur),
    Rate(u32, u64),
    Delay(u32, Dur),
    Restart(u32),
    Stop(u32),
    Thresholds(usize, f64),
    /// A host sends PAUSE frames for so long.
    Storm(u32, Dur),
    /// The end of a storm, whether there is one or not.
    Calm(u32),
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    classes: u8,
    framing: Framing,
    switches: Vec<SwitchCase>,
    links: Vec<LinkCase>,
    flows: Vec<FlowCase>,
    conditioners: Vec<ConditionerCase>,
    events: Vec<(Time, Event)>,
    warmup: Time,
    obeys: bool,
}

fn micros(most: u64) -> impl Strategy<Value = Dur> {
    (0..=most).prop_map(Dur::from_us)
}

fn fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![
        4 => Just(Fabric::OutputQueued),
        2 => (select(vec![20_000u64, 100_000, 1_000_000]), select(vec![0.25, 1.0, 4.0]))
            .prop_map(|(memory, alpha)| Fabric::SharedMemory { memory, alpha }),
        1 => Just(Fabric::InputFifo { buffer: 30_000 }),
        2 => (select(vec![1.0, 1.5, 2.0]), select(vec![UNLIMITED, 5_000, 20_000])).prop_map(|(speedup, output_buffer)| {
            Fabric::VirtualOutputQueues { buffer: 30_000, output_buffer, speedup }
        }),
        2 => select(vec![14u32, 64, 2_000]).prop_map(|header| Fabric::CutThrough { header }),
    ]
}

fn law() -> impl Strategy<Value = BackPressure> {
    let detection = prop_oneof![
        3 => select(vec![(0.8, 0.7), (0.5, 0.0), (0.2, 0.1)]).prop_map(|(high, low)| Detection::Watermark { high, low }),
        1 => (micros(5_000), micros(20_000)).prop_map(|(window, horizon)| Detection::FillRate { high: 0.8, low: 0.7, window, horizon }),
    ];
    let response = prop_oneof![
        3 => Just(Response::Block),
        1 => select(vec![(0.5, 0.01, 0.05), (0.9, 0.5, 0.5)]).prop_map(|(decrease, floor, increase)| {
            Response::Rate { decrease, floor, increase, interval: Dur::from_ms(2) }
        }),
    ];
    let signal = prop_oneof![
        2 => Just(Signal::OnOff),
        1 => select(vec![1u16, 50, 65_535]).prop_map(|quanta| Signal::Mac { quanta }),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (select(SCOPES.to_vec()), detection, response, signal, micros(300), flags).prop_map(
        |(scope, detection, response, signal, response_time, (feeding, database, partition, end_stations))| {
            // PAUSE frames have no room for addresses and know only stop and go.
            let (signal, response) = match (scope, signal) {
                (Scope::Destination | Scope::ClassDestination, _) => (Signal::OnOff, response),
                (_, Signal::Mac { .. }) => (signal, Response::Block),
                _ => (signal, response),
            };
            BackPressure {
                scope,
                detection,
                notify: if feeding { Notify::Feeding } else { Notify::All },
                addresses: if database { Addresses::FilteringDatabase } else { Addresses::Buffer },
                partition,
                response,
                signal,
                response_time,
                end_stations,
            }
        },
    )
}

fn link() -> impl Strategy<Value = LinkCase> {
    let spec = prop_oneof![
        6 => Just(Spec::default()),
        1 => Just(Spec::DropHead(drop_head::Params {})),
        1 => Just(Spec::DropTail(drop_tail::Params { packets: Some(5), ..drop_tail::Params::default() })),
        1 => select(early()),
        2 => select(classful()),
    ];
    let ring = prop_oneof![4 => Just(None), 1 => select(vec![Some(1u32), Some(15)])];
    let shaper = prop_oneof![5 => Just(None), 1 => select(vec![Some(5u64), Some(50)])];
    let loss = select(vec![0.0, 0.0, 0.0, 0.05]);
    let (none, some) = (Dur::ZERO, Dur::from_us(200));
    let jitter = select(vec![[none; 2], [none; 2], [some; 2], [none, some]]);
    let limit = select(vec![3_100u64, 20_000, 50_000, UNLIMITED]);
    (select(vec![10u64, 33, 100]), micros(500), loss, jitter, limit, spec, ring, shaper).prop_map(
        |(mbit, delay, loss, jitter, limit, spec, ring, shaper)| LinkCase {
            mbit,
            delay,
            loss,
            jitter,
            limit,
            spec,
            ring,
            shaper,
        },
    )
}

/// Random early detection in its forms of idle time and count.
fn early() -> Vec<Spec> {
    let documents = [
        serde_json::json!({ "kind": "red", "min": "3kB", "max": "9kB", "max-p": 0.3, "weight": 0.1 }),
        serde_json::json!({ "kind": "red", "min": "2packets", "max": "7packets", "count": "packets", "idle": "1993" }),
    ];
    documents.map(|document| tailback_document::decode(document).expect("a discipline")).into()
}

/// Disciplines with classes, sorted by flow and by code point.
fn classful() -> Vec<Spec> {
    let inner = serde_json::json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "10%", "burst": "3kB" } },
        { "match": { "dscp": "af31" }, "bandwidth": "30%", "discipline": { "kind": "wred", "by": "dscp" } },
        { "match": { "not": { "class": 0 } }, "remaining": 2, "discipline": { "kind": "codel" } },
    ], "default": { "discipline": { "kind": "fair-queue" } } });
    let documents = [
        inner.clone(),
        serde_json::json!({ "kind": "shaper", "rate": "4Mbit/s", "discipline": inner }),
        serde_json::json!({ "kind": "priority", "levels": [{ "match": { "flow": [1, 2] } }, { "limit": "20packets" }] }),
        serde_json::json!({ "kind": "wrr", "count": "bytes", "classes": [{ "match": { "dscp": "ef" }, "discipline": { "kind": "pie" } }] }),
        serde_json::json!({ "kind": "htb", "default": "b", "classes": [
            { "name": "root", "rate": "5Mbit/s" },
            { "name": "a", "parent": "root", "match": { "dscp": "ef" }, "rate": "1Mbit/s", "ceil": "5Mbit/s" },
            { "name": "b", "parent": "root", "rate": "2Mbit/s", "ceil": "3Mbit/s", "prio": 1 },
        ] }),
    ];
    documents.map(|document| tailback_document::decode(document).expect("a discipline")).into()
}

fn flow() -> impl Strategy<Value = FlowCase> {
    let rate = 1_000_000..15_000_000u64;
    let model = prop_oneof![
        (select(vec![46u64, 1000, 1500]), rate.clone()).prop_map(|(size, bps)| cbr(size, bps)),
        (64..2_000u64, rate.clone()).prop_map(|(size, bps)| poisson(size, bps)),
        (1_000..50_000u64, rate).prop_map(|(size, bps)| bursts(size, bps)),
        (1..300_000u64).prop_map(bulk),
        Just(Model::Bernoulli(Bernoulli { packet: Size(1500), slot: Dur::from_us(500), load: Fraction(0.4) })),
    ];
    (0..100usize, 0..100usize, 0..8u8, model, 0..150_000u64).prop_map(|(from, to, class, model, start)| FlowCase {
        from,
        to,
        class,
        model,
        start: us(start),
    })
}

/// Meters of one and of two rates, at each place. They colour and drop, but change no code point: a discipline that
/// sorts by it would let packets of a flow overtake each other.
fn conditioner() -> impl Strategy<Value = ConditionerCase> {
    let place = prop_oneof![
        Just(Place::Source),
        any::<u32>().prop_map(|port| Place::Egress { port }),
        any::<u32>().prop_map(|port| Place::Ingress { port }),
    ];
    let meters = [
        serde_json::json!({ "kind": "token-bucket", "rate": "1Mbit/s", "burst": "4kB" }),
        serde_json::json!({ "kind": "sr-tcm", "cir": "1Mbit/s", "cbs": "4kB", "ebs": "9kB" }),
        serde_json::json!({ "kind": "tsw3cm", "cir": "1Mbit/s", "pir": "2Mbit/s" }),
    ];
    let meters = meters.map(|document| tailback_document::decode::<Meter>(document).expect("a meter"));
    let police = select(vec![None, Some(Colour::Red), Some(Colour::Yellow)]);
    (place, any::<bool>(), select(meters.to_vec()), police)
        .prop_map(|(place, per_flow, meter, police)| ConditionerCase { place, per_flow, meter, police })
}

fn event() -> impl Strategy<Value = (Time, Event)> {
    let event = prop_oneof![
        2 => (any::<u32>(), micros(30_000)).prop_map(|(link, long)| Event::Flap(link, long)),
        1 => (any::<u32>(), select(vec![10u64, 50, 100])).prop_map(|(link, mbit)| Event::Rate(link, mbit)),
        1 => (any::<u32>(), micros(3_000)).prop_map(|(link, delay)| Event::Delay(link, delay)),
        1 => any::<u32>().prop_map(Event::Restart),
        1 => any::<u32>().prop_map(Event::Stop),
        1 => (0..100usize, select(vec![0.05, 0.5, 1.0])).prop_map(|(node, high)| Event::Thresholds(node, high)),
        2 => (any::<u32>(), micros(60_000)).prop_map(|(host, long)| Event::Storm(host, long)),
        1 => any::<u32>().prop_map(Event::Calm),
    ];
    // Whole milliseconds now and then, so that changes meet other events.
    let at = prop_oneof![(0..210_000u64).prop_map(us), (0..210u64).prop_map(ms)];
    (at, event)
}

fn case() -> impl Strategy<Value = Case> {
    let switch = (0..100usize, fabric(), prop::option::weighted(0.6, law()), micros(20), 1..4usize)
        .prop_map(|(parent, fabric, law, latency, hosts)| SwitchCase { parent, fabric, law, latency, hosts });
    (
        (any::<u64>(), 1..=3u8, select(vec![ETHERNET, RAW, Framing { buffer: Length::Wire, ..ETHERNET }])),
        prop::collection::vec(switch, 1..5),
        prop::collection::vec(link(), 1..8),
        prop::collection::vec(flow(), 0..8),
        (prop::collection::vec(event(), 0..6), prop::collection::vec(conditioner(), 0..3)),
        (0..100_000u64, any::<bool>()),
    )
        .prop_map(|((seed, classes, framing), switches, links, flows, (events, conditioners), (warmup, obeys))| {
            Case { seed, classes, framing, switches, links, flows, conditioners, events, warmup: us(warmup), obeys }
        })
}

/// The network of a case, with everything but its timeline; no back-pressure unless `pressed`.
fn built(case: &Case, pressed: bool) -> Net {
    let mut net = Net::new(case.framing);
    net.plan.framing.mtu = net.plan.framing.mtu.min(9_000);
    net.plan.seed = case.seed;
    net.plan.classes = case.classes;
    net.plan.warmup = case.warmup;
    net.plan.end = END;
    let (mut switches, mut hosts) = (Vec::new(), Vec::new());
    for (i, told) in case.switches.iter().enumerate() {
        let s = net.switch(&format!("s{i}"));
        let plan = net.at_switch(s);
        plan.fabric = told.fabric.clone();
        plan.latency = told.latency;
        plan.backpressure = told.law.clone().filter(|_| pressed);
        if i > 0 {
            net.link(s, switches[told.parent % i], 100);
        }
        switches.push(s);
        for k in 0..told.hosts {
            let h = net.host(&format!("h{i}{k}"));
            let NodeKind::Host(plan) = &mut net.plan.nodes[usize::from(h)].kind else { unreachable!("h is a host") };
            plan.obeys = case.obeys;
            net.link(h, s, 100);
            hosts.push(h);
        }
    }
    let by_address = |law: &Option<BackPressure>| {
        law.as_ref().is_some_and(|law| matches!(law.scope, Scope::Destination | Scope::ClassDestination))
    };
    let addressed = case.switches.iter().any(|s| by_address(&s.law));
    for (i, link) in net.plan.links.iter_mut().enumerate() {
        let told = &case.links[i % case.links.len()];
        link.rate = [Rate::mbit(told.mbit); 2];
        link.delay = told.delay;
        link.loss = told.loss;
        link.jitter = told.jitter;
        for queue in &mut link.queue {
            queue.limits.fill(told.limit);
            // Where addresses are stopped, queues are kept by destination, which only plain drop-tail is.
            if !addressed {
                queue.discipline = told.spec.clone();
            }
            queue.ring = told.ring;
            queue.shaper = told.shaper.map(|mbit| ShaperPlan {
                rate: Rate::mbit(mbit),
                burst: 4_000,
                accounting: Accounting::default(),
            });
        }
    }
    for told in &case.flows {
        let (from, to) = (hosts[told.from % hosts.len()], hosts[told.to % hosts.len()]);
        if from != to {
            let flow = net.flow(from, to, told.class % case.classes, told.model.clone());
            net.plan.flows[flow].start = told.start;
            net.plan.flows[flow].stop = SILENCE;
            net.plan.flows[flow].code = [0, 46, 26][flow % 3];
        }
    }
    net
}

/// The hosts whose switch knows PAUSE frames.
fn pause_hosts(net: &Net) -> Vec<NodeId> {
    let nodes = &net.plan.nodes;
    let knows = |n: NodeId| {
        matches!(&nodes[usize::from(n)].kind, NodeKind::Switch(switch)
            if switch.backpressure.as_ref().is_some_and(|law| matches!(law.signal, Signal::Mac { .. })))
    };
    let is_host = |n: NodeId| matches!(nodes[usize::from(n)].kind, NodeKind::Host(_));
    let links = net.plan.links.iter().flat_map(|link| [link.ends, [link.ends[1], link.ends[0]]]);
    links.filter(|[host, switch]| is_host(*host) && knows(*switch)).map(|[host, _]| host).collect()
}

/// The same with its timeline, after which all links are up and no host storms.
fn eventful(case: &Case) -> Net {
    let mut net = built(case, true);
    let (links, flows) = (net.plan.links.len() as u32, net.plan.flows.len() as u32);
    for (i, told) in case.conditioners.iter().enumerate() {
        let place = match told.place {
            Place::Source => Place::Source,
            Place::Egress { port } => Place::Egress { port: port % (2 * links) },
            Place::Ingress { port } => Place::Ingress { port: port % (2 * links) },
        };
        net.plan.conditioners.push(ConditionerPlan {
            name: format!("c{i}"),
            place,
            flows: None,
            matches: None,
            per_flow: told.per_flow,
            meter: told.meter.clone(),
            police: told.police,
            actions: Default::default(),
        });
    }
    let switches: Vec<NodeId> = (0..net.plan.nodes.len() as NodeId)
        .filter(|n| matches!(net.plan.nodes[usize::from(*n)].kind, NodeKind::Switch(_)))
        .collect();
    let storming = pause_hosts(&net);
    let host = |n: u32| storming.get(n as usize % storming.len().max(1)).copied();
    for (at, event) in &case.events {
        match *event {
            Event::Flap(link, long) => {
                net.change(*at, ChangeKind::LinkDown(link % links));
                net.change(*at + long, ChangeKind::LinkUp(link % links));
            }
            Event::Rate(link, mbit) => net.change(*at, ChangeKind::LinkRate(link % links, Rate::mbit(mbit))),
            Event::Delay(link, delay) => net.change(*at, ChangeKind::LinkDelay(link % links, delay)),
            Event::Restart(flow) if flows > 0 => net.change(*at, ChangeKind::FlowStart(flow % flows)),
            Event::Stop(flow) if flows > 0 => net.change(*at, ChangeKind::FlowStop(flow % flows)),
            Event::Restart(_) | Event::Stop(_) => (),
            Event::Thresholds(node, high) => {
                let node = switches[node % switches.len()];
                net.change(*at, ChangeKind::Thresholds { node, high, low: high / 2.0 });
            }
            Event::Storm(n, long) => {
                if let Some(node) = host(n) {
                    net.change(*at, ChangeKind::PauseStorm { node, on: true });
                    net.change(*at + long, ChangeKind::PauseStorm { node, on: false });
                }
            }
            Event::Calm(n) => {
                if let Some(node) = host(n) {
                    net.change(*at, ChangeKind::PauseStorm { node, on: false });
                }
            }
        }
    }
    for link in 0..links {
        net.change(MENDED, ChangeKind::LinkUp(link));
    }
    for node in storming {
        net.change(MENDED, ChangeKind::PauseStorm { node, on: false });
    }
    net
}

fn counts(report: &Report) -> [u64; 4] {
    let sum = |get: fn(&tailback_sim::FlowReport) -> u64| report.flows.iter().map(|flow| get(&flow)).sum();
    [
        sum(|f| f.offered.packets),
        sum(|f| f.delivered.packets),
        sum(|f| f.dropped.packets),
        sum(|f| f.in_network.packets),
    ]
}

/// The same in two to four parts, by either engine.
fn in_parts(net: &Net, case: &Case, report: &Report) {
    let engine = if case.seed.is_multiple_of(2) { Engine::Merged } else { Engine::Plain };
    same_in_parts(Plan { engine, ..net.routed() }, report, 2 + (case.seed % 3) as usize);
}

proptest! {
    #![proptest_config(config(400))]

    /// `run` compares the engines, `in_parts` one part with several, `report` checks conservation packet by packet.
    #[test]
    fn no_packet_vanishes_overtakes_or_waits_for_ever_and_both_engines_agree(case in case()) {
        let net = eventful(&case);
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        prop_assert_eq!(inside, 0, "a network that nobody sends into runs empty");
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
            // At least as long as the longest of them, and no longer than all one after the other.
            prop_assert!(longest <= port.stopped_s && port.stopped_s <= all * (1.0 + 1e-12));
            prop_assert!(port.classes.iter().all(|class| class.queued.packets == 0));
        }
    }

    #[test]
    fn a_run_cut_short_conserves_packets_and_repeats_the_whole_ones_beginning(case in case(), end in 1..300_000u64) {
        let mut net = eventful(&case);
        net.plan.end = us(end).max(case.warmup);
        net.plan.sample = Some(Dur::from_ms(1));
        net.plan.delay_variation = true;
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

    /// A switch whose feeding ports all obey, with ample headroom, loses nothing.
    #[test]
    fn nothing_is_lost_inside_where_every_port_obeys(case in case()) {
        let mut case = case;
        case.events.clear();
        case.obeys = true;
        for switch in &mut case.switches {
            let mut law = switch.law.take().unwrap_or(PLAIN);
            // Output queues and a crossbar's inputs are watched; a memory that outputs share is not.
            switch.fabric = match &switch.fabric {
                Fabric::CutThrough { header } => Fabric::CutThrough { header: *header },
                Fabric::InputFifo { .. } => {
                    // One FIFO for all: nothing in it can be stopped for the others.
                    law.scope = Scope::Plain;
                    Fabric::InputFifo { buffer: 1_000_000 }
                }
                Fabric::VirtualOutputQueues { speedup, .. } => {
                    let (buffer, output_buffer) = (UNLIMITED, 1_000_000);
                    Fabric::VirtualOutputQueues { buffer, output_buffer, speedup: *speedup }
                }
                _ => Fabric::OutputQueued,
            };
            let detection = Detection::Watermark { high: 0.5, low: 0.3 };
            switch.law = Some(BackPressure { detection, response: Response::Block, end_stations: true, ..law });
            // A pause too short for its own refresh does not hold: not these.
            if let Some(law) = &mut switch.law
                && let Signal::Mac { quanta } = &mut law.signal {
                    *quanta = 65_535;
                }
        }
        for link in &mut case.links {
            link.loss = 0.0;
            // Half of the buffer holds what 100 Mbit/s bring from a dozen links in the 2 ms to and fro.
            link.limit = 1_000_000;
            link.spec = Spec::default();
        }
        let mut net = built(&case, true);
        // The hosts' own queues are what fills up.
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

/// One switch, a host for each flow of one output: arrivals there do not depend on other flows.
fn one_output(case: &Case, flows: &[FlowCase]) -> Net {
    let mut net = Net::new(ETHERNET);
    net.plan.seed = case.seed;
    net.plan.classes = 8;
    net.plan.end = ms(400);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    for (i, told) in flows.iter().enumerate() {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
        let flow = net.flow(h, d, told.class, told.model.clone());
        net.plan.flows[flow].start = told.start;
        net.plan.flows[flow].stop = SILENCE;
    }
    net
}

proptest! {
    #![proptest_config(config(150))]

    /// Were a lower class ever started while a higher one waits, the higher would be later by more
    /// than the one frame that it may find in transmission (non-preemptive priority).
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

/// A transport that a document could ask for: one of each recovery, with and without ECN.
fn transport() -> impl Strategy<Value = Option<Arc<Tcp>>> {
    let recovery = select(vec!["tahoe", "reno", "newreno", "sack"]);
    let control = select(Cc::NAMES.to_vec());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 1..4u32);
    prop::option::weighted(
        0.8,
        (recovery, control, flags).prop_map(|(recovery, control, (ecn, handshake, timestamps, pacing, every))| {
            // Its target has no default.
            let control = match control {
                "packet-marking" => serde_json::json!({ "kind": control, "target": "1Mbit/s" }),
                _ => serde_json::json!({ "kind": control }),
            };
            let tcp = serde_json::json!({
                "segment": "960B",
                "recovery": { "kind": recovery },
                "congestion-control": control,
                "ecn": if ecn { "classic" } else { "off" },
                "handshake": handshake,
                "timestamps": timestamps,
                "pacing": pacing,
                "delayed-ack": { "every": every },
            });
            Arc::new(serde_json::from_value(tcp).expect("a document's transport"))
        }),
    )
}

/// Any discipline with its defaults, marking where it can.
fn discipline() -> impl Strategy<Value = Spec> {
    select(Spec::NAMES.to_vec()).prop_map(|kind| {
        let marking = serde_json::from_value(serde_json::json!({ "kind": kind, "ecn": true }));
        let plain =
            || serde_json::from_value(serde_json::json!({ "kind": kind })).expect("every parameter has a default");
        marking.unwrap_or_else(|_: serde_json::Error| plain())
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// Transports over every discipline: `run` compares the engines, `report` finds every packet and
    /// acknowledgement again, and what the applications get is no more than what arrived.
    #[test]
    fn transports_conserve_packets_under_every_discipline_and_both_engines_agree(
        case in case(),
        transports in prop::collection::vec(transport(), 8),
        disciplines in prop::collection::vec(discipline(), 8),
        end in 1_000..800_000u64,
    ) {
        let mut net = eventful(&case);
        net.plan.end = us(end).max(case.warmup);
        net.plan.framing.mtu = net.plan.framing.mtu.max(1_000);
        for (flow, transport) in net.plan.flows.iter_mut().zip(&transports) {
            flow.transport.clone_from(transport);
            flow.probe = true;
        }
        let by_address = |law: &BackPressure| matches!(law.scope, Scope::Destination | Scope::ClassDestination);
        if !case.switches.iter().any(|s| s.law.as_ref().is_some_and(by_address)) {
            for (link, discipline) in net.plan.links.iter_mut().zip(disciplines.iter().cycle()) {
                link.queue[0].discipline = discipline.clone();
            }
        }
        net.plan.sample = Some(Dur::from_ms(5));
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        for flow in report.flows.iter().filter(|f| f.transport.is_some()) {
            let transport = flow.transport.as_ref().expect("filtered");
            prop_assert!(transport.retransmissions <= transport.segments, "{}", flow.name);
            prop_assert!(transport.window >= 1.0 || transport.segments == 0, "{}: window {}", flow.name, transport.window);
            prop_assert!(transport.acks_lost <= transport.acks_sent);
        }
    }
}

/// Applications of all kinds, over connections or datagrams.
fn driven() -> impl Strategy<Value = Arc<Application>> {
    let bytes = |most: u64| {
        (1..=most).prop_map(|size| serde_json::json!({ "kind": "exponential", "mean": format!("{size}B") }))
    };
    let sessions = (bytes(2_000), bytes(60_000), 1..5u32, select(vec!["fresh", "persistent"]), 1..200u64);
    prop_oneof![
        sessions.prop_map(|(request, object, parallel, connections, timeout)| application(serde_json::json!({
            "kind": "web", "request": request, "main": object, "object": object, "parallel": parallel,
            "objects": { "kind": "geometric", "mean": 3.0 }, "connections": connections,
            "service": { "kind": "exponential", "mean": "2ms" }, "think": { "kind": "exponential", "mean": "30ms" },
            "timeout": format!("{timeout}ms"),
        }))),
        (bytes(60_000), 1..100u64).prop_map(|(size, interval)| application(serde_json::json!({
            "kind": "transfers", "size": size, "interval": format!("{interval}ms"),
        }))),
    ]
}

proptest! {
    #![proptest_config(config(200))]

    /// `run` compares the engines and checks conservation; what was begun is complete, has failed, was
    /// refused or is under way; and after the silence everybody comes to an end.
    #[test]
    fn applications_conserve_packets_and_account_for_all_that_they_begin(
        case in case(),
        laws in prop::collection::vec((driven(), transport(), 0..100usize, 0..100usize), 1..5),
        cut in prop::option::of(1_000..400_000u64),
    ) {
        let mut net = eventful(&case);
        net.plan.framing.mtu = net.plan.framing.mtu.max(1_000);
        net.plan.timeline.retain(|c| !matches!(c.what, ChangeKind::FlowStart(_) | ChangeKind::FlowStop(_)));
        net.plan.warmup = Time::ZERO;
        let hosts: Vec<NodeId> = (0..net.plan.nodes.len() as NodeId)
            .filter(|n| matches!(net.plan.nodes[usize::from(*n)].kind, NodeKind::Host(_)))
            .collect();
        let mut parallel = Vec::new();
        for (index, (law, tcp, from, to)) in laws.iter().enumerate() {
            let (from, to) = (hosts[from % hosts.len()], hosts[to % hosts.len()]);
            if from == to {
                continue;
            }
            let first = net.plan.flows.len();
            match law.pages() {
                Some(pages) => {
                    net.session(from, to, law, tcp.as_ref());
                    parallel.push((index, pages.parallel));
                }
                None => {
                    let tcp = tcp.clone().unwrap_or_default();
                    net.transfers(from, to, law, &tcp, 3);
                    parallel.push((index, 3));
                }
            }
            for flow in &mut net.plan.flows[first..] {
                flow.group = format!("{index}");
                flow.stop = SILENCE;
            }
        }
        if let Some(cut) = cut {
            net.plan.end = us(cut);
        }
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        for (index, most) in parallel {
            let told = &report.applications[&format!("{index}")];
            let session = laws[index].0.pages().is_some();
            let done = told.time.count + told.failed + told.refused;
            prop_assert!(done <= told.begun && told.begun - done <= u64::from(if session { 1 } else { most }), "{:?}", told);
            prop_assert!(!session || told.exchange.count >= told.time.count, "a page has one at least: {:?}", told);
            if cut.is_none() && session {
                // All have a time-out; a transfer's timer may have been doubled beyond the end.
                prop_assert_eq!(told.begun, done, "by the end nobody waits");
            }
        }
    }
}
