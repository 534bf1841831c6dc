//! Views of the network between two steps.

use super::recorder::{PortSample, Probe, sender_state};
use super::{FabricState, World};
use crate::ledger::Count;
use crate::plan::{NodeId, port_names};
use crate::port::Queue;
use crate::report::Counts;
use crate::report::counts::secs;
use crate::view::{ClassView, FlowView, NodeView, PortView, ReceiverView, SenderView, Transmission, View};
use std::collections::BTreeMap;
use tailback_qdisc::Packet;
use tailback_transport::State;
use tailback_units::Time;

/// Packets by flow number; the numbers of acknowledgements follow those of the flows.
type ByFlow = BTreeMap<u32, Count>;

/// Adds a packet to the count of its flow.
fn count(found: &mut ByFlow, packet: &Packet) {
    found.entry(packet.flow()).or_default().add(u64::from(packet.size));
}

/// Returns an instant in seconds; `None`: never.
fn instant(at: Time) -> Option<f64> {
    (at != Time::NEVER).then(|| at.as_secs())
}

/// Returns state variables by name.
fn named(state: Vec<Probe>) -> BTreeMap<String, f64> {
    state.into_iter().map(|probe| (probe.name, probe.value)).collect()
}

impl World {
    /// Returns the present state of the whole network. The processor time grows with the number of waiting packets and
    /// of flows; [`World::port_view`], [`World::node_view`] and [`World::flow_view`] return the state of a single port,
    /// node or flow.
    pub fn view(&mut self) -> View {
        let names = port_names(&self.plan.nodes, &self.plan.links);
        let ports = (0..).zip(names).map(|(port, name)| (name, self.port_view(port))).collect();
        View {
            time_s: self.now.as_secs(),
            time_ps: self.now.0,
            next_event_s: instant(self.next_event()),
            nodes: (0..self.nodes.len()).map(|n| (self.plan.nodes[n].name.clone(), self.node_view(n))).collect(),
            ports,
            flows: (0..self.plan.flows.len())
                .map(|flow| (self.plan.flows[flow].name().to_string(), self.flow_view(flow)))
                .collect(),
        }
    }

    /// Returns the index of a port by its name, such as `sw1->sw2`; `None`: there is no such port.
    pub fn port_named(&self, name: &str) -> Option<usize> {
        port_names(&self.plan.nodes, &self.plan.links).iter().position(|port| port == name)
    }

    /// Returns the index of a flow by its name, such as `data[2]`; `None`: there is no such flow.
    pub fn flow_named(&self, name: &str) -> Option<u32> {
        (0..).zip(&self.plan.flows).find(|(_, flow)| flow.name().to_string() == name).map(|(index, _)| index)
    }

