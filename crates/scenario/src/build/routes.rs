//! Routes: the next link from every node to every host.

use super::links::LinkOf;
use super::nodes::Nodes;
use super::ways::{UpDown, neighbours, shortest};
use super::{Builder, entry};
use crate::document::Routing;
use std::collections::{BTreeMap, VecDeque};
use tailback_document::Path;
use tailback_sim::plan::{GROUP, NO_ROUTE, NodeId, Routes, Row, Spread};

/// Entries in all routing tables together: 64 MB.
const MOST_ROUTES: usize = 1 << 24;

impl<'a> Builder<'a> {
    /// None when the links contradict the way of routing.
    pub(super) fn routes(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> Option<Routes> {
        let routing = self.document.network.routing;
        if routing == Routing::Tree && self.document.fabric.is_none() && !self.is_forest(nodes, links) {
            return None;
        }
        let spread = if routing == Routing::Spray { Spread::Packet } else { Spread::Flow };
        let spreads = self.document.fabric.is_some() && routing == Routing::Tree
            || matches!(routing, Routing::Ecmp | Routing::Spray);
        let neighbours = neighbours(nodes.list.len(), links);
        // A host with one link to a switch needs no table, and the way to it is that to its switch
        // and one link more: thousands of hosts cost as much as the few switches they hang on.
        let leaf = |id: NodeId| match neighbours[usize::from(id)][..] {
            [(switch, link)] if nodes.get(id).is_host() && !nodes.get(switch).is_host() => Some((switch, link)),
            _ => None,
        };
        let count = nodes.list.len();
        let forwarding = nodes.ids().filter(|id| leaf(*id).is_none()).count();
        if forwarding * count > MOST_ROUTES {
            self.complaints.value(
                Path::root().join("switches"),
                format!("{forwarding} switches, each with a way to {count} nodes, make {} routes", forwarding * count),
                format!("at most {MOST_ROUTES} are kept; a host at a single switch takes none: make fewer switches"),
            );
            return None;
        }
        let mut tables: Vec<Option<Vec<u32>>> =
            nodes.ids().map(|id| leaf(id).is_none().then(|| vec![NO_ROUTE; count])).collect();
        let up_down = (routing == Routing::UpDown).then(|| UpDown::new(&neighbours, nodes));
        let mut groups = Groups::default();
        let mut ways: BTreeMap<NodeId, Vec<(NodeId, u32)>> = BTreeMap::new();
        for destination in nodes.ids().filter(|id| nodes.get(*id).is_host()) {
            let (target, last) = leaf(destination).map_or((destination, None), |(at, link)| (at, Some((at, link))));
            let ways = ways.entry(target).or_insert_with(|| {
                let ways = match &up_down {
                    Some(up_down) => up_down.towards(target),
                    None => shortest(target, &neighbours, nodes, spreads),
                };
                let forwards = ways.into_iter().filter(|(node, _)| leaf(*node).is_none());
                forwards.map(|(node, links)| (node, groups.entry(node, links))).collect()
            });
            for (node, link) in ways.iter().copied().chain(last) {
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

    /// Refuses each link that closes a cycle, and names the cycle.
    fn is_forest(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) -> bool {
        let mut tree: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.list.len()];
        let mut parts = Parts::new(nodes.list.len());
        let mut forest = true;
        for link in links {
            let [a, b] = link.ends;
            if parts.join(a, b) {
                tree[usize::from(a)].push(b);
                tree[usize::from(b)].push(a);
            } else if let Some(way) = way(&tree, a, b) {
                forest = false;
                let names: Vec<&str> = way.iter().chain([&a]).map(|id| nodes.name(*id)).collect();
                let message = if way.len() == 2 {
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

/// Groups of links of equal cost, each once.
#[derive(Default)]
struct Groups {
    list: Vec<Vec<u32>>,
    known: BTreeMap<(NodeId, Vec<u32>), u32>,
}

impl Groups {
    /// The entry of a table for these links at `node`, at least one.
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

/// Which nodes hang together (union-find with path halving).
struct Parts(Vec<NodeId>);

impl Parts {
    fn new(count: usize) -> Parts {
        Parts((0..count).map(|id| id as NodeId).collect())
    }
    fn root(&mut self, mut id: NodeId) -> NodeId {
        while self.0[usize::from(id)] != id {
            let up = self.0[usize::from(self.0[usize::from(id)])];
            self.0[usize::from(id)] = up;
            id = up;
        }
        id
    }
    /// Joins the parts of `a` and `b`; false if they were one already.
    fn join(&mut self, a: NodeId, b: NodeId) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[usize::from(a)] = b;
        a != b
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
