//! Construction of a world from a plan, before the first event.

use super::application::Applications;
use super::connections::{Transports, numbers};
use super::recorder::Recorder;
use super::records::Records;
use super::share::Share;
use super::source::{Flow, Writer};
use super::{FabricState, Node, OutputMemory, World, ports};
use crate::conditioning::Conditioning;
use crate::control_frame::ControlFrames;
use crate::crossbar::{Crossbar, Limits};
use crate::event_queue::{EventQueue, Key, Kind};
use crate::headroom;
use crate::labelling::Labelling;
use crate::ledger::{Keep, Ledger};
use crate::plan::{
    Among, ApplicationPlan, Draw, Fabric, Framing, NO_ROUTE, NodeId, NodeKind, NodePlan, Plan, SwitchPlan,
};
use crate::port::Queue;
use crate::routes::{Forwarding, HashKeys};
use crate::shared_buffer::SharedBuffer;
use crate::telemetry::Telemetry;
use crate::trace::Tracer;
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_qdisc::{Discipline, Packet};
use tailback_random::Rng;
use tailback_units::{Dur, Time};
use tailback_user::{Factories, Faults, NoFactories};

impl World {
    /// Returns the world of `plan`, which has no user-defined components, before its first event.
    ///
    /// # Panics
    /// If the plan is inconsistent: the caller must have checked it.
    pub fn new(plan: Plan) -> World {
        World::with_factories(plan, &NoFactories)
    }

    /// Returns the world of `plan` before its first event; `factories` makes its user-defined components. If one of them
    /// fails, the world has a [`World::fault`].
    ///
    /// # Panics
    /// If the plan is inconsistent: the caller must have checked it.
    pub fn with_factories(mut plan: Plan, factories: &dyn Factories) -> World {
        draw(&mut plan);
        World::drawn(plan, None, factories, Faults::default())
    }

    /// Returns the world of a plan whose random choices have been drawn; with `share`, that of one partition.
    pub(crate) fn drawn(plan: Plan, share: Option<Box<Share>>, factories: &dyn Factories, faults: Faults) -> World {
        assert!(numbers(&plan.flows) < Packet::MAX_FLOWS as usize, "flows and connections must be fewer than 2^22");
        assert!(plan.links.len() * 2 < Key::MAX_COMPONENTS as usize, "there must be fewer than 2^27 links");
        let longest = |f: Framing| (f.mtu + f.header).max(f.min_frame) + f.overhead;
        assert!(
            plan.framing.mtu > 0 && u16::try_from(longest(plan.framing)).is_ok(),
            "frames must have 1 to 65535 bytes"
        );
        assert!(plan.sample.is_none_or(|interval| interval > Dur::ZERO), "the sampling interval must be above zero");
        let nodes = plan.nodes.len();
        let origins = ports::origins(&plan);
        let (ports, points) = ports::build(&plan, &origins);
        let mut outputs = vec![Vec::new(); nodes];
        let mut slots = Vec::with_capacity(ports.len());
        for (number, port) in (0u32..).zip(&ports) {
            let siblings = &mut outputs[usize::from(port.from)];
            slots.push(siblings.len() as u32);
            siblings.push(number);
        }
        let port_of = |node: u16, link: u32| {
            if link == NO_ROUTE {
                return NO_ROUTE;
            }
            2 * link + u32::from(plan.links[link as usize].ends[0] != node)
        };
        let route = |from: u16, to: u16| port_of(from, plan.routes.link(from, to));
        let routes = Forwarding::new(&plan.routes, HashKeys::new(&plan), port_of);
        let plain = || (0..).zip(&plan.flows).filter(|(_, f)| f.transport.is_none());
        let mut flows: Vec<Flow> = plain().map(|(_, f)| Flow::new(f, route(f.from, f.to), &plan)).collect();
        let mut transports = Transports::new(&plan, route);
        let conditioning = Conditioning::new(&plan);
        for out in &mut transports.outgoing {
            out.conditioner = conditioning.of_flow(out.flow);
        }
        for (flow, (index, _)) in flows.iter_mut().zip(plain()) {
            flow.conditioner = conditioning.of_flow(index);
        }
        let colours = !plan.conditioners.is_empty() || transports.outgoing.iter().any(|out| out.sender.marks());
        let keep = Keep { delays: plan.per_flow_delay, variation: plan.delay_variation, colours };
        let (connections, has_warmup) = (transports.outgoing.len(), plan.warmup > Time::ZERO);
        let ledger = Ledger::new(plan.flows.len(), connections, usize::from(plan.classes), has_warmup, keep);
        let applications = Applications::new(&plan);
        let hot_bytes = size_of_val(&*ports) + ledger.hot_bytes() + transports.hot_bytes();
        let mut world = World {
            now: Time::ZERO,
            event_queue: EventQueue::new(hot_bytes > NEAR_BYTES),
            nodes: plan.nodes.iter().zip(outputs).map(|(n, ports)| node(&plan, n, ports)).collect(),
            ports,
            slots,
            routes,
            prefetches: hot_bytes > NEAR_BYTES,
            flows,
            writers: transports.outgoing.iter().map(|_| Writer::new()).collect(),
            records: Records::new(&plan, transports.outgoing.len()),
            transports,
            applications,
            telemetry: Telemetry::new(&plan),
            ledger,
            conditioning,
            labelling: Labelling::new(&plan),
            control_frames: ControlFrames::default(),
            dropped: Vec::new(),
            recorder: Recorder::new(&plan),
            next_change: 0,
            feeds_back: points > 0,
            origins,
            undelivered_messages: 0,
            events: 0,
            shrink_at: 0,
            done: false,
            touched: false,
            trace: plan.trace.clone().map(|trace| Box::new(Tracer::new(*trace, has_limiters(&plan)))),
            share,
            faults,
            user_sources: BTreeMap::new(),
            plan,
        };
        world.install_users(factories);
        world.find_exits();
        world.mark_traced_ports();
        world.schedule_first_events();
        world
    }

