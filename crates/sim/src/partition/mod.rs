//! Which nodes of a network can be simulated apart, and for how long each part can go on without the others.
//!
//! Parts have to do with each other by frames on the lines between them only, and a frame on a line arrives no sooner
//! than the *look-ahead* of the line after it was put there: the transmission of the shortest frame, and the delay. So
//! all parts may handle the events of a window as long as the shortest look-ahead of any line between them, each by
//! itself, and then tell each other what they have sent (conservative parallel simulation: Chandy and Misra 1979; with
//! windows: Nicol, JACM 40, 1993). Since the order of events at one instant is total and no number that was drawn
//! belongs to more than one component, the results are those of one world, bit for bit.
//!
//! ```text
//! what must stay together (together.rs) ─┐
//! look-ahead of each link (lookahead.rs) ├─▶ split.rs ─▶ which part each node is in
//! expected work of each node (work.rs) ──┘
//! ```

mod lookahead;
mod split;
mod together;
mod work;

use crate::plan::Plan;
use tailback_units::Dur;

/// Which part of a network each node is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// By node.
    part_of: Vec<u16>,
    parts: usize,
    /// Links between parts.
    cut: Vec<u32>,
    lookahead: Dur,
}

impl Partition {
    /// At most so many parts of a network whose plan draws nothing any more, with about equal work each.
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

    /// How many parts there are, at least one.
    pub fn parts(&self) -> usize {
        self.parts
    }
    /// The part of a node.
    #[inline]
    pub fn part_of(&self, node: u16) -> usize {
        usize::from(self.part_of[usize::from(node)])
    }
    /// The links between parts, by index.
    pub fn cut(&self) -> &[u32] {
        &self.cut
    }
    /// How long each part can go on by itself: the shortest look-ahead of the links between parts, above zero; as
    /// long as there is time where there are none.
    pub fn look_ahead(&self) -> Dur {
        self.lookahead
    }
}
