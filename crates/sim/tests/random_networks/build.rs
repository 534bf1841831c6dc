//! Construction of a case's network.

use crate::case::{Case, Event};
use crate::common::*;
use tailback_qdisc::Accounting;
use tailback_sim::plan::*;
use tailback_units::{Rate, Time};

/// Instant at which all sources stop: 200 ms.
pub const SILENCE: Time = Time(200_000_000_000);
/// Instant at which all links come up and all pause storms end: 250 ms.
const ALL_RESTORED: Time = Time(250_000_000_000);
/// End of the run, 80 s: the time of 100 MB at the lowest rate, 10 Mbit/s. The network is then empty.
const END: Time = Time(80_000_000_000_000);

/// Code points of the flows in turn: best effort, EF and AF31.
const CODES: [u8; 3] = [0, 46, 26];

/// Returns the network of a case without its timeline and its conditioners, and without back-pressure unless `with_backpressure`.
pub fn built(case: &Case, with_backpressure: bool) -> Net {
    let mut net = Net::new(case.framing);
    net.plan.framing.mtu = net.plan.framing.mtu.min(9_000);
    net.plan.seed = case.seed;
    net.plan.classes = case.classes;
    net.plan.warmup = case.warmup;
    net.plan.end = END;
    let (mut switches, mut hosts) = (Vec::new(), Vec::new());
    for (i, drawn) in case.switches.iter().enumerate() {
        let s = net.switch(&format!("s{i}"));
        let plan = net.at_switch(s);
        plan.fabric = drawn.fabric.clone();
        plan.latency = drawn.latency;
        plan.backpressure = drawn.backpressure.clone().filter(|_| with_backpressure);
        if i > 0 {
            // All rates are set below.
            net.link(s, switches[drawn.parent % i], 100);
        }
        switches.push(s);
        for k in 0..drawn.hosts {
            let h = net.host(&format!("h{i}{k}"));
            let NodeKind::Host(plan) = &mut net.plan.nodes[usize::from(h)].kind else { unreachable!("h is a host") };
            plan.obeys = case.obeys;
            net.link(h, s, 100);
            hosts.push(h);
        }
    }
    let stops_by_destination = |backpressure: &Option<BackPressure>| {
        backpressure
            .as_ref()
            .is_some_and(|backpressure| matches!(backpressure.scope, Scope::Destination | Scope::ClassDestination))
    };
    // Without back-pressure, too, so that both networks of a case have the same queues.
    let keeps_destinations = case.switches.iter().any(|s| stops_by_destination(&s.backpressure));
    for (i, link) in net.plan.links.iter_mut().enumerate() {
        let drawn = &case.links[i % case.links.len()];
        link.rate = [Rate::mbit(drawn.mbit); 2];
        link.delay = drawn.delay;
        link.loss = drawn.loss;
        link.jitter = drawn.jitter;
        for queue in &mut link.queue {
            queue.limits.fill(drawn.limit);
            // Where addresses are stopped, queues must be kept by destination, which only drop-tail supports.
            if !keeps_destinations {
                queue.discipline = drawn.spec.clone();
            }
            queue.ring = drawn.ring;
            queue.shaper = drawn.shaper.map(|mbit| ShaperPlan {
                rate: Rate::mbit(mbit),
                burst: 4_000,
                accounting: Accounting::default(),
            });
        }
    }
    for drawn in &case.flows {
        let (from, to) = (hosts[drawn.from % hosts.len()], hosts[drawn.to % hosts.len()]);
        if from != to {
            let flow = net.flow(from, to, drawn.class % case.classes, drawn.model.clone());
            net.plan.flows[flow].start = drawn.start;
            net.plan.flows[flow].stop = SILENCE;
            net.plan.flows[flow].code = CODES[flow % CODES.len()];
        }
    }
    net
}

/// Returns the hosts at switches whose back-pressure sends PAUSE or PFC frames; only these hosts may send storms. A host
/// with several links may be listed more than once.
fn pause_hosts(net: &Net) -> Vec<NodeId> {
    let nodes = &net.plan.nodes;
    let supports_pause = |n: NodeId| {
        matches!(&nodes[usize::from(n)].kind, NodeKind::Switch(switch)
            if switch.backpressure.as_ref().is_some_and(|backpressure| matches!(backpressure.signal, Signal::Mac { .. })))
    };
    let is_host = |n: NodeId| matches!(nodes[usize::from(n)].kind, NodeKind::Host(_));
    let links = net.plan.links.iter().flat_map(|link| [link.ends, [link.ends[1], link.ends[0]]]);
    links.filter(|[host, switch]| is_host(*host) && supports_pause(*switch)).map(|[host, _]| host).collect()
}

/// Returns the network of a case with its back-pressure, its conditioners and its timeline. From [`ALL_RESTORED`] on all links are up, and no
/// pause storm is active.
pub fn eventful(case: &Case) -> Net {
    let mut net = built(case, true);
    let (links, flows) = (net.plan.links.len() as u32, net.plan.flows.len() as u32);
    for (i, drawn) in case.conditioners.iter().enumerate() {
        let place = match drawn.place {
            Place::Source => Place::Source,
            Place::Egress { port } => Place::Egress { port: port % (2 * links) },
            Place::Ingress { port } => Place::Ingress { port: port % (2 * links) },
        };
        net.plan.conditioners.push(ConditionerPlan {
            name: format!("c{i}"),
            place,
            flows: None,
            matches: None,
            per_flow: drawn.per_flow,
            meter: drawn.meter.clone(),
            police: drawn.police,
            actions: Default::default(),
            accounting: Accounting::default(),
        });
    }
    let switches: Vec<NodeId> = (0..net.plan.nodes.len() as NodeId)
        .filter(|n| matches!(net.plan.nodes[usize::from(*n)].kind, NodeKind::Switch(_)))
        .collect();
    let storm_hosts = pause_hosts(&net);
    let host = |n: u32| storm_hosts.get(n as usize % storm_hosts.len().max(1)).copied();
    for (at, event) in &case.events {
        match *event {
            Event::Flap(link, duration) => {
                net.change(*at, ChangeKind::LinkDown(link % links));
                net.change(*at + duration, ChangeKind::LinkUp(link % links));
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
            Event::Storm(n, duration) => {
                if let Some(node) = host(n) {
                    net.change(*at, ChangeKind::PauseStorm { node, on: true });
                    net.change(*at + duration, ChangeKind::PauseStorm { node, on: false });
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
        net.change(ALL_RESTORED, ChangeKind::LinkUp(link));
    }
    for node in storm_hosts {
        net.change(ALL_RESTORED, ChangeKind::PauseStorm { node, on: false });
    }
    net
}
