//! Path computation: shortest paths, and up*/down* paths.

use super::links::LinkOf;
use super::nodes::Nodes;
use std::collections::VecDeque;
use tailback_sim::plan::NodeId;

/// Links of each node as (neighbour, index of the link), lowest index first.
pub(super) type Neighbours = Vec<Vec<(NodeId, u32)>>;

/// Returns the neighbours of each of `count` nodes.
pub(super) fn neighbours(count: usize, links: &[LinkOf<'_>]) -> Neighbours {
    let mut neighbours = vec![Vec::new(); count];
    for (i, link) in links.iter().enumerate() {
        let [a, b] = link.ends;
        neighbours[usize::from(a)].push((b, i as u32));
        neighbours[usize::from(b)].push((a, i as u32));
    }
    neighbours
}

/// Returns the nodes that have a path to `destination`, each with its next links on all shortest paths or, without
/// `all`, only the one with the lowest index. Nearer nodes come first. Hosts do not forward, so that only switches
/// extend a path.
pub(super) fn shortest(
    destination: NodeId,
    neighbours: &Neighbours,
    nodes: &Nodes<'_>,
    all: bool,
) -> Vec<(NodeId, Vec<u32>)> {
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
    let links = |node: NodeId| {
        let nearer = |(next, _): &&(NodeId, u32)| {
            let there = hops[usize::from(*next)];
            forwards(*next) && there != u32::MAX && there + 1 == hops[usize::from(node)]
        };
        let found = neighbours[usize::from(node)].iter().filter(nearer).map(|(_, link)| *link);
        found.take(if all { usize::MAX } else { 1 }).collect::<Vec<u32>>()
    };
    reached.into_iter().map(|node| (node, links(node))).filter(|(_, links)| !links.is_empty()).collect()
}

/// Up*/down* routes, which never go up after having gone down.
///
/// Each link has an upper end: the end nearer to the first switch or, at equal distance, the one with the lower index.
/// A node with a path that only goes down takes it; any other node goes up. Every path thus consists of links up, then
/// links down. A cycle of buffer dependencies needs a turn from down to up; without such turns no cycle can form.
pub(super) struct UpDown<'a> {
    neighbours: &'a Neighbours,
    /// Rank of each node: distance from the first switch in links, then index; the lower rank is the upper end.
    rank: Vec<(u32, NodeId)>,
    /// All nodes, the uppermost first.
    order: Vec<NodeId>,
}

impl<'a> UpDown<'a> {
    /// Ranks the nodes; each part of the network that is connected by switches has a first switch of its own.
    pub fn new(neighbours: &'a Neighbours, nodes: &Nodes<'_>) -> UpDown<'a> {
        let mut level = vec![u32::MAX; neighbours.len()];
        for root in nodes.ids().filter(|id| !nodes.get(*id).is_host()) {
            if level[usize::from(root)] != u32::MAX {
                continue;
            }
            level[usize::from(root)] = 0;
            let mut queue = VecDeque::from([root]);
            while let Some(node) = queue.pop_front() {
                for (next, _) in &neighbours[usize::from(node)] {
                    if level[usize::from(*next)] == u32::MAX && !nodes.get(*next).is_host() {
                        level[usize::from(*next)] = level[usize::from(node)] + 1;
                        queue.push_back(*next);
                    }
                }
            }
        }
        // Hosts keep the largest distance: no host is above a switch, so no host forwards.
        let rank: Vec<(u32, NodeId)> = nodes.ids().map(|id| (level[usize::from(id)], id)).collect();
        let mut order: Vec<NodeId> = nodes.ids().collect();
        order.sort_by_key(|id| rank[usize::from(*id)]);
        UpDown { neighbours, rank, order }
    }

    /// Returns the nodes that have a path to `destination`, each with its next link, in the order of their ranks.
    pub fn towards(&self, destination: NodeId) -> Vec<(NodeId, Vec<u32>)> {
        let above = |a: NodeId, b: NodeId| self.rank[usize::from(a)] < self.rank[usize::from(b)];
        // Number of links to the destination and next link of each node; first of the nodes with a path down.
        let mut hops: Vec<Option<(u32, u32)>> = vec![None; self.neighbours.len()];
        hops[usize::from(destination)] = Some((0, u32::MAX));
        let mut queue = VecDeque::from([destination]);
        while let Some(node) = queue.pop_front() {
            let here = hops[usize::from(node)].map_or(0, |(count, _)| count);
            for (upper, link) in &self.neighbours[usize::from(node)] {
                if above(*upper, node) && hops[usize::from(*upper)].is_none() {
                    hops[usize::from(*upper)] = Some((here + 1, *link));
                    queue.push_back(*upper);
                }
            }
        }
        for node in &self.order {
            if hops[usize::from(*node)].is_none() {
                let ups = self.neighbours[usize::from(*node)].iter().filter(|(upper, _)| above(*upper, *node));
                let counted = ups.filter_map(|(upper, link)| Some((hops[usize::from(*upper)]?.0 + 1, *link)));
                hops[usize::from(*node)] = counted.min();
            }
        }
        let nodes = self.order.iter().filter(|node| **node != destination);
        nodes.filter_map(|node| hops[usize::from(*node)].map(|(_, link)| (*node, vec![link]))).collect()
    }
}
