//! From a plan to a world before its first event.

use super::application::Applications;
use super::connections::{Transports, numbers};
use super::emit::{Flow, Writer};
use super::observe::Recorder;
use super::share::Share;
use super::{FabricState, Node, OutputMemory, World};
use crate::by_class::ByClass;
use crate::conditioning::Conditioning;
use crate::congestion_point::CongestionPoint;
use crate::control_frame::ControlFrames;
use crate::crossbar::{Crossbar, Limits};
use crate::detector::Detector;
use crate::egress::Egress;
use crate::event_queue::{EventQueue, Key, Kind};
use crate::headroom;
use crate::labelling::Labelling;
use crate::ledger::{Keep, Ledger};
use crate::plan::{
    Among, ApplicationPlan, BackPressure, Change, ChangeKind, Draw, Engine, Fabric, FlowPlan, Framing, LinkPlan,
    NO_ROUTE, NodeId, NodeKind, NodePlan, Place, Plan, Scope, SwitchPlan,
};
use crate::port::{
    AdmissionQueue, ClassQueue, General, Line, LineEnd, LineTiming, Loss, PendingIdle, Port, Queue, Waiting,
};
use crate::responder::Responder;
use crate::routes::Forwarding;
use crate::shared_buffer::SharedBuffer;
use crate::telemetry::Telemetry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tailback_qdisc::congestion_notification::{Limiters, LimitersSpec, Origin, Origins};
use tailback_qdisc::discipline::by_destination::ByDestination;
use tailback_qdisc::{Admission, Discipline, Packet, Site, Spec, Watch};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

impl World {
    /// The world of `plan` at time zero. The plan has been checked; an inconsistent one panics.
    pub fn new(mut plan: Plan) -> World {
        draw(&mut plan);
        World::drawn(plan, None)
    }

    /// The world of a plan that draws nothing any more, or the share in it of one part.
    pub(crate) fn drawn(plan: Plan, share: Option<Box<Share>>) -> World {
        assert!(numbers(&plan.flows) < Packet::MAX_FLOWS as usize, "at most 2^22 flows");
        assert!(plan.links.len() * 2 < Key::MAX_COMPONENTS as usize, "at most 2^27 links");
        let longest = |f: Framing| (f.mtu + f.header).max(f.min_frame) + f.overhead;
        assert!(plan.framing.mtu > 0 && longest(plan.framing) <= u32::from(u16::MAX), "frames of 1 to 65535 bytes");
        assert!(plan.sample.is_none_or(|interval| interval > Dur::ZERO), "samples some time apart");
        let nodes = plan.nodes.len();
        let (origins, busy) = (origins(&plan), shared_lines(&plan));
        let mut ports: Vec<Port> = (plan.links.iter().enumerate())
            .flat_map(|(l, link)| [0, 1].map(|side| port(&plan, l, link, side, &origins, &busy)))
            .collect();
        let points = number_points(&mut ports);
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
        let routes = Forwarding::new(&plan.routes, plan.seed, port_of);
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
        let (connections, carries) = (transports.outgoing.len(), plan.warmup > Time::ZERO);
        let ledger = Ledger::new(plan.flows.len(), connections, usize::from(plan.classes), carries, keep);
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
            transports,
            applications,
            telemetry: Telemetry::new(&plan),
            ledger,
            conditioning,
            labelling: Labelling::new(&plan),
            control_frames: ControlFrames::default(),
            dropped: Vec::new(),
            recorder: plan.sample.map(|_| Recorder::default()),
            next_change: 0,
            feeds_back: points > 0,
            origins,
            unheard: 0,
            events: 0,
            shrink_at: 0,
            done: false,
            share,
            plan,
        };
        world.find_exits();
        for port in 0..world.ports.len() as u32 {
            if !world.owns(world.ports[port as usize].from) {
                continue;
            }
            if let Queue::General(m) = &world.ports[port as usize].queue {
                let wakeup = m.queues.iter().filter_map(|q| q.waiting.next_wakeup()).min();
                world.wake_at(port, wakeup.unwrap_or(Time::NEVER));
            }
        }
        for flow in 0..world.plan.flows.len() as u32 {
            if !world.owns(world.plan.flows[flow as usize].from) {
                continue;
            }
            world.start_flow(flow, world.plan.flows[flow as usize].start);
        }
        world.start_applications();
        world.schedule(world.plan.warmup, Kind::WarmedUp, 0);
        if let Some(interval) = world.plan.sample {
            world.schedule(Time::ZERO + interval, Kind::Sample, 0);
        }
        if let Some(first) = world.plan.timeline.first() {
            world.schedule(first.at, Kind::Change, 0);
        }
        world
    }
}

