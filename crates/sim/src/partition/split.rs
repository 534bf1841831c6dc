//! Graph partitioning: parts of about equal work, with long lookahead and little traffic between them.
//!
//! Several divisions are tried, and the one with the shortest expected run time is taken. Each of several values is
//! tried as the minimum lookahead of the links that may be cut; nodes at the other links form one piece. Parts then
//! grow from distant seeds, each by the neighbouring piece with which it exchanges most traffic (greedy graph growing:
//! Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998). At last, pieces move to another part if that relieves an
//! overloaded part or lowers the traffic between parts.

use super::together::Groups;
use super::work::Work;
use crate::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use tailback_units::Dur;

/// Work up to which a part may grow to reduce the traffic between parts, percent of an equal share.
const TOLERANCE: u64 = 115;
/// Maximum number of refinement rounds.
const ROUNDS: usize = 10;
/// Maximum number of minimum lookaheads that are tried.
const TRIED: usize = 12;
/// Processor time of a frame at a hop, nanoseconds. This and the next two constants were measured; only their ratios
/// matter.
const HOP_NS: u128 = 120;
/// Additional processor time of a frame that crosses to another part, nanoseconds.
const CROSSING_NS: u128 = 150;
/// Processor time of the barrier at the end of a window, nanoseconds.
const BARRIER_NS: u128 = 1_500;

/// Returns the part of each node: at most `most` parts, numbered from 0 in the order of their first nodes.
pub(super) fn split(plan: &Plan, together: &Groups, lookahead: &[Dur], work: &Work, most: usize) -> Vec<u16> {
    let mut minima: Vec<Dur> = lookahead.to_vec();
    minima.sort_unstable();
    minima.dedup();
    let every = minima.len().div_ceil(TRIED).max(1);
    let attempt = |minimum: &Dur| {
        let pieces = Pieces::new(plan, together, lookahead, work, *minimum);
        let parts = most.min(pieces.weights.len());
        if parts < 2 {
            return None;
        }
        let (cost, sides) = pieces.divide(parts, u64::from(plan.framing.mtu) * 8, *minimum);
        Some((cost, numbered(pieces.of_node.iter().map(|piece| sides[*piece]))))
    };
    let best = minima.iter().step_by(every).filter_map(attempt).min_by_key(|(cost, _)| *cost);
    best.map_or_else(|| vec![0; plan.nodes.len()], |(_, part_of)| part_of)
}

/// Renumbers parts from 0 in the order of their first occurrence.
fn numbered(sides: impl Iterator<Item = usize>) -> Vec<u16> {
    let mut numbers = BTreeMap::new();
    let number = |side: usize| {
        let next = numbers.len() as u16;
        *numbers.entry(side).or_insert(next)
    };
    sides.map(number).collect()
}

/// Graph of pieces: sets of nodes that stay together.
#[derive(Debug)]
struct Pieces {
    /// Piece of each node.
    of_node: Vec<usize>,
    /// Work of each piece, bit/s.
    weights: Vec<u64>,
    /// Neighbours of each piece, with the sum of the traffic in both directions, bit/s.
    neighbours: Vec<BTreeMap<usize, u64>>,
}

impl Pieces {
    /// Returns the pieces if only links with a lookahead of at least `minimum` may be cut.
    fn new(plan: &Plan, together: &Groups, lookahead: &[Dur], work: &Work, minimum: Dur) -> Pieces {
        let nodes = plan.nodes.len();
        let mut groups = Groups::new(nodes);
        (0..nodes as u16).for_each(|node| groups.join(node, together.first(node)));
        for (link, _) in plan.links.iter().zip(lookahead).filter(|(_, ahead)| **ahead < minimum) {
            groups.join(link.ends[0], link.ends[1]);
        }
        let mut numbers = BTreeMap::new();
        let number = |node: usize| {
            let next = numbers.len();
            *numbers.entry(groups.first(node as u16)).or_insert(next)
        };
        let of_node: Vec<usize> = (0..nodes).map(number).collect();
        let count = numbers.len();
        let mut pieces = Pieces { of_node, weights: vec![0; count], neighbours: vec![BTreeMap::new(); count] };
        // Each node and link adds 1, so that idle ones count too.
        for (piece, work) in pieces.of_node.iter().zip(&work.nodes) {
            pieces.weights[*piece] += work + 1;
        }
        for (link, traffic) in plan.links.iter().zip(&work.links) {
            let [a, b] = link.ends.map(|node| pieces.of_node[usize::from(node)]);
            if a != b {
                *pieces.neighbours[a].entry(b).or_default() += traffic + 1;
                *pieces.neighbours[b].entry(a).or_default() += traffic + 1;
            }
        }
        pieces
    }

