//! Routes: the next links from every node towards every host.

use super::builder::{Builder, entry};
use super::links::LinkOf;
use super::nodes::Nodes;
use super::paths::{UpDown, neighbours, shortest};
use crate::document::Routing;
use std::collections::{BTreeMap, VecDeque};
use tailback_document::Path;
use tailback_sim::plan::{GROUP, NO_ROUTE, NodeId, Routes, Row, Spread};

/// Upper bound on the number of entries in all routing tables together; at 4 B each they take 64 MiB.
const MAX_ROUTES: usize = 1 << 24;

impl<'a> Builder<'a> {
    /// Returns the routes; `None`: the links are not allowed by `network.routing`, or there are too many routes, which
    /// is reported.
    pub(super) fn routes(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> Option<Routes> {
        let routing = self.document.network.routing;
        if routing == Routing::Tree && self.document.fabric.is_none() && !self.is_forest(nodes, links) {
            return None;
        }
        let spread = if routing == Routing::Spray { Spread::Packet } else { Spread::Flow };
        let all_paths = self.document.fabric.is_some() && routing == Routing::Tree
            || matches!(routing, Routing::Ecmp | Routing::Spray);
        let neighbours = neighbours(nodes.list.len(), links);
        // A host with a single link, to a switch, needs no table: the route to it is the route to its switch plus that
        // link. Thousands of hosts then cost no more than the few switches to which they are attached.
        let leaf = |id: NodeId| match neighbours[usize::from(id)][..] {
            [(switch, link)] if nodes.get(id).is_host() && !nodes.get(switch).is_host() => Some((switch, link)),
            _ => None,
        };
        let count = nodes.list.len();
        let forwarding = nodes.ids().filter(|id| leaf(*id).is_none()).count();
        if forwarding * count > MAX_ROUTES {
            self.complaints.value(
                Path::root().join("switches"),
                format!("{forwarding} switches with routes to {count} nodes each need {} routes", forwarding * count),
                format!("the limit is {MAX_ROUTES}; hosts with a single link need no routes; use fewer switches"),
            );
            return None;
        }
        let mut tables: Vec<Option<Vec<u32>>> =
            nodes.ids().map(|id| leaf(id).is_none().then(|| vec![NO_ROUTE; count])).collect();
        let up_down = (routing == Routing::UpDown).then(|| UpDown::new(&neighbours, nodes));
        let mut groups = Groups::default();
        let mut paths: BTreeMap<NodeId, Vec<(NodeId, u32)>> = BTreeMap::new();
        for destination in nodes.ids().filter(|id| nodes.get(*id).is_host()) {
            let (target, last) = leaf(destination).map_or((destination, None), |(at, link)| (at, Some((at, link))));
            let paths = paths.entry(target).or_insert_with(|| {
                let paths = match &up_down {
                    Some(up_down) => up_down.towards(target),
                    None => shortest(target, &neighbours, nodes, all_paths),
                };
                let forwards = paths.into_iter().filter(|(node, _)| leaf(*node).is_none());
                forwards.map(|(node, links)| (node, groups.entry(node, links))).collect()
            });
            for (node, link) in paths.iter().copied().chain(last) {
                if let Some(table) = &mut tables[usize::from(node)] {
                    table[usize::from(destination)] = link;
                }
            }
        }
        let row = |(id, table): (NodeId, Option<Vec<u32>>)| match (table, leaf(id)) {
            (None, Some((switch, link))) => Row::Only { link, switch },
            (table, _) => Row::Table(table.unwrap_or_default()),
        };
        Some(Routes { rows: nodes.ids().zip(tables).map(row).collect(), groups: groups.list, spread })
    }

    /// Returns `true` if the links form a forest; reports each link that closes a cycle, with the nodes of the cycle.
    fn is_forest(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> bool {
        let mut tree: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.list.len()];
        let mut components = Components::new(nodes.list.len());
        let mut forest = true;
        for link in links {
            let [a, b] = link.ends;
            if components.join(a, b) {
                tree[usize::from(a)].push(b);
                tree[usize::from(b)].push(a);
            } else if let Some(cycle) = tree_path(&tree, a, b) {
                forest = false;
                let names: Vec<&str> = cycle.iter().chain([&a]).map(|id| nodes.name(*id)).collect();
                let message = if cycle.len() == 2 {
                    format!("`{}` and `{}` are linked twice", names[0], names[1])
                } else {
                    format!("this link closes a cycle: {}", names.join(" – "))
                };
                let help = "remove one of its links, or write `routing = \"shortest-path\"` under [network]";
                self.complaints.value(entry("links", link.entry).join("between"), message, help);
            }
        }
        forest
    }
}

/// Sets of equal-cost links; equal sets of one node are stored once.
#[derive(Default)]
struct Groups {
    /// The sets, by number.
    list: Vec<Vec<u32>>,
    /// Routing table entry of each set.
    known: BTreeMap<(NodeId, Vec<u32>), u32>,
}

impl Groups {
    /// Returns the routing table entry for these links at `node`, at least one.
    fn entry(&mut self, node: NodeId, links: Vec<u32>) -> u32 {
        if let [link] = links[..] {
            return link;
        }
        let list = &mut self.list;
        let new = |key: &(NodeId, Vec<u32>)| {
            list.push(key.1.clone());
            GROUP | (list.len() - 1) as u32
        };
        *self.known.entry((node, links)).or_insert_with_key(new)
    }
}

/// Connected components (union-find with path halving).
struct Components(Vec<NodeId>);

impl Components {
    fn new(count: usize) -> Components {
        Components((0..count).map(|id| id as NodeId).collect())
    }
    /// Returns the node that represents the component of `id`.
    fn root(&mut self, mut id: NodeId) -> NodeId {
        while self.0[usize::from(id)] != id {
            let up = self.0[usize::from(self.0[usize::from(id)])];
            self.0[usize::from(id)] = up;
            id = up;
        }
        id
    }
    /// Joins the components of `a` and `b`; returns `false` if they were already one.
    fn join(&mut self, a: NodeId, b: NodeId) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[usize::from(a)] = b;
        a != b
    }
}

/// Returns the nodes on the path from `a` to `b` in a forest, both included; `None`: they are not connected. `tree` has
/// the neighbours of each node.
fn tree_path(tree: &[Vec<NodeId>], a: NodeId, b: NodeId) -> Option<Vec<NodeId>> {
    let mut before: Vec<Option<NodeId>> = vec![None; tree.len()];
    before[usize::from(a)] = Some(a);
    let mut queue = VecDeque::from([a]);
    while let Some(node) = queue.pop_front() {
        if node == b {
            let mut nodes = vec![b];
            while *nodes.last()? != a {
                nodes.push(before[usize::from(*nodes.last()?)]?);
            }
            nodes.reverse();
            return Some(nodes);
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
