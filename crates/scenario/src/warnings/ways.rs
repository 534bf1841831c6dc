//! Which ports packets leave by on their way from one host to another.

use tailback_sim::plan::{NodeId, Plan};

/// A port on a way: twice its link and the side that sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hop {
    pub port: u32,
    /// Of the packets that are sent, those that leave by this port, as far as the division among equal ways decides
    /// it, which on the whole is even.
    pub share: f64,
    /// Whether there were equal ways up to here.
    pub divided: bool,
}

/// The ports of all ways from one node to another, nearer ones first.
pub(super) fn ways(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Hop> {
    ways_through(plan, from, to, |_| 1.0)
}

/// The same where only a part of what leaves by a port gets through; behind those that let nothing through there are none.
pub(super) fn ways_through(plan: &Plan, from: NodeId, to: NodeId, through: impl Fn(u32) -> f64) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut front = vec![(from, 1.0, false)];
    // No way is longer than there are nodes.
    for _ in 0..plan.nodes.len() {
        let mut next: Vec<(NodeId, f64, bool)> = Vec::new();
        for (node, share, divided) in front {
            let links = plan.routes.links(node, to);
            for link in links {
                let ends = plan.links[*link as usize].ends;
                let side = u32::from(ends[0] != node);
                let hop = Hop {
                    port: 2 * link + side,
                    share: share / links.len() as f64,
                    divided: divided || links.len() > 1,
                };
                hops.push(hop);
                let (other, left) = (ends[1 - side as usize], hop.share * through(hop.port));
                match next.iter_mut().find(|(node, ..)| *node == other) {
                    Some((_, sum, _)) => *sum += left,
                    None if other != to && left > 0.0 => next.push((other, left, hop.divided)),
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