    /// Returns the index of a host or switch by its name; `None`: there is no such node.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        (0..).zip(&self.plan.nodes).find(|(_, node)| node.name == name).map(|(index, _)| index)
    }

    /// Returns the name of the flow with an index, such as `data[2]`.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn flow_name(&self, flow: u32) -> String {
        self.plan.flows[flow as usize].name().to_string()
    }

    /// Returns the present state of a port, by its index: port 2 l + s sends from end s (0 or 1) of link l.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn port_view(&mut self, port: usize) -> PortView {
        let now = self.now;
        let p = &mut self.ports[port];
        let classes = p.classes.len();
        let mut found = vec![ByFlow::new(); classes];
        p.visit_waiting(now, &mut |packet| {
            let class = if classes == 1 { 0 } else { usize::from(packet.class()) };
            count(&mut found[class], packet);
        });
        let sample = PortSample::of(&self.plan, now, p);
        let (up, control_frames, wake) = match &p.queue {
            Queue::General(general) => (general.up, general.control.len(), general.wake_at),
            Queue::Fifo { .. } | Queue::Admission(_) => (true, 0, Time::NEVER),
        };
        let on_link = p.on_link(now);
        let (rate, delay) = (p.rate, p.delay);
        let waiting: Vec<Count> = (0..classes).map(|class| p.waiting_at(now, class)).collect();
        let service = p.in_service(now).map(|packet| (packet.flow(), packet.seq, u64::from(packet.size)));
        let free = p.free;
        PortView {
            rate_bps: rate.0,
            delay_s: delay.as_secs(),
            up,
            queue_bytes: sample.queue,
            classes: waiting
                .into_iter()
                .zip(found)
                .map(|(queued, found)| ClassView { queued: queued.into(), by_flow: self.by_name(found) })
                .collect(),
            transmission: service.map(|(flow, sequence, bytes)| Transmission {
                flow: self.packet_name(flow),
                sequence,
                bytes,
                end_s: free.as_secs(),
            }),
            on_link_frames: on_link as u64,
            control_frames: control_frames as u64,
            sent_bytes: sample.sent,
            dropped_packets: sample.dropped,
            marked_packets: sample.marked,
            stopped: sample.stopped,
            stopped_s: secs(sample.stopped_time),
            held: sample.held,
            held_s: secs(sample.held_time),
            wake_s: instant(wake),
            state: named(sample.state),
        }
    }

    /// Returns the present state of a node, by its index.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn node_view(&self, node: usize) -> NodeView {
        let mut found = ByFlow::new();
        let shared = match &self.nodes[node].fabric {
            FabricState::Direct => None,
            FabricState::Shared(memory) => Some(memory.used),
            FabricState::Crossbar(crossbar) => {
                crossbar.visit(&mut |packet| count(&mut found, packet));
                None
            }
            FabricState::Buffer(buffer) => Some(buffer.used()),
        };
        NodeView { at_inputs: self.by_name(found), shared_bytes: shared }
    }

    /// Returns the present state of a flow, by its index.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn flow_view(&self, flow: usize) -> FlowView {
        let (early, account) = (self.ledger.unmeasured(flow), &self.ledger.flows[flow]);
        let connection = self.transports.of(flow as u32).map(|connection| connection as usize);
        FlowView {
            offered: early.offered.plus(account.offered).into(),
            delivered: early.delivered.plus(account.delivered).into(),
            dropped: early.dropped.plus(account.dropped).into(),
            in_network: early.in_network().plus(account.in_network()).into(),
            source_s: instant(match connection {
                Some(connection) => self.writers[connection].next.at,
                None => self.flows[self.transports.plain(flow as u32)].next.at,
            }),
            sender: connection.map(|connection| {
                let sender = &self.transports.outgoing[connection].sender;
                SenderView {
                    phase: phase(sender.state()),
                    unacknowledged: sender.una(),
                    next: sender.next(),
                    timer_s: instant(sender.deadline()),
                    state: named(sender_state(sender)),
                }
            }),
            receiver: connection.map(|connection| {
                let receiver = &self.transports.incoming[connection].receiver;
                ReceiverView {
                    next: receiver.next(),
                    delivered_bytes: receiver.delivered(),
                    timer_s: instant(receiver.deadline()),
                }
            }),
        }
    }

    /// Replaces flow numbers by the names of the flows.
    fn by_name(&self, found: ByFlow) -> BTreeMap<String, Counts> {
        found.into_iter().map(|(flow, count)| (self.packet_name(flow), count.into())).collect()
    }

    /// Returns the name of the flow of packets with this flow number; ` (ack)` is appended for acknowledgements.
    pub(crate) fn packet_name(&self, number: u32) -> String {
        let flows = self.plan.flows.len();
        match (number as usize).checked_sub(flows) {
            None => self.plan.flows[number as usize].name().to_string(),
            Some(connection) => {
                let flow = self.transports.outgoing[connection].flow;
                format!("{} (ack)", self.plan.flows[flow as usize].name())
            }
        }
    }
}

/// Returns the name of a sender's state.
fn phase(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Opening => "opening",
        State::Open => "open",
        State::Reduced => "reduced",
        State::Recovery => "recovery",
        State::Loss => "loss",
    }
}
