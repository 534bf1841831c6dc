//! Names and properties of a network's nodes, ports and flows, indexed by the numbers in trace rows.

use tailback_qdisc::signals::{Signals, Threshold};
use tailback_qdisc::{Accounting, Site};
use tailback_sim::World;
use tailback_sim::plan::{
    ChangeKind, ConditionerPlan, Fabric, FlowPlan, NodeId, NodeKind, Place, Plan, QueuePlan, Response, Scope,
    SwitchPlan, Watchdog, port_names,
};
use tailback_units::{Dur, Rate, Time};
use tailback_user::{Factories, NoFactories};

/// The network of a trace. Numbers of nodes, ports and flows in rows are indices into these lists.
#[derive(Clone, Debug)]
pub struct Network {
    /// Names of the nodes, hosts and switches.
    pub nodes: Vec<String>,
    /// For each node, `true` if it is a host.
    pub hosts: Vec<bool>,
    /// For each node, the memory in which packets wait.
    pub memories: Vec<Memory>,
    /// Output ports.
    pub ports: Vec<Port>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Number of traffic classes.
    pub classes: u8,
    /// Header bytes that the framing adds to the payload of a packet of a flow without a transport.
    pub header: u32,
    /// End of the warm-up.
    pub warmup: Time,
    /// End of the run.
    pub end: Time,
}

/// Memory of a node in which packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Each output queue has its own limit.
    Queues,
    /// Output queues share a memory of this size, bytes of buffer.
    Shared(u64),
    /// Output queues share a memory of this size, bytes of buffer, whose use is accounted per input.
    ByInput(u64),
    /// Packets wait at the inputs of a crossbar, each with a memory of this size, bytes of buffer.
    Crossbar(u64),
}

/// Properties of the notifications that a port may receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Notices {
    /// Traffic that a notification stops or slows.
    pub scope: Scope,
    /// `true` if a notification slows the traffic, `false` if it stops the traffic.
    pub slows: bool,
    /// Time from the reception of a notification to its effect.
    pub response_time: Dur,
}

/// An output port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name, such as `sw1->sw2`.
    pub name: String,
    /// Node whose port it is.
    pub from: NodeId,
    /// Node at the other end of the link.
    pub to: NodeId,
    /// Rate of the link at the start of the run.
    pub rate: Rate,
    /// Propagation delay of the link at the start of the run.
    pub delay: Dur,
    /// For each class, the names of the state variables in rows ([`tailback_sim::trace::Row::state`]), in their order
    /// there.
    pub state: Vec<Vec<&'static str>>,
    /// Kind of the queue discipline, such as `red`.
    pub law: &'static str,
    /// Queue lengths and waiting times at which the discipline reacts, for the highest class.
    pub thresholds: Vec<Threshold>,
    /// Limit of each class, bytes of buffer; `u64::MAX`: unbounded.
    pub limits: Vec<u64>,
    /// Limit of each class, packets; `u64::MAX`: unbounded.
    pub places: Vec<u64>,
    /// `true` if a shaper may hold packets.
    pub shapes: bool,
    /// Changes of the link's rate by the timeline, with their times, in order.
    pub rates: Vec<(Time, Rate)>,
    /// Times at which the timeline takes the link down (`false`) or up (`true`), in order.
    pub states: Vec<(Time, bool)>,
    /// Probability of loss on the link at the start of the run, 0 to 1.
    pub loss: f64,
    /// Rule by which the link carries more bytes for a frame than its wire bytes; `None`: it carries the wire bytes.
    pub accounting: Option<Accounting>,
    /// Number of bytes of a frame that must have arrived at the other end before the frame is forwarded there. `None`:
    /// the other end is not a cut-through switch.
    pub header: Option<u32>,
    /// Notifications that the port may receive; `None`: it receives none.
    pub notices: Option<Notices>,
    /// Watchdog of the port against pauses that last too long; `None`: there is none.
    pub watchdog: Option<Watchdog>,
    /// Names of the conditioners before the queue and after the link.
    pub conditioners: Vec<String>,
}

impl Port {
    /// Returns the rate of the link at `time`.
    pub fn rate_at(&self, time: Time) -> Rate {
        self.rates.iter().take_while(|(at, _)| *at <= time).last().map_or(self.rate, |(_, rate)| *rate)
    }

    /// Returns the time for which a frame of `wire` bytes whose transmission starts at `time` occupies the transmitter.
    /// It is longer if a cut-through switch starts before the frame has arrived completely.
    pub fn tx_time(&self, time: Time, wire: u16) -> Dur {
        let bytes = self.accounting.map_or(u32::from(wire), |accounting| accounting.of(wire));
        self.rate_at(time).clock().tx_time(bytes)
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name, such as `data[3]`.
    pub name: String,
    /// Name of the group under which the flow is reported.
    pub group: String,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    /// Traffic class, 0 is the highest.
    pub class: u8,
    /// `true` if the flow has a transport.
    pub has_transport: bool,
    /// Header bytes that the transport adds to a segment; 0 without a transport.
    pub header: u32,
    /// Names of the conditioners at the source that apply to the flow.
    pub conditioners: Vec<String>,
}

impl Network {
    /// Returns the network of a plan without user-defined components. Hosts that the plan chooses at random are the same as
    /// in the run.
    pub fn of(plan: &Plan) -> Network {
        Network::with_factories(plan, &NoFactories)
    }

