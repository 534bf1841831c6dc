//! Nodes that must be in one partition, since they interact by other means than frames on links with lookahead.

use crate::plan::{ApplicationPlan, Fabric, NodeId, NodeKind, Place, Plan};
use std::collections::BTreeSet;
use tailback_units::Dur;

/// Disjoint sets of nodes (union-find).
#[derive(Debug)]
pub(super) struct Groups {
    /// By node: a node of the same set with a lower number, or the node itself if it is the representative.
    parent: Vec<u16>,
}

impl Groups {
    pub fn new(nodes: usize) -> Groups {
        Groups { parent: (0..nodes).map(|node| node as u16).collect() }
    }
    /// Returns the representative of a node's set: its first node.
    pub fn first(&self, node: u16) -> u16 {
        let mut at = node;
        while self.parent[usize::from(at)] != at {
            at = self.parent[usize::from(at)];
        }
        at
    }
    /// Joins the sets of two nodes.
    pub fn join(&mut self, a: u16, b: u16) {
        let (first, second) = (self.first(a).min(self.first(b)), self.first(a).max(self.first(b)));
        // Path compression.
        for node in [a, b, second] {
            self.parent[usize::from(node)] = first;
        }
    }
    /// Joins the sets of all given nodes.
    fn join_all(&mut self, nodes: impl IntoIterator<Item = u16>) {
        let mut nodes = nodes.into_iter();
        let Some(first) = nodes.next() else { return };
        nodes.for_each(|node| self.join(first, node));
    }
}

/// Returns the sets of nodes of a plan that must be in one partition.
pub(super) fn groups(plan: &Plan, lookahead: &[Dur]) -> Groups {
    let mut groups = Groups::new(plan.nodes.len());
    for (link, lookahead) in plan.links.iter().zip(lookahead) {
        // Without lookahead, an event at one end affects the other end at the same instant.
        if *lookahead == Dur::ZERO {
            groups.join(link.ends[0], link.ends[1]);
        }
        // A port that a shared buffer stops counts head-of-line blocking by inspecting the queues of that switch.
        let is_inspected = |node: NodeId| match &plan.nodes[usize::from(node)].kind {
            NodeKind::Switch(switch) => {
                matches!(switch.fabric, Fabric::SharedBuffer(_)) && switch.backpressure.is_some()
            }
            NodeKind::Host(_) => false,
        };
        if link.ends.iter().any(|node| is_inspected(*node)) {
            groups.join(link.ends[0], link.ends[1]);
        }
    }
    // The hosts of all flows of an application share its state.
    for application in &plan.applications {
        let flows: Vec<u32> = match application {
            ApplicationPlan::Session { channels, .. } => channels.iter().flatten().copied().collect(),
            ApplicationPlan::Transfers { flows, .. } => flows.clone(),
        };
        let ends = |flow: u32| [plan.flows[flow as usize].from, plan.flows[flow as usize].to];
        groups.join_all(flows.into_iter().flat_map(ends));
    }
    // Telemetry records of a packet are stored with its sender, and the switches on the path write them there.
    for flow in &plan.flows {
        if flow.transport.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().telemetry) {
            groups.join_all(nodes_on_paths(plan, flow.from, flow.to));
        }
    }
    join_meters(plan, &mut groups);
    groups
}

/// Joins the hosts that share a meter, and the nodes whose meters are recorded in one time series.
fn join_meters(plan: &Plan, groups: &mut Groups) {
    for conditioner in plan.conditioners.iter().filter(|c| c.place == Place::Source && !c.per_flow) {
        match &conditioner.flows {
            Some(flows) => groups.join_all(flows.iter().map(|flow| plan.flows[*flow as usize].from)),
            None => groups.join_all(plan.flows.iter().map(|flow| flow.from)),
        }
    }
    // The meters of a probed flow at several ports are recorded in one time series.
    if plan.sample.is_some() && plan.conditioners.iter().any(|c| c.place != Place::Source && c.per_flow) {
        let node = |port: u32, side: u32| plan.links[port as usize / 2].ends[((port % 2) ^ side) as usize];
        let probed = plan.flows.iter().filter(|flow| flow.probe).map(|flow| flow.from);
        let ports = plan.conditioners.iter().filter(|c| c.per_flow).filter_map(|c| match c.place {
            Place::Egress { port } => Some(node(port, 0)),
            Place::Ingress { port } => Some(node(port, 1)),
            Place::Source => None,
        });
        groups.join_all(probed.chain(ports));
    }
}

/// Returns `from` and all nodes that packets from `from` to `to` may pass, without `to`.
fn nodes_on_paths(plan: &Plan, from: NodeId, to: NodeId) -> BTreeSet<NodeId> {
    let (mut seen, mut ahead) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = ahead.pop() {
        for link in plan.routes.links(node, to) {
            let [a, b] = plan.links[*link as usize].ends;
            let next = if a == node { b } else { a };
            if next != to && seen.insert(next) {
                ahead.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_sets_are_one_set_that_is_represented_by_its_first_node() {
        let mut groups = Groups::new(6);
        groups.join(4, 5);
        groups.join(1, 3);
        groups.join(5, 3);
        assert_eq!((0..6).map(|node| groups.first(node)).collect::<Vec<_>>(), [0, 1, 2, 1, 1, 1]);
    }
}
