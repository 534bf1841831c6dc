//! Ports on the paths from one host to another.

use tailback_sim::plan::{NodeId, Plan};

/// A port on a path; its number is twice that of its link, plus the side that sends (0 or 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hop {
    pub port: u32,
    /// Fraction of the packets that leave by this port if equal-cost paths are used evenly.
    pub share: f64,
    /// `true` if the path to this port has been divided among equal-cost paths.
    pub divided: bool,
}

/// Returns the ports of all paths from one node to another, nearer ones first.
pub(super) fn paths(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Hop> {
    paths_through(plan, from, to, |_| 1.0)
}

/// Returns the ports of all paths with losses, nearer ones first: only the fraction `through` of a port's packets passes
/// the port. Ports behind one that passes nothing are left out.
pub(super) fn paths_through(plan: &Plan, from: NodeId, to: NodeId, through: impl Fn(u32) -> f64) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut front = vec![(from, 1.0, false)];
    // No path is longer than the number of nodes.
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
                let (other, passed) = (ends[1 - side as usize], hop.share * through(hop.port));
                match next.iter_mut().find(|(node, ..)| *node == other) {
                    Some((_, sum, _)) => *sum += passed,
                    None if other != to && passed > 0.0 => next.push((other, passed, hop.divided)),
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

/// Ports that flows use.
pub(crate) struct Used {
    /// By port: `true` if it is on the path of some flow's data or acknowledgements.
    ports: Vec<bool>,
}

impl Used {
    /// Determines the ports that the flows of a plan use.
    pub fn new(plan: &Plan) -> Used {
        let mut ports = vec![false; 2 * plan.links.len()];
        for flow in &plan.flows {
            let mut use_all = |from, to| paths(plan, from, to).iter().for_each(|hop| ports[hop.port as usize] = true);
            use_all(flow.from, flow.to);
            if flow.transport.is_some() {
                use_all(flow.to, flow.from);
            }
        }
        Used { ports }
    }
    /// `true` if a port is on some flow's path. For hosts drawn at random only one of the paths is examined.
    pub fn is_used(&self, port: u32) -> bool {
        self.ports[port as usize]
    }
}