    /// Schedules the first event of each component: timers of disciplines, sources, applications, measurement,
    /// timeline.
    fn schedule_first_events(&mut self) {
        for port in 0..self.ports.len() as u32 {
            if !self.owns(self.ports[port as usize].from) {
                continue;
            }
            if let Queue::General(general) = &self.ports[port as usize].queue {
                let wakeup = general.queues.iter().filter_map(|q| q.waiting.next_wakeup()).min();
                self.wake_at(port, wakeup.unwrap_or(Time::NEVER));
            }
        }
        for flow in 0..self.plan.flows.len() as u32 {
            if self.owns(self.plan.flows[flow as usize].from) {
                self.start_flow(flow, self.plan.flows[flow as usize].start);
            }
        }
        self.start_applications();
        self.schedule(self.plan.warmup, Kind::WarmedUp, 0);
        if let Some(interval) = self.plan.sample {
            self.schedule(Time::ZERO + interval, Kind::Sample, 0);
        }
        if let Some(first) = self.plan.timeline.first() {
            self.schedule(first.at, Kind::Change, 0);
        }
    }
}

/// Number of bytes that fit into the first two cache levels of common processors.
const NEAR_BYTES: usize = 256 << 10;

/// Makes the random choices that precede the first event of a run: hosts and start times of flows.
pub(crate) fn draw(plan: &mut Plan) {
    let mut partners: BTreeMap<String, BTreeMap<NodeId, NodeId>> = BTreeMap::new();
    for flow in &mut plan.flows {
        if flow.among.is_none() && flow.start_spread == Dur::ZERO {
            continue;
        }
        let mut rng = Rng::named(plan.seed, &format!("placement {}", flow.name()));
        let kind = Arc::clone(&flow.kind);
        match kind.among.as_deref() {
            Some(Among { from, to, draw: Draw::Independent }) => loop {
                flow.from = from[rng.below(from.len() as u64) as usize];
                flow.to = to[rng.below(to.len() as u64) as usize];
                if flow.to != flow.from {
                    break;
                }
            },
            Some(among) => {
                let drawn = || permutation(among, Rng::named(plan.seed, &format!("permutation {}", flow.group)));
                flow.to = partners.entry(flow.group.clone()).or_insert_with(drawn)[&flow.from];
            }
            None => {}
        }
        if flow.start_spread > Dur::ZERO {
            flow.start += Dur(rng.below(flow.start_spread.0));
        }
    }
    // All flows of a session connect the same two hosts.
    for application in &plan.applications {
        let ApplicationPlan::Session { channels, .. } = application else { continue };
        let first = &plan.flows[channels[0][0] as usize];
        let (client, server) = (first.from, first.to);
        for [request, response] in channels {
            let (request, response) = (*request as usize, *response as usize);
            (plan.flows[request].from, plan.flows[request].to) = (client, server);
            (plan.flows[response].from, plan.flows[response].to) = (server, client);
        }
    }
}