/// Bytes that the first two levels of any processor's caches hold.
const NEAR_BYTES: usize = 256 << 10;

/// Draws what a run draws before it begins: the ends and starts of flows that leave them open.
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
    // All connections of a session join the same two hosts.
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

/// A receiver for each sender. If senders and receivers are the same hosts, the permutation is one cycle (Sattolo
/// 1986), so that no host sends to itself.
fn permutation(among: &Among, mut rng: Rng) -> BTreeMap<NodeId, NodeId> {
    let mut to = among.to.clone();
    let apart = u64::from(to.contains(&among.from[0]));
    for last in (1..to.len()).rev() {
        to.swap(last, rng.below(last as u64 + 1 - apart) as usize);
    }
    among.from.iter().copied().zip(to).collect()
}

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
                    let names = switch.backpressure.as_ref().filter(|law| by_address(law.scope));
                    let partition = output_buffer != u64::MAX && names.is_some_and(|law| law.partition);
                    let limits = Limits { virtual_queues: true, memory: buffer, queue: output_buffer, partition };
                    crossbar(plan, switch, count, limits, speedup)
                }
            },
            ports,
        },
    }
}

/// A crossbar of `ports` ports, with congestion detection if its switch has back-pressure.
fn crossbar(plan: &Plan, switch: &SwitchPlan, ports: usize, limits: Limits, speedup: f64) -> FabricState {
    let mut made = Crossbar::new(ports, usize::from(plan.classes), limits, speedup);
    if let Some(law) = &switch.backpressure {
        made.watch(law.detection);
    }
    FabricState::Crossbar(Box::new(made))
}

/// `true` if a host sends a storm of PAUSE frames at some time.
fn storms(plan: &Plan, host: u16) -> bool {
    plan.timeline.iter().any(|c| matches!(c.what, ChangeKind::PauseStorm { node, .. } if node == host))
}

/// The back-pressure that may act on a port: that of the neighbour, if it would notify this node
/// and this node would obey.
fn neighbour_backpressure(plan: &Plan, from: u16, to: u16) -> Option<&BackPressure> {
    let NodeKind::Switch(neighbour) = &plan.nodes[usize::from(to)].kind else {
        let NodeKind::Switch(own) = &plan.nodes[usize::from(from)].kind else { return None };
        return own.backpressure.as_ref().filter(|_| storms(plan, to));
    };
    let law = neighbour.backpressure.as_ref()?;
    match &plan.nodes[usize::from(from)].kind {
        NodeKind::Switch(_) => Some(law),
        NodeKind::Host(host) => (law.end_stations && host.obeys).then_some(law),
    }
}

fn by_address(scope: Scope) -> bool {
    matches!(scope, Scope::Destination | Scope::ClassDestination)
}

/// `true` if any switch has congestion points.
fn feeds_back(plan: &Plan) -> bool {
    plan.nodes.iter().any(|n| matches!(&n.kind, NodeKind::Switch(s) if s.notification.is_some()))
}

/// By flow, the acknowledgements' behind the others, where packets come from; empty where no
/// congestion point and no rate limiter asks.
fn origins(plan: &Plan) -> Origins {
    let limits = |n: &NodePlan| match &n.kind {
        NodeKind::Host(host) => host.limiters.is_some(),
        NodeKind::Switch(switch) => switch.limiters.is_some(),
    };
    if !feeds_back(plan) && !plan.nodes.iter().any(limits) {
        return Vec::new().into();
    }
    let data = plan.flows.iter().map(|f| Origin { source: f.from, tcp: f.transport.is_some() });
    let carried = plan.flows.iter().filter(|f| f.transport.is_some());
    data.chain(carried.map(|f| Origin { source: f.to, tcp: true })).collect()
}

/// Gives the congestion points their numbers, and returns how many there are.
fn number_points(ports: &mut [Port]) -> usize {
    let mut count = 0;
    for port in ports {
        let Queue::General(m) = &mut port.queue else { continue };
        for point in m.queues.iter_mut().filter_map(|queue| queue.point.as_mut()) {
            count += 1;
            point.number = u16::try_from(count).expect("at most 65535 congestion points");
        }
    }
    count
}

