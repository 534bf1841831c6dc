//! Partitioning of a network for conservative parallel simulation.
//!
//! Partitions interact only by frames on the links between them. The *lookahead* of a link is the minimum time from the
//! start of a transmission to its first effect at the other end: the transmission time of the shortest frame, or of the
//! header at a cut-through switch, plus propagation delay and the latency of the switch. All partitions can therefore
//! handle the events of a window independently, if it is no longer than the minimum lookahead of the links between
//! them, and exchange messages at its end (Chandy and Misra 1979; with windows: Nicol, JACM 40, 1993). Since the order
//! of events at one instant is total and no random stream belongs to more than one component, results equal those of
//! a sequential run, bit for bit.
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
    /// Partition of each node.
    part_of: Vec<u16>,
    /// Number of parts.
    parts: usize,
    /// Links between parts.
    cut: Vec<u32>,
    /// Minimum lookahead of the links between parts.
    lookahead: Dur,
}

impl Partition {
    /// Divides a network into at most `most` partitions of about equal work; 0 counts as 1. The hosts of flows that are
    /// drawn at random must have been drawn, since the work of a node and the nodes that must stay together depend on
    /// them.
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
    /// Returns the links between partitions, as indices into the plan's links.
    pub fn cut(&self) -> &[u32] {
        &self.cut
    }
    /// Returns the minimum lookahead of the links between partitions, above zero; `u64::MAX` picoseconds if there are
    /// no such links.
    pub fn look_ahead(&self) -> Dur {
        self.lookahead
    }
}
