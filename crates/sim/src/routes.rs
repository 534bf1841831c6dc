//! Forwarding tables, and the choice among equal-cost links.

use crate::plan::{GROUP, NO_ROUTE, NodeId, Plan, Routes, Row, Spread};
use std::fmt;
use tailback_random::{GOLDEN, Rng, mix};

/// Forwarding tables: [`Routes`] with ports instead of links.
#[derive(Debug)]
pub(crate) struct Forwarding {
    /// By node, then by destination: port, or [`GROUP`] and the index of a group, or [`NO_ROUTE`]; empty for a host
    /// with a single link.
    tables: Vec<Vec<u32>>,
    /// Ports of each group of equal-cost links.
    groups: Vec<Vec<u32>>,
    spread: Spread,
    keys: HashKeys,
}

/// Keys of the hash that chooses among equal-cost links. Each key is drawn from a random stream named after its node or
/// flow, so that adding a node or flow changes no other key. Both lists are empty if there are no equal-cost links.
#[derive(Debug, Default)]
pub(crate) struct HashKeys {
    /// By node.
    nodes: Vec<u64>,
    /// By flow number of packets: first the flows, then the acknowledgements of the flows with a transport.
    flows: Vec<u64>,
}

impl HashKeys {
    /// Draws the keys of a plan.
    pub fn new(plan: &Plan) -> HashKeys {
        if plan.routes.groups.is_empty() {
            return HashKeys::default();
        }
        let key = |what: &str, name: &dyn fmt::Display| Rng::named(plan.seed, &format!("{what} {name}")).bits();
        let data = plan.flows.iter().map(|flow| key("path of", &flow.name()));
        let with_transport = plan.flows.iter().filter(|flow| flow.transport.is_some());
        let acks = with_transport.map(|flow| key("path of acknowledgements of", &flow.name()));
        HashKeys {
            nodes: plan.nodes.iter().map(|node| key("routes of", &node.name)).collect(),
            flows: data.chain(acks).collect(),
        }
    }
}

impl Forwarding {
    /// Returns the tables of a plan; `port_of` returns the port of a link at a node.
    pub fn new(routes: &Routes, keys: HashKeys, port_of: impl Fn(NodeId, u32) -> u32) -> Forwarding {
        let mut groups = vec![Vec::new(); routes.groups.len()];
        let mut entry = |node: NodeId, entry: u32| {
            if entry == NO_ROUTE || entry & GROUP == 0 {
                return port_of(node, entry);
            }
            let group = (entry & !GROUP) as usize;
            if groups[group].is_empty() {
                groups[group] = routes.groups[group].iter().map(|link| port_of(node, *link)).collect();
            }
            entry
        };
        let tables = (0u16..).zip(&routes.rows).map(|(node, row)| match row {
            Row::Only { .. } => Vec::new(),
            Row::Table(links) => links.iter().map(|link| entry(node, *link)).collect(),
        });
        let tables = tables.collect();
        Forwarding { tables, groups, spread: routes.spread, keys }
    }

    /// Returns the port that a packet of `flow` with sequence number `seq` takes at `node` for `destination`.
    ///
    /// # Panics
    /// If there is no path, or `node` is a host with a single link.
    #[inline]
    pub fn port(&self, node: u16, destination: u16, flow: u32, seq: u32) -> u32 {
        let entry = self.tables[usize::from(node)][usize::from(destination)];
        if entry & GROUP == 0 { entry } else { self.choose(entry, node, flow, seq) }
    }

    /// Returns the port for a destination if it is the same for all packets; `None`: there are several ports, or no
    /// path. Used only for prefetches.
    #[inline]
    pub fn single(&self, node: u16, destination: u16) -> Option<u32> {
        let entry = *self.tables[usize::from(node)].get(usize::from(destination))?;
        (entry & GROUP == 0).then_some(entry)
    }

    /// Returns all ports that packets may take at `node` for `destination`; empty: there is no path.
    pub fn ports(&self, node: u16, destination: u16) -> &[u32] {
        let entry = &self.tables[usize::from(node)][usize::from(destination)];
        match *entry {
            NO_ROUTE => &[],
            group if group & GROUP != 0 => &self.groups[(group & !GROUP) as usize],
            _ => std::slice::from_ref(entry),
        }
    }

    /// Returns a port of the group that `entry` refers to, chosen by a hash of node and flow, and of the sequence
    /// number if packets are sprayed.
    #[inline(never)]
    fn choose(&self, entry: u32, node: u16, flow: u32, seq: u32) -> u32 {
        assert!(entry != NO_ROUTE, "a packet of flow {flow} is at node {node}, which has no path to its destination");
        let group = &self.groups[(entry & !GROUP) as usize];
        let packet = if self.spread == Spread::Packet { u64::from(seq) + 1 } else { 0 };
        let key = self.keys.nodes[usize::from(node)] ^ self.keys.flows[flow as usize] ^ packet << 40;
        group[((u128::from(mix(key.wrapping_add(GOLDEN))) * group.len() as u128) >> 64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the table of one node with a group of four links to one destination; link n is behind port 2 n.
    fn forwarding(spread: Spread) -> Forwarding {
        let routes = Routes { rows: vec![Row::Table(vec![GROUP])], groups: vec![vec![0, 1, 2, 3]], spread };
        let mut rng = Rng::named(1, "keys");
        let keys = HashKeys { nodes: vec![rng.bits()], flows: (0..40_000).map(|_| rng.bits()).collect() };
        Forwarding::new(&routes, keys, |_, link| 2 * link)
    }

    #[test]
    fn flows_spread_evenly_and_all_packets_of_a_flow_take_one_port() {
        let forwarding = forwarding(Spread::Flow);
        let mut counts = [0u32; 4];
        for flow in 0..40_000 {
            let port = forwarding.port(0, 0, flow, 0);
            assert!((1..9).all(|seq| forwarding.port(0, 0, flow, seq) == port));
            counts[port as usize / 2] += 1;
        }
        // Five standard deviations of a binomial variable: 5 · √(40 000 · 1/4 · 3/4).
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 433), "{counts:?}");
    }

    #[test]
    fn packets_of_a_flow_spread_evenly_when_sprayed() {
        let forwarding = forwarding(Spread::Packet);
        let mut counts = [0u32; 4];
        (0..40_000).for_each(|seq| counts[forwarding.port(0, 0, 7, seq) as usize / 2] += 1);
        // Five standard deviations of a binomial variable: 5 · √(40 000 · 1/4 · 3/4).
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 433), "{counts:?}");
    }
}
