//! Routes: the next link from every node to every host.

use super::links::LinkOf;
use super::nodes::Nodes;
use super::{Builder, entry};
use crate::document::Routing;
use std::collections::VecDeque;
use tailback_sim::plan::{NO_ROUTE, NodeId};

/// `routes[node][destination]` is the link to take; see [`tailback_sim::plan::Plan::routes`].
pub(super) type Routes = Vec<Vec<u32>>;

impl<'a> Builder<'a> {
    /// None when the links contradict the way of routing.
    pub(super) fn routes(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> Option<Routes> {
        if self.document.network.routing == Routing::Tree && !self.is_forest(nodes, links) {
            return None;
        }
        let neighbours = neighbours(nodes.list.len(), links);
        let mut routes = vec![vec![NO_ROUTE; nodes.list.len()]; nodes.list.len()];
        for destination in nodes.ids().filter(|id| nodes.get(*id).is_host()) {
            for (node, link) in towards(destination, &neighbours, nodes) {
                routes[usize::from(node)][usize::from(destination)] = link;
            }
        }
        Some(routes)
    }

    /// Refuses each link that closes a cycle, and names the cycle.
    fn is_forest(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> bool {
        let mut tree: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.list.len()];
        let mut forest = true;
        for link in links {
            let [a, b] = link.ends;
            if let Some(way) = way(&tree, a, b) {
                forest = false;
                let names: Vec<&str> = way.iter().chain([&a]).map(|id| nodes.name(*id)).collect();
                let message = if way.len() == 2 {
                    format!("`{}` and `{}` are linked twice", names[0], names[1])
                } else {
                    format!("this link closes a cycle: {}", names.join(" – "))
                };
                let help = "remove one of its links, or write `routing = \"shortest-path\"` under [network]";
                self.complaints.value(entry("links", link.entry).join("between"), message, help);
            } else {
                tree[usize::from(a)].push(b);
                tree[usize::from(b)].push(a);
            }
        }
        forest
    }
}

/// The nodes on the way from `a` to `b`, both included.
fn way(tree: &[Vec<NodeId>], a: NodeId, b: NodeId) -> Option<Vec<NodeId>> {
    let mut before: Vec<Option<NodeId>> = vec![None; tree.len()];
    before[usize::from(a)] = Some(a);
    let mut queue = VecDeque::from([a]);
    while let Some(node) = queue.pop_front() {
        if node == b {
            let mut way = vec![b];
            while *way.last()? != a {
                way.push(before[usize::from(*way.last()?)]?);
            }
            way.reverse();
            return Some(way);
        }
        for next in &tree[usize::from(node)] {
            if before[usize::from(*next)].is_none() {
                before[usize::from(*next)] = Some(node);
                queue.push_back(*next);
            }
        }
    }
    None
}

/// For each node its links, as (neighbour, index of the link), lowest index first.
fn neighbours(count: usize, links: &[LinkOf<'_>]) -> Vec<Vec<(NodeId, u32)>> {
    let mut neighbours = vec![Vec::new(); count];
    for (i, link) in links.iter().enumerate() {
        let [a, b] = link.ends;
        neighbours[usize::from(a)].push((b, i as u32));
        neighbours[usize::from(b)].push((a, i as u32));
    }
    neighbours
}

/// For each node with a way to `destination`, the link to take: fewest hops, then lowest index.
/// Hosts do not forward, so that ways go on from switches only.
fn towards(destination: NodeId, neighbours: &[Vec<(NodeId, u32)>], nodes: &Nodes<'_>) -> Vec<(NodeId, u32)> {
    let mut hops = vec![u32::MAX; neighbours.len()];
    hops[usize::from(destination)] = 0;
    let mut queue = VecDeque::from([destination]);
    let mut reached = Vec::new();
    while let Some(node) = queue.pop_front() {
        let here = hops[usize::from(node)];
        if node != destination && nodes.get(node).is_host() {
            continue;
        }
        for (next, _) in &neighbours[usize::from(node)] {
            if hops[usize::from(*next)] == u32::MAX {
                hops[usize::from(*next)] = here + 1;
                queue.push_back(*next);
                reached.push(*next);
            }
        }
    }
    let forwards = |node: NodeId| node == destination || !nodes.get(node).is_host();
    reached
        .into_iter()
        .filter_map(|node| {
            let nearer = |(next, _): &&(NodeId, u32)| {
                forwards(*next)
                    && hops[usize::from(*next)] != u32::MAX
                    && hops[usize::from(*next)] + 1 == hops[usize::from(node)]
            };
            let (_, link) = neighbours[usize::from(node)].iter().find(nearer)?;
            Some((node, *link))
        })
        .collect()
}
