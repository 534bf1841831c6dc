//! Which ports packets leave by on their way from one host to another.

use tailback_sim::plan::{NodeId, Plan};

/// A port on a way: twice its link and the side that sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hop {
    pub port: u32,
    /// Of the packets that are sent, those that leave by this port, as far as the division among equal ways decides
    /// it, which on the whole is even.
    pub share: f64,
}

/// The ports of all ways from one node to another, nearer ones first.
pub(super) fn ways(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut front = vec![(from, 1.0)];
    // No way is longer than there are nodes.
    for _ in 0..plan.nodes.len() {
        let mut next: Vec<(NodeId, f64)> = Vec::new();
        for (node, share) in front {
            let links = plan.routes.links(node, to);
            for link in links {
                let ends = plan.links[*link as usize].ends;
                let side = u32::from(ends[0] != node);
                let share = share / links.len() as f64;
                hops.push(Hop { port: 2 * link + side, share });
                let other = ends[1 - side as usize];
                match next.iter_mut().find(|(node, _)| *node == other) {
                    Some((_, sum)) => *sum += share,
                    None if other != to => next.push((other, share)),
                    None => {}
                }
            }
        }
        if next.is_empty() {
            break;
        }
        front = next;
    }
    hops
}

/// Which ports flows use.
pub(crate) struct Used {
    /// By port, whether it is on the way of some flow's data, or of acknowledgements.
    ports: Vec<bool>,
}

impl Used {
    pub fn new(plan: &Plan) -> Used {
        let mut ports = vec![false; 2 * plan.links.len()];
        for flow in &plan.flows {
            let mut use_all = |from, to| ways(plan, from, to).iter().for_each(|hop| ports[hop.port as usize] = true);
            use_all(flow.from, flow.to);
            if flow.transport.is_some() {
                use_all(flow.to, flow.from);
            }
        }
        Used { ports }
    }
    /// Whether a port is on some flow's way. Of flows that draw their ends one of the ways is known.
    pub fn is_used(&self, port: u32) -> bool {
        self.ports[port as usize]
    }
}