/// Reaction point of a port, if any: a switch has limiters at its ports towards other switches.
fn limiters(plan: &Plan, from: u16, to: u16) -> Option<&LimitersSpec> {
    match (&plan.nodes[usize::from(from)].kind, &plan.nodes[usize::from(to)].kind) {
        (NodeKind::Host(host), _) => host.limiters.as_deref(),
        (NodeKind::Switch(switch), NodeKind::Switch(_)) => switch.limiters.as_deref(),
        (NodeKind::Switch(_), NodeKind::Host(_)) => None,
    }
}

/// `true` if messages of congestion points may leave by a port. An edge switch that reacts and has no congestion points
/// keeps those for its hosts.
fn carries_feedback(plan: &Plan, own: Option<&SwitchPlan>, to: u16) -> bool {
    let to_host = matches!(plan.nodes[usize::from(to)].kind, NodeKind::Host(_));
    let keeps = |own: &SwitchPlan| to_host && own.limiters.is_some() && own.notification.is_none();
    feeds_back(plan) && own.is_some_and(|own| !keeps(own))
}

/// By node, whether its ports must tell when they transmit what: at a host whose connections take turns,
/// and everywhere but at hosts if packets collect what switches write.
fn shared_lines(plan: &Plan) -> Vec<bool> {
    let collects = |f: &FlowPlan| f.transport.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().telemetry);
    let any = plan.flows.iter().any(collects);
    let mut shared: Vec<bool> = plan.nodes.iter().map(|node| any && matches!(node.kind, NodeKind::Switch(_))).collect();
    for flow in plan.flows.iter().filter(|f| f.transport.as_ref().is_some_and(|tcp| tcp.takes_turns)) {
        shared[usize::from(flow.from)] = true;
    }
    shared
}

/// `true` if the longest packet that leaves before the end of the run arrives within the range of [`Time`], 213 days.
/// Beyond it a departure cannot be computed from the arrival, as early transmission does.
fn arrives_in_time(plan: &Plan, rate: Rate, delay: Dur) -> bool {
    let arrival = rate.clock().tx_time(u16::MAX.into()).0.checked_add(delay.0);
    arrival.and_then(|arrival| arrival.checked_add(plan.end.0)).is_some()
}

