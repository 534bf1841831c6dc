//! The network of a plan, for drawings: nodes, links and flows.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tailback_sim::plan::{Among, FlowPlan, NodeId, NodeKind, Plan};

/// Returns the nodes as pairs of name and kind (`host` or `switch`); the links with their ends, rates, delay, and the limits of the
/// highest class's queues (null: unlimited); and the flows as sender, receiver and group.
pub fn network(plan: &Plan) -> Value {
    let name = |node: u16| plan.nodes[usize::from(node)].name.as_str();
    let kind = |kind: &NodeKind| if matches!(kind, NodeKind::Host(_)) { "host" } else { "switch" };
    let nodes: Vec<_> = plan.nodes.iter().map(|n| json!([n.name, kind(&n.kind)])).collect();
    let links: Vec<_> = (plan.links.iter())
        .map(|link| {
            let limit = |side: usize| link.queue[side].limits.first().copied().filter(|bytes| *bytes != u64::MAX);
            json!({
                "ends": link.ends.map(name),
                "rate_bps": link.rate.map(|rate| rate.0),
                "delay_s": link.delay.as_secs(),
                "buffer_bytes": [limit(0), limit(1)],
            })
        })
        .collect();
    // For flows between random hosts: every sender and every receiver once.
    let pairs = |f: &FlowPlan| match f.among.as_deref() {
        None => vec![(f.from, f.to)],
        Some(Among { from, to, .. }) => {
            let other = |node: NodeId, all: &[NodeId]| all.iter().copied().find(|n| *n != node).unwrap_or(node);
            let sent = from.iter().map(|node| (*node, other(*node, to)));
            sent.chain(to.iter().map(|node| (other(*node, from), *node))).collect()
        }
    };
    let mut seen = BTreeSet::new();
    let of_kind = |f: &&FlowPlan| f.among.is_none() || seen.insert(f.group.clone());
    let drawn: Vec<&FlowPlan> = plan.flows.iter().filter(of_kind).collect();
    let named = |f: &&FlowPlan| pairs(f).into_iter().map(|(from, to)| (from, to, f.group.clone())).collect::<Vec<_>>();
    let flows: BTreeSet<_> = drawn.iter().flat_map(named).collect();
    let flows: Vec<_> = flows.iter().map(|(from, to, group)| [name(*from), name(*to), group]).collect();
    json!({ "nodes": nodes, "links": links, "flows": flows })
}
