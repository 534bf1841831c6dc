//! Names and properties of a network's nodes, ports and flows, by the indices of trace rows.

use tailback_sim::World;
use tailback_sim::plan::{FlowPlan, NodeId, NodeKind, Plan, port_names};
use tailback_units::{Dur, Rate, Time};

/// The network of a trace.
#[derive(Clone, Debug)]
pub struct Network {
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// `true` for nodes that are hosts.
    pub hosts: Vec<bool>,
    /// Output ports.
    pub ports: Vec<Port>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Number of traffic classes.
    pub classes: u8,
    /// Bytes that the framing adds to the payload of a packet without a transport.
    pub header: u32,
    /// End of the warm-up.
    pub warmup: Time,
    /// Last instant of the run.
    pub end: Time,
}

/// An output port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name, such as `sw1->sw2`.
    pub name: String,
    /// Node that sends.
    pub from: NodeId,
    /// Node at the other end of the link.
    pub to: NodeId,
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Propagation delay at the start.
    pub delay: Dur,
    /// By class: names of the state variables in rows ([`tailback_sim::trace::Row::state`]).
    pub state: Vec<Vec<&'static str>>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name, such as `data[3]`.
    pub name: String,
    /// Group under which the flow is reported.
    pub group: String,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    /// Traffic class.
    pub class: u8,
    /// `true` if the flow has a transport.
    pub has_transport: bool,
    /// Bytes that the transport adds to a segment; 0 without a transport.
    pub header: u32,
}

impl Network {
    /// Returns the network of a plan; its random choices of hosts are drawn as in the run.
    pub fn of(plan: &Plan) -> Network {
        // Traced, so that all ports have the form of traced ports: only that has state variables.
        let world = World::new(Plan { trace: Some(Box::default()), ..plan.clone() });
        let plan = world.plan();
        let port = |(number, name): (u32, String)| {
            let (link, side) = (&plan.links[number as usize / 2], number as usize % 2);
            Port {
                name,
                from: link.ends[side],
                to: link.ends[1 - side],
                rate: link.rate[side],
                delay: link.delay,
                state: (0..usize::from(plan.classes)).map(|class| world.trace_state_names(number, class)).collect(),
            }
        };
        Network {
            nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            hosts: plan.nodes.iter().map(|node| matches!(node.kind, NodeKind::Host(_))).collect(),
            ports: (0u32..).zip(port_names(&plan.nodes, &plan.links)).map(port).collect(),
            flows: plan.flows.iter().map(flow).collect(),
            classes: plan.classes,
            header: plan.framing.header,
            warmup: plan.warmup,
            end: plan.end,
        }
    }
}

fn flow(plan: &FlowPlan) -> Flow {
    Flow {
        name: plan.name().to_string(),
        group: plan.group.clone(),
        from: plan.from,
        to: plan.to,
        class: plan.class,
        has_transport: plan.transport.is_some(),
        header: plan.transport.as_ref().map_or(0, |tcp| tcp.header.0 as u32),
    }
}
