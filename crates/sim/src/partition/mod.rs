//! Partitioning of a network for conservative parallel simulation.
//!
//! Partitions interact only by frames on the links between them. The *lookahead* of a link is the minimum time from the
//! start of a transmission to its first effect at the other end: the transmission time of the shortest frame (towards a
//! cut-through switch, of the header) plus propagation delay and the latency of the switch. A window of time that is no
//! longer than the minimum lookahead of the links between partitions can therefore be handled by all partitions
//! independently; they exchange messages at its end (Chandy and Misra 1979; with windows: Nicol, JACM 40, 1993). Since
//! the order of events at one instant is total and no random stream belongs to more than one component, results equal
//! those of a sequential run, bit for bit.
//!
//! ```text
//! lookahead of each link (lookahead.rs) ─┬───────────────────────────────────────────┐
//!                                        └─▶ nodes that stay together (together.rs) ─┼─▶ split.rs ─▶ part of each node
//! expected work of each node and link (work.rs) ─────────────────────────────────────┘
//! ```

mod lookahead;
mod split;
mod together;
mod work;

use crate::plan::Plan;
use tailback_units::Dur;

/// Assignment of nodes to partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Partition of each node, by the node's index.
    part_of: Vec<u16>,
    /// Number of partitions.
    parts: usize,
    /// Indices of the links between partitions, ascending.
    cut: Vec<u32>,
    /// Minimum lookahead of the links between partitions.
    lookahead: Dur,
}

impl Partition {
    /// Divides a network into at most `most` partitions of about equal work; 0 counts as 1. Random hosts of flows must
    /// have been drawn, since they decide the work of nodes and which nodes must stay together.
    pub(crate) fn of(plan: &Plan, most: usize) -> Partition {
        let lookahead = lookahead::of_links(plan);
        let together = together::groups(plan, &lookahead);
        let work = work::expected(plan);
        let part_of = split::split(plan, &together, &lookahead, &work, most);
        let parts = part_of.iter().max().map_or(1, |last| usize::from(*last) + 1);
        let apart = |link: &u32| {
            let [a, b] = plan.links[*link as usize].ends;
            part_of[usize::from(a)] != part_of[usize::from(b)]
        };
        let cut: Vec<u32> = (0..plan.links.len() as u32).filter(apart).collect();
        let lookahead = cut.iter().map(|link| lookahead[*link as usize]).min().unwrap_or(Dur(u64::MAX));
        Partition { part_of, parts, cut, lookahead }
    }

    /// Returns the number of partitions, at least one.
    pub fn parts(&self) -> usize {
        self.parts
    }
    /// Returns the partition of a node, below [`Partition::parts`].
    ///
    /// # Panics
    /// If the plan has no such node.
    #[inline]
    pub fn part_of(&self, node: u16) -> usize {
        usize::from(self.part_of[usize::from(node)])
    }
    /// Returns the links between partitions, as indices into the plan's links, ascending.
    pub fn cut(&self) -> &[u32] {
        &self.cut
    }
    /// Returns the minimum lookahead of the links between partitions, above zero; `u64::MAX` picoseconds: there are no
    /// such links.
    pub fn look_ahead(&self) -> Dur {
        self.lookahead
    }
}
