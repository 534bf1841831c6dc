//! Causes of drops per flow: port and reason.

use std::collections::BTreeMap;
use tailback_qdisc::Reason;

/// Port at which packets were dropped, the reason, and whether they opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DropCause {
    pub port: u32,
    pub why: Reason,
    /// `true`: a SYN or SYN-ACK.
    pub handshake: bool,
}

impl DropCause {
    /// Lower bound of all causes in their order.
    const FIRST: DropCause = DropCause { port: 0, why: Reason::BufferFull, handshake: false };
}

/// Drops of all flows by cause.
///
/// Most flows have drops of one cause only. The count of a flow's first cause is not stored: it is the flow's total
/// minus the counts of the other causes. With a hundred thousand flows, a map of all counts would take more memory, and
/// a lookup for each drop.
#[derive(Debug, Default)]
pub(crate) struct DropCauses {
    /// First cause of each flow; empty before the first drop.
    first: Vec<Option<DropCause>>,
    /// Packets dropped by causes other than the first, by flow and cause.
    others: BTreeMap<(u32, DropCause), u64>,
}

impl DropCauses {
    /// Counts `packets` of a flow dropped by `cause`; `flows` is the number of flows.
    pub fn add(&mut self, flow: u32, flows: usize, cause: DropCause, packets: u64) {
        if self.first.is_empty() {
            self.first = vec![None; flows];
        }
        if *self.first[flow as usize].get_or_insert(cause) != cause {
            *self.others.entry((flow, cause)).or_default() += packets;
        }
    }

    /// Returns the causes of a flow's drops, sorted by port and reason, each with its number of packets; `lost` is the
    /// flow's total number of dropped packets.
    pub fn of(&self, flow: u32, lost: u64) -> Vec<(DropCause, u64)> {
        let Some(first) = self.first.get(flow as usize).copied().flatten() else { return Vec::new() };
        let others = self.others.range((flow, DropCause::FIRST)..).take_while(|((owner, _), _)| *owner == flow);
        let mut causes: Vec<(DropCause, u64)> = others.map(|((_, cause), packets)| (*cause, *packets)).collect();
        let counted: u64 = causes.iter().map(|(_, packets)| packets).sum();
        causes.push((first, lost - counted));
        causes.sort_unstable();
        causes
    }
}

/// Drops by cause since the end of the warm-up, of flows or connections whose totals are counted from the start.
#[derive(Debug, Default)]
pub(crate) struct Since {
    causes: DropCauses,
    /// Total drops of each flow at the end of the warm-up; empty if there were none.
    before: Vec<u64>,
}

impl Since {
    /// Counts `packets` of a flow dropped by `cause`; `flows` is the number of flows.
    pub fn add(&mut self, flow: u32, flows: usize, cause: DropCause, packets: u64) {
        self.causes.add(flow, flows, cause, packets);
    }

    /// Begins to count anew at the end of the warm-up; `lost` yields the total of each flow so far.
    pub fn begin(&mut self, lost: impl Iterator<Item = u64>) {
        if !self.causes.first.is_empty() {
            self.before = lost.collect();
        }
        self.causes = DropCauses::default();
    }

    /// Returns the causes of a flow's drops since the end of the warm-up, in the order of [`DropCauses::of`]; `lost` is
    /// the flow's total since the start.
    pub fn of(&self, flow: u32, lost: u64) -> Vec<(DropCause, u64)> {
        self.causes.of(flow, lost - self.before.get(flow as usize).copied().unwrap_or(0))
    }

    /// Adds the counts of another partition; `lost` is that partition's total for each flow since the start.
    pub fn merge(&mut self, other: &Since, lost: &[u64]) {
        for (flow, gone) in (0..).zip(lost) {
            for (cause, packets) in other.of(flow, *gone) {
                self.add(flow, lost.len(), cause, packets);
            }
        }
        if self.before.len() < other.before.len() {
            self.before.resize(other.before.len(), 0);
        }
        self.before.iter_mut().zip(&other.before).for_each(|(mine, theirs)| *mine += theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn the_counts_of_a_flow_by_cause_equal_those_of_a_plain_map() {
        let (mut causes, mut map, mut lost) = (DropCauses::default(), BTreeMap::new(), [0; 3]);
        let mut rng = Rng::named(1, "causes");
        for _ in 0..200 {
            let flow = rng.below(2) as u32;
            let why = if rng.chance(0.5) { Reason::BufferFull } else { Reason::LinkLoss };
            let cause = DropCause { port: rng.below(4) as u32, why, handshake: rng.chance(0.2) };
            causes.add(flow, 3, cause, 1);
            *map.entry((flow, cause)).or_default() += 1;
            lost[flow as usize] += 1;
        }
        for (flow, lost) in (0..).zip(lost) {
            let counted = map.iter().filter(|((owner, _), _)| *owner == flow);
            assert!(causes.of(flow, lost).into_iter().eq(counted.map(|((_, cause), packets)| (*cause, *packets))));
        }
        assert!(causes.of(2, 0).is_empty());
    }

    #[test]
    fn losses_before_the_end_of_the_warm_up_are_excluded_and_parts_add_up() {
        let cause = |port, why| DropCause { port, why, handshake: false };
        let (full, early) = (cause(7, Reason::BufferFull), cause(8, Reason::Early));
        let mut parts = [Since::default(), Since::default()];
        // Part 0 loses two packets of flow 1 before the end of the warm-up and three later; part 1 loses one later.
        for cause in [full, early] {
            parts[0].add(1, 2, cause, 1);
        }
        parts[0].begin([0, 2].into_iter());
        parts[1].begin([0, 0].into_iter());
        for cause in [early, full, early] {
            parts[0].add(1, 2, cause, 1);
        }
        parts[1].add(1, 2, full, 1);
        assert_eq!(parts[0].of(1, 5), [(full, 1), (early, 2)]);
        let [mut whole, other] = parts;
        whole.merge(&other, &[0, 1]);
        assert_eq!(whole.of(1, 6), [(full, 2), (early, 2)]);
        assert_eq!(whole.of(0, 0), []);
    }
}