    /// Returns the work of all pieces, bit/s.
    fn total(&self) -> u64 {
        self.weights.iter().sum()
    }

    /// Divides the graph from several seeds and returns the division with the lowest cost: its cost, and the part of
    /// each piece. `bits` is the length of a frame in bits, `lookahead` the minimum lookahead of links between parts.
    fn divide(&self, parts: usize, bits: u64, lookahead: Dur) -> (u128, Vec<usize>) {
        let far = self.farthest(&[0]);
        let heaviest = (0..self.weights.len()).max_by_key(|piece| self.weights[*piece]).unwrap_or(0);
        let seeds = [0, far, self.farthest(&[far]), heaviest];
        let attempt = |seed: &usize| {
            let mut sides = self.grown(*seed, parts);
            self.refine(&mut sides, parts);
            (self.cost(&sides, parts, bits, lookahead), sides)
        };
        seeds.iter().map(attempt).min_by_key(|(cost, _)| *cost).unwrap_or_default()
    }

    /// Returns the cost of a division: the sum of the processor times of the busiest part, of all frames between parts
    /// and of the barriers, nanoseconds per simulated second. `sides` is the part of each piece.
    fn cost(&self, sides: &[usize], parts: usize, bits: u64, lookahead: Dur) -> u128 {
        let heaviest = self.loads(sides, parts).into_iter().max().unwrap_or(0);
        let crossing = |(piece, neighbours): (usize, &BTreeMap<usize, u64>)| -> u64 {
            neighbours.iter().filter(|(other, _)| sides[**other] != sides[piece]).map(|(_, traffic)| traffic).sum()
        };
        // Each link has been counted from both sides.
        let crossing = self.neighbours.iter().enumerate().map(crossing).sum::<u64>() / 2;
        let frames = |load: u64| u128::from(load / bits);
        // There are no more windows than events, and events are about as many as frames.
        let windows = frames(self.total()).min(1_000_000_000_000 / u128::from(lookahead.0.max(1)));
        frames(heaviest) * HOP_NS + frames(crossing) * CROSSING_NS + windows * BARRIER_NS
    }

    /// Returns the work up to which each of `parts` parts may grow, bit/s.
    fn tolerated(&self, parts: usize) -> u64 {
        self.total() / parts as u64 * TOLERANCE / 100
    }

    /// Returns the work of each part, bit/s; `sides` is the part of each piece.
    fn loads(&self, sides: &[usize], parts: usize) -> Vec<u64> {
        let mut loads = vec![0; parts];
        sides.iter().zip(&self.weights).for_each(|(side, weight)| loads[*side] += weight);
        loads
    }

    /// Returns the piece whose distance, in hops between pieces, to the nearest of the given pieces is largest; if
    /// there are pieces that cannot be reached from them, the first of those.
    fn farthest(&self, from: &[usize]) -> usize {
        let mut seen = vec![false; self.weights.len()];
        let mut order = from.to_vec();
        for piece in from {
            seen[*piece] = true;
        }
        let mut next = 0;
        while next < order.len() {
            for &other in self.neighbours[order[next]].keys() {
                if !std::mem::replace(&mut seen[other], true) {
                    order.push(other);
                }
            }
            next += 1;
        }
        seen.iter().position(|seen| !seen).or(order.last().copied()).unwrap_or(0)
    }