    /// Returns the network of a plan; `factories` makes its user-defined components, which name their state variables.
    pub fn with_factories(plan: &Plan, factories: &dyn Factories) -> Network {
        // Only a traced world has ports in the general form, whose disciplines have the state that rows contain.
        let world = World::with_factories(Plan { trace: Some(Box::default()), ..plan.clone() }, factories);
        let plan = world.plan();
        let port = |(number, name): (u32, String)| {
            let (link, side) = (&plan.links[number as usize / 2], number as usize % 2);
            let (from, to) = (link.ends[side], link.ends[1 - side]);
            let queue = &link.queue[side];
            let at_this_port = |c: &&ConditionerPlan| match c.place {
                Place::Source => false,
                Place::Egress { port } | Place::Ingress { port } => port == number,
            };
            Port {
                name,
                from,
                to,
                rate: link.rate[side],
                delay: link.delay,
                state: (0..usize::from(plan.classes)).map(|class| world.trace_state_names(number, class)).collect(),
                law: queue.discipline.kind(),
                thresholds: thresholds(queue, link.rate[side]),
                limits: queue.limits.clone(),
                places: queue.places.clone(),
                shapes: queue.shaper.is_some(),
                rates: rates(plan, number),
                states: states(plan, number),
                loss: link.loss,
                accounting: link.accounting,
                header: match switch(plan, to).map(|next| &next.fabric) {
                    Some(Fabric::CutThrough { header }) => Some(*header),
                    _ => None,
                },
                notices: notices(plan, from, to),
                watchdog: switch(plan, from).and_then(|own| own.watchdog),
                conditioners: plan.conditioners.iter().filter(at_this_port).map(|c| c.name.clone()).collect(),
            }
        };
        Network {
            nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            hosts: plan.nodes.iter().map(|node| matches!(node.kind, NodeKind::Host(_))).collect(),
            memories: plan.nodes.iter().map(|node| memory(&node.kind)).collect(),
            ports: (0u32..).zip(port_names(&plan.nodes, &plan.links)).map(port).collect(),
            flows: (0u32..).zip(&plan.flows).map(|(number, own)| flow(plan, number, own)).collect(),
            classes: plan.classes,
            header: plan.framing.header,
            warmup: plan.warmup,
            end: plan.end,
        }
    }
}

/// Returns the flow with this number.
fn flow(plan: &Plan, number: u32, own: &FlowPlan) -> Flow {
    let applies = |c: &&ConditionerPlan| {
        c.place == Place::Source && c.flows.as_ref().is_none_or(|flows| flows.binary_search(&number).is_ok())
    };
    Flow {
        name: own.name().to_string(),
        group: own.group.clone(),
        from: own.from,
        to: own.to,
        class: own.class,
        has_transport: own.transport.is_some(),
        header: own.transport.as_ref().map_or(0, |tcp| tcp.header.0 as u32),
        conditioners: plan.conditioners.iter().filter(applies).map(|c| c.name.clone()).collect(),
    }
}

/// Returns the switch with this index; `None`: the node is a host.
fn switch(plan: &Plan, node: NodeId) -> Option<&SwitchPlan> {
    match &plan.nodes[usize::from(node)].kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host(_) => None,
    }
}

/// Returns the memory of a node; hosts have output queues.
fn memory(kind: &NodeKind) -> Memory {
    let NodeKind::Switch(switch) = kind else { return Memory::Queues };
    match switch.fabric {
        Fabric::OutputQueued | Fabric::CutThrough { .. } => Memory::Queues,
        Fabric::SharedMemory { memory, .. } => Memory::Shared(memory),
        Fabric::SharedBuffer(ref plan) => Memory::ByInput(plan.memory),
        Fabric::InputFifo { buffer } | Fabric::VirtualOutputQueues { buffer, .. } => Memory::Crossbar(buffer),
    }
}

/// Returns the notifications that the port from `from` to `to` may receive: those of the switch `to`, or, if `to` is a
/// host, which may send PAUSE frames in a storm, those by the law of the switch `from`.
fn notices(plan: &Plan, from: NodeId, to: NodeId) -> Option<Notices> {
    let law = switch(plan, to).or_else(|| switch(plan, from))?.backpressure.as_ref()?;
    let slows = matches!(law.response, Response::Rate { .. });
    Some(Notices { scope: law.scope, slows, response_time: law.response_time })
}

/// Returns the thresholds of a queue discipline on a link of this rate, for class 0.
fn thresholds(queue: &QueuePlan, rate: Rate) -> Vec<Threshold> {
    let rate = queue.shaper.map_or(rate, |shaper| shaper.rate.min(rate));
    let site = Site { bytes: queue.limits[0], packets: queue.places[0], rate };
    let mut found = Vec::new();
    queue.discipline.each_threshold(&site, &mut |threshold| found.push(threshold));
    found
}

/// Returns the changes of a port's rate by the timeline, in order.
fn rates(plan: &Plan, port: u32) -> Vec<(Time, Rate)> {
    let (own, side) = (port / 2, port as usize % 2);
    let rate = |what: &ChangeKind| match what {
        ChangeKind::LinkRate(link, rate) if *link == own => Some(*rate),
        ChangeKind::LinkRates(link, rates) if *link == own => Some(rates[side]),
        _ => None,
    };
    plan.timeline.iter().filter_map(|change| Some((change.at, rate(&change.what)?))).collect()
}

/// Returns the changes of a port's link by the timeline, in order: `false`: down, `true`: up.
fn states(plan: &Plan, port: u32) -> Vec<(Time, bool)> {
    let state = |what: &ChangeKind| match what {
        ChangeKind::LinkDown(link) if *link == port / 2 => Some(false),
        ChangeKind::LinkUp(link) if *link == port / 2 => Some(true),
        _ => None,
    };
    plan.timeline.iter().filter_map(|change| Some((change.at, state(&change.what)?))).collect()
}