fn port(plan: &Plan, l: usize, link: &LinkPlan, side: usize, origins: &Origins, shared: &[bool]) -> Port {
    let (from, to) = (link.ends[side], link.ends[1 - side]);
    let name = format!("{}->{} #{l}", plan.nodes[usize::from(from)].name, plan.nodes[usize::from(to)].name);
    let queue = &link.queue[side];
    let own = match &plan.nodes[usize::from(from)].kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host(_) => None,
    };
    let (latency, timing) = match &plan.nodes[usize::from(to)].kind {
        NodeKind::Switch(s) => {
            let whole = link.accounting.map_or(LineTiming::Plain, LineTiming::Counting);
            (
                s.latency,
                if let Fabric::CutThrough { header } = s.fabric { LineTiming::CutThrough(header) } else { whole },
            )
        }
        NodeKind::Host(_) => (Dur::ZERO, link.accounting.map_or(LineTiming::Plain, LineTiming::Counting)),
    };
    let neighbour = neighbour_backpressure(plan, from, to);
    let own_pressure = own.and_then(|s| s.backpressure.as_ref());
    let limiters = limiters(plan, from, to);
    let notification = own.and_then(|s| s.notification.as_deref()).filter(|_| limiters.is_none());
    let number = 2 * l as u32 + side as u32;
    let l32 = l as u32;
    let changes = |c: &Change| matches!(c.what, ChangeKind::LinkDown(x) | ChangeKind::LinkUp(x) | ChangeKind::LinkRate(x, _) | ChangeKind::LinkDelay(x, _) if x == l32);
    // Nothing but a notification stops it, nothing changes it or writes into what it sends.
    let is_simple = plan.engine == Engine::Merged
        && plan.classes == 1
        && queue.ring.is_none()
        && queue.shaper.is_none()
        && link.jitter[side] == Dur::ZERO
        && arrives_in_time(plan, link.rate[side], link.delay + latency)
        && timing == LineTiming::Plain
        && limiters.is_none()
        && notification.is_none()
        && !carries_feedback(plan, own, to)
        && !plan.timeline.iter().any(changes)
        && !Labelling::concern(plan, number)
        && !plan.conditioners.iter().any(|c| c.place == Place::Egress { port: number });
    let by_input = own.is_some_and(|s| matches!(s.fabric, Fabric::SharedBuffer(_)));
    // There frames wait at the inputs, and these are watched.
    let behind_crossbar =
        own.is_some_and(|s| matches!(s.fabric, Fabric::InputFifo { .. } | Fabric::VirtualOutputQueues { .. }));
    // No notification either, nor does it send any: a host that storms sends PAUSE frames between its own.
    let transmits_early = is_simple
        && (own.is_some() || !storms(plan, from))
        && !shared[usize::from(from)]
        && neighbour.is_none()
        && own_pressure.is_none()
        && own.is_none_or(|s| s.fabric == Fabric::OutputQueued);
    // Neither does it watch its own queue, nor tell what it transmits, but for turns, of which it knows.
    let may_transmit_early = is_simple
        && queue.discipline.rule(&Site::default()).is_some()
        && [neighbour, own_pressure].into_iter().flatten().all(|law| !by_address(law.scope))
        && own.is_none_or(|s| s.fabric == Fabric::OutputQueued && own_pressure.is_none() || by_input)
        && (own.is_none() || !shared[usize::from(from)]);
    let egress = Egress::new(queue.ring, queue.shaper.as_ref());
    let rate = egress.as_ref().map_or(link.rate[side], |egress| egress.rate(link.rate[side]));
    let plain = queue.discipline == Spec::default() && queue.places[0] == u64::MAX;
    let site = Site { bytes: queue.limits[0], packets: queue.places[0], rate };
    let queue = if transmits_early && plain {
        Queue::Fifo { limit: queue.limits[0] }
    } else if transmits_early && let Some(rule) = queue.discipline.rule(&site) {
        Queue::Admission(Box::new(AdmissionQueue::new(rule, Rng::named(plan.seed, &format!("port {name}")))))
    } else {
        // Who names addresses stops them upstream: there the queues are kept by destination. A
        // switch of its own keeps the same order of queues, so that its list of addresses is right.
        let own_pressure = own_pressure.filter(|_| !behind_crossbar);
        let selective = [neighbour, own_pressure].into_iter().flatten().find(|b| by_address(b.scope));
        let class_queue = |(class, (&limit, &packets)): (usize, (&u64, &u64))| {
            let site = Site { bytes: limit, packets, rate };
            let stream = |what: &str| Rng::named(plan.seed, &format!("{what} {name} class {class}"));
            let waiting = match (limiters, selective) {
                (Some(spec), _) => {
                    let rng = stream("reaction point");
                    let made = Limiters::new(spec.clone(), &queue.discipline, &site, origins.clone(), rng);
                    Waiting::Limited(Box::new(made))
                }
                (None, Some(b)) if own.is_some() => Waiting::ByDestination(ByDestination::new(limit, b.partition)),
                (None, Some(_)) => Waiting::ByDestination(ByDestination::new(limit, false)),
                (None, None) => Waiting::Discipline(queue.discipline.build(&site)),
            };
            let pool = limiters.map_or(limit, |spec| spec.buffer);
            let detector = own_pressure.filter(|_| !by_input).map(|b| Detector::new(b.detection, pool));
            let mut made = ClassQueue::new(waiting, pool, detector);
            made.point = notification.map(|spec| Box::new(CongestionPoint::new(spec, stream("congestion point"))));
            made
        };
        let rule = queue.discipline.rule(&site);
        Queue::General(Box::new(General {
            transmits_early: false,
            may_transmit_early,
            idle: PendingIdle::new(rule.map_or(Watch::Nothing, |rule| rule.watches())),
            queues: ByClass::new(queue.limits.iter().zip(&queue.places).enumerate().map(class_queue)),
            tx_pending: false,
            up: true,
            jitter: link.jitter[side],
            timing,
            control: VecDeque::new(),
            turns: VecDeque::new(),
            taking_turns: false,
            responder: neighbour.map(|b| Box::new(Responder::new(b.response, own.and_then(|s| s.watchdog)))),
            egress,
            effects: VecDeque::new(),
            wake_at: Time::NEVER,
            asserted: [0; 8],
            refreshing: false,
            blocked_since: None,
            blocked: 0,
            sent_control: 0,
            notifications_sent: 0,
            notifications_received: 0,
            held_up: 0,
            held_up_for_others: 0,
            rng: Rng::named(plan.seed, &format!("port {name}")),
        }))
    };
    let end = (link.loss > 0.0).then(|| {
        let rng = Rng::named(plan.seed, &format!("loss {name}"));
        LineEnd::Loss(Loss { probability: link.loss, rng })
    });
    let line = Line { from, to, rate: link.rate[side], delay: link.delay, latency, end };
    Port::new(line, queue, usize::from(plan.classes))
}

const _: fn() = || {
    // A world moves between threads, and a discipline with it.
    fn is_send<T: Send>() {}
    is_send::<World>();
    is_send::<Discipline>();
};
