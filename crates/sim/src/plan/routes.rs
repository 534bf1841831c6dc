//! Next hops: for each destination one link, or several of equal cost over which packets are spread.

use super::NodeId;

/// Entry of a destination without a path.
pub const NO_ROUTE: u32 = u32::MAX;

/// Flag of an entry that is the index of a group of equal-cost links in [`Routes::groups`], and not a link.
pub const GROUP: u32 = 1 << 31;

/// Next hops: the link to take from each node to each destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// Next hops by node.
    pub rows: Vec<Row>,
    /// Links of equal cost, at least two; each group belongs to one node.
    pub groups: Vec<Vec<u32>>,
    /// Method of choosing among the links of a group.
    pub spread: Spread,
}

/// Load balancing over paths of equal cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// By a hash of the flow, so that a flow's packets keep their order (ECMP, RFC 2992).
    #[default]
    Flow,
    /// By a hash of flow and sequence number, per packet (packet spraying).
    Packet,
}

/// Next hops of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A host with a single link, to a switch: its next hop is that link for every destination. In large networks only
    /// switches need tables.
    Only {
        /// Index of the link.
        link: u32,
        /// The switch at the other end of the link.
        switch: NodeId,
    },
    /// By destination: index of the link, or [`GROUP`] and the index of a group; [`NO_ROUTE`]: no path.
    Table(Vec<u32>),
}

impl Routes {
    /// Returns the link to take at `node` for `destination`; the first one if there are several; [`NO_ROUTE`]: there is
    /// no path.
    pub fn link(&self, node: NodeId, destination: NodeId) -> u32 {
        let entry = match &self.rows[usize::from(node)] {
            Row::Table(links) => links[usize::from(destination)],
            Row::Only { .. } if node == destination => NO_ROUTE,
            Row::Only { link, switch } if *switch == destination => *link,
            Row::Only { link, switch } => match &self.rows[usize::from(*switch)] {
                Row::Table(links) if links[usize::from(destination)] != NO_ROUTE => *link,
                _ => NO_ROUTE,
            },
        };
        if entry == NO_ROUTE || entry & GROUP == 0 { entry } else { self.groups[(entry & !GROUP) as usize][0] }
    }
}

impl Routes {
    /// Returns all links that packets may take at `node` for `destination`; empty: no path.
    pub fn links(&self, node: NodeId, destination: NodeId) -> &[u32] {
        let entry = match &self.rows[usize::from(node)] {
            Row::Table(entries) => &entries[usize::from(destination)],
            Row::Only { .. } if self.link(node, destination) == NO_ROUTE => &NO_ROUTE,
            Row::Only { link, .. } => link,
        };
        match *entry {
            NO_ROUTE => &[],
            group if group & GROUP != 0 => &self.groups[(group & !GROUP) as usize],
            _ => core::slice::from_ref(entry),
        }
    }
}

impl From<Vec<Vec<u32>>> for Routes {
    fn from(tables: Vec<Vec<u32>>) -> Routes {
        Routes { rows: tables.into_iter().map(Row::Table).collect(), ..Routes::default() }
    }
}
