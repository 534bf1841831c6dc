//! Expected work at each node and link: an estimate of the bits per second of all flows at each hop.

use crate::plan::{NodeId, Plan};

/// Expected traffic, bit/s.
#[derive(Debug)]
pub(super) struct Work {
    /// By node: traffic that the node generates plus traffic that arrives there.
    pub nodes: Vec<u64>,
    /// By link: sum of the traffic of both directions.
    pub links: Vec<u64>,
}

/// Returns the expected traffic of a plan.
pub(super) fn expected(plan: &Plan) -> Work {
    let paths: Vec<Vec<u32>> = (0u32..).zip(&plan.flows).map(|(n, flow)| path(plan, n, flow.from, flow.to)).collect();
    let mut flows_at = vec![0u64; 2 * plan.links.len()];
    paths.iter().flatten().for_each(|port| flows_at[*port as usize] += 1);
    let capacity = |port: u32| plan.links[port as usize / 2].rate[port as usize % 2].0;
    let mut work = Work { nodes: vec![0; plan.nodes.len()], links: vec![0; plan.links.len()] };
    for (flow, path) in plan.flows.iter().zip(&paths) {
        let share = path.iter().map(|port| capacity(*port) / flows_at[*port as usize]).min().unwrap_or(0);
        let stated = if flow.transport.is_some() { None } else { flow.model.mean_rate_bps() };
        let bottleneck = path.iter().map(|port| capacity(*port)).min().unwrap_or(0);
        let rate = stated.map_or(share, |rate| (rate as u64).min(bottleneck)).max(1);
        let mut add = |node: NodeId, rate: u64| work.nodes[usize::from(node)] += rate;
        add(flow.from, rate);
        // One acknowledgement returns for every one or two packets; its work is that of a packet, since it is per
        // frame.
        let with_acks = if flow.transport.is_some() { rate + rate / 2 } else { rate };
        for port in path {
            let link = &plan.links[*port as usize / 2];
            add(link.ends[1 - *port as usize % 2], with_acks);
            work.links[*port as usize / 2] += with_acks;
        }
        if flow.transport.is_some() {
            add(flow.from, rate);
            add(flow.to, rate);
        }
    }
    work
}

/// Returns the ports on the path of the flow with index `flow`; among equal-cost links one is chosen by that index.
fn path(plan: &Plan, flow: u32, from: NodeId, to: NodeId) -> Vec<u32> {
    let (mut at, mut path) = (from, Vec::new());
    // A path has fewer links than there are nodes.
    while at != to && path.len() < plan.nodes.len() {
        let choice = plan.routes.links(at, to);
        if choice.is_empty() {
            break;
        }
        let link = choice[flow as usize % choice.len()];
        let side = u32::from(plan.links[link as usize].ends[0] != at);
        path.push(2 * link + side);
        at = plan.links[link as usize].ends[1 - side as usize];
    }
    path
}