/// Returns a different receiver for each sender. If senders and receivers are the same hosts, the permutation is a
/// single cycle (Sattolo 1986), so that no host sends to itself.
fn permutation(among: &Among, mut rng: Rng) -> BTreeMap<NodeId, NodeId> {
    let mut to = among.to.clone();
    // Sattolo's algorithm leaves no element in its place; the algorithm of Fisher and Yates may.
    let excludes_own_place = u64::from(to.contains(&among.from[0]));
    for last in (1..to.len()).rev() {
        to.swap(last, rng.below(last as u64 + 1 - excludes_own_place) as usize);
    }
    among.from.iter().copied().zip(to).collect()
}

/// Returns the state of a node with the output ports `ports`.
fn node(plan: &Plan, node: &NodePlan, ports: Vec<u32>) -> Node {
    let count = ports.len();
    match &node.kind {
        NodeKind::Host(host) => {
            let fabric = FabricState::Direct;
            Node { ports, is_host: true, obeys: host.obeys, cuts_through: false, backpressure: None, fabric }
        }
        NodeKind::Switch(switch) => Node {
            is_host: false,
            obeys: true,
            cuts_through: matches!(switch.fabric, Fabric::CutThrough { .. }),
            backpressure: switch.backpressure.clone().map(Arc::new),
            fabric: match switch.fabric {
                Fabric::OutputQueued | Fabric::CutThrough { .. } => FabricState::Direct,
                Fabric::SharedMemory { memory, alpha } => {
                    FabricState::Shared(Box::new(OutputMemory { memory, alpha, used: 0 }))
                }
                Fabric::SharedBuffer(buffer) => {
                    let headroom = headroom::of_inputs(plan, switch, buffer, &ports);
                    FabricState::Buffer(Box::new(SharedBuffer::new(buffer, plan.classes, &headroom)))
                }
                Fabric::InputFifo { buffer } => {
                    let limits = Limits { virtual_queues: false, memory: buffer, queue: u64::MAX, partition: false };
                    crossbar(plan, switch, count, limits, 1.0)
                }
                Fabric::VirtualOutputQueues { buffer, output_buffer, speedup } => {
                    let by_address = switch.backpressure.as_ref().filter(|law| law.scope.by_address());
                    let partition = output_buffer != u64::MAX && by_address.is_some_and(|law| law.partition);
                    let limits = Limits { virtual_queues: true, memory: buffer, queue: output_buffer, partition };
                    crossbar(plan, switch, count, limits, speedup)
                }
            },
            ports,
        },
    }
}

/// Returns a crossbar of `ports` ports, with congestion detection if the switch has back-pressure.
fn crossbar(plan: &Plan, switch: &SwitchPlan, ports: usize, limits: Limits, speedup: f64) -> FabricState {
    let mut crossbar = Crossbar::new(ports, usize::from(plan.classes), limits, speedup);
    if let Some(law) = &switch.backpressure {
        crossbar.watch(law.detection);
    }
    FabricState::Crossbar(Box::new(crossbar))
}

const _: fn() = || {
    // A world may move to another thread, and its disciplines with it.
    fn is_send<T: Send>() {}
    is_send::<World>();
    is_send::<Discipline>();
};

/// Returns `true` if a node of the plan has rate limiters, which tag packets.
fn has_limiters(plan: &Plan) -> bool {
    plan.nodes.iter().any(|node| match &node.kind {
        NodeKind::Host(host) => host.limiters.is_some(),
        NodeKind::Switch(switch) => switch.limiters.is_some(),
    })
}