    /// Returns the part of each piece after growing the parts one after the other, from `seed` on, each until it has
    /// its share; the last part takes the remaining pieces.
    fn grown(&self, seed: usize, parts: usize) -> Vec<usize> {
        let mut sides = vec![parts - 1; self.weights.len()];
        let mut free: BTreeSet<usize> = (0..self.weights.len()).collect();
        let mut seeds = vec![seed];
        let mut remaining = self.total();
        let initial_gain = |others: &BTreeMap<usize, u64>| -others.values().map(|traffic| *traffic as i64).sum::<i64>();
        let initial_gains: Vec<i64> = self.neighbours.iter().map(initial_gain).collect();
        for part in 0..parts - 1 {
            let target = remaining / (parts - part) as u64;
            let mut load = 0;
            // By piece: its traffic with this part minus its traffic with other pieces.
            let mut gains = initial_gains.clone();
            let mut border = BTreeSet::from([(gains[seeds[part]], seeds[part])]);
            while load < target && free.len() > parts - 1 - part {
                let chosen = border.pop_last().map(|(_, piece)| piece).or(free.first().copied());
                let Some(piece) = chosen.filter(|piece| free.contains(piece)) else { continue };
                let weight = self.weights[piece];
                if load > 0 && load + weight > target && load + weight - target > target - load {
                    // The part is closer to its share without this piece.
                    break;
                }
                free.remove(&piece);
                sides[piece] = part;
                load += weight;
                for (&other, &traffic) in self.neighbours[piece].iter().filter(|(other, _)| free.contains(other)) {
                    let before = gains[other];
                    border.remove(&(before, other));
                    gains[other] = before.saturating_add(2 * traffic as i64);
                    border.insert((gains[other], other));
                }
            }
            remaining -= load;
            let taken: Vec<usize> = (0..sides.len()).filter(|piece| !free.contains(piece)).collect();
            let next = self.farthest(&taken);
            seeds.push(if free.contains(&next) { next } else { free.first().copied().unwrap_or(0) });
        }
        sides
    }

    /// Moves pieces to other parts, in at most [`ROUNDS`] rounds, as long as that reduces the work of an overloaded
    /// part, reduces the traffic between parts, or equalises the work of two parts at equal traffic.
    fn refine(&self, sides: &mut [usize], parts: usize) {
        let tolerated = self.tolerated(parts);
        let mut loads = self.loads(sides, parts);
        let mut counts = vec![0usize; parts];
        for side in &*sides {
            counts[*side] += 1;
        }
        for _ in 0..ROUNDS {
            let mut moved = false;
            for piece in 0..sides.len() {
                let (here, weight) = (sides[piece], self.weights[piece]);
                if counts[here] == 1 {
                    continue;
                }
                let mut traffic_with = BTreeMap::<usize, u64>::new();
                for (other, traffic) in &self.neighbours[piece] {
                    *traffic_with.entry(sides[*other]).or_default() += traffic;
                }
                let internal = traffic_with.get(&here).copied().unwrap_or(0);
                let better = |there: usize, traffic: u64| {
                    let after = loads[there] + weight;
                    let relieves = loads[here] > tolerated && after < loads[here];
                    let fits = after <= tolerated;
                    relieves || fits && (traffic > internal || traffic == internal && after < loads[here])
                };
                let best = traffic_with.iter().filter(|(there, traffic)| **there != here && better(**there, **traffic));
                if let Some((&there, _)) = best.max_by_key(|(_, traffic)| **traffic) {
                    sides[piece] = there;
                    loads[here] -= weight;
                    loads[there] += weight;
                    counts[here] -= 1;
                    counts[there] += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pieces in a row, with the given work and the traffic between neighbours.
    fn row(weights: &[u64], traffic: &[u64]) -> Pieces {
        let mut neighbours = vec![BTreeMap::new(); weights.len()];
        for (left, traffic) in traffic.iter().enumerate() {
            neighbours[left].insert(left + 1, *traffic);
            neighbours[left + 1].insert(left, *traffic);
        }
        Pieces { of_node: (0..weights.len()).collect(), weights: weights.to_vec(), neighbours }
    }

    /// Returns the numbers of consecutive pieces in the same part, along the row.
    fn lengths(row: &Pieces, parts: usize) -> Vec<usize> {
        let (_, sides) = row.divide(parts, 1, Dur::from_ms(1));
        sides.chunk_by(|a, b| a == b).map(<[_]>::len).collect()
    }

    #[test]
    fn a_row_is_cut_in_the_middle_and_in_thirds() {
        let row = row(&[100; 12], &[50; 11]);
        assert_eq!(lengths(&row, 2), [6, 6]);
        assert_eq!(lengths(&row, 3), [4, 4, 4]);
    }

    #[test]
    fn a_link_with_little_traffic_near_the_middle_is_cut_instead_of_a_busy_one_in_the_middle() {
        let mut traffic = [500; 19];
        traffic[10] = 3;
        assert_eq!(lengths(&row(&[100; 20], &traffic), 2), [11, 9]);
    }

    #[test]
    fn a_piece_with_most_of_the_work_is_a_part_by_itself() {
        let (_, sides) = row(&[10, 10, 500, 10, 10], &[5; 4]).divide(2, 1, Dur::from_ms(1));
        assert!((0..5).all(|piece| piece == 2 || sides[piece] != sides[2]), "{sides:?}");
    }
}
