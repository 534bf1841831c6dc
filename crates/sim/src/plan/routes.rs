//! Next hops: for each destination one link, or several of equal cost over which packets are spread.

use super::NodeId;

/// Entry in a [`Row::Table`] for a destination that cannot be reached.
pub const NO_ROUTE: u32 = u32::MAX;

/// Flag of an entry in a [`Row::Table`]: its other bits are an index into [`Routes::groups`], not the index of a link.
pub const GROUP: u32 = 1 << 31;

/// Next hops: the link to take from each node to each destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// Next hops of each node, by the node's index.
    pub rows: Vec<Row>,
    /// Groups of links of equal cost, by index: at least two links each; each group belongs to one node.
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
    /// A host with a single link, to a switch: the link is the next hop for every destination. Large networks thus need
    /// tables for switches only.
    Only {
        /// Index of the link.
        link: u32,
        /// The switch at the other end of the link.
        switch: NodeId,
    },
    /// By the destination's index: index of the link; or the bitwise or of [`GROUP`] and the index of a group; or
    /// [`NO_ROUTE`].
    Table(Vec<u32>),
}

impl Routes {
    /// Returns the index of the link to take at `node` for `destination`, of several the first; [`NO_ROUTE`]: there is
    /// no path, or the node is the destination.
    ///
    /// # Panics
    /// If there is no such node.
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
    /// Returns the indices of all links that packets may take at `node` for `destination`; empty: no path.
    ///
    /// # Panics
    /// If there is no such node.
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
