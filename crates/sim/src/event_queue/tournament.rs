//! Tournament tree of a few hundred events.

use super::entry::{Entry, LAST_INSTANT};
use std::hint::select_unpredictable;

/// Initial number of levels of a small tree: enough for its first 2^6 leaves. Levels are added as leaves are needed.
const FIRST_ROUNDS: u32 = 6;
/// Maximum number of levels of a small tree. A tree with more levels uses all of them from the start, so that their
/// number is known at compile time.
const SMALL_ROUNDS: u32 = 8;
/// Index that refers to no leaf.
const NONE: u32 = u32::MAX;
/// Content of an empty leaf, which is later than every event.
const EMPTY: Node = Node { time: u64::MAX, rest: u64::MAX };

/// Tournament tree (winner tree; Knuth, *The Art of Computer Programming* 3, section 5.2.3). Each inner node holds the
/// earlier event of its two children, so that the root holds the next event. When a leaf is replaced, only the nodes
/// above it change. Their six to ten comparisons compile to conditional moves: with events at irregular intervals,
/// mispredicted branches would double the time.
///
/// The leaf of the last event that was popped is not cleared at once, since the next event that is pushed usually
/// replaces it.
#[derive(Debug)]
pub(super) struct Tournament<const PLACES: usize, const NODES: usize> {
    /// Node n holds the earlier event of nodes 2n and 2n + 1; node `PLACES` + p is leaf p. `None`: before the first
    /// use.
    nodes: Option<Box<[Node; NODES]>>,
    /// Number of levels in use above the leaves. If all are in use, the root is node 1; otherwise it is a node further
    /// down.
    rounds: u32,
    /// Stack of empty leaves; its first `free_len` elements are valid.
    free: [u16; PLACES],
    /// Number of empty leaves in `free`.
    free_len: usize,
    /// Leaf of the last event that was popped, or [`NONE`].
    vacant: u32,
}

/// An event and its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    time: u64,
    /// Key in the upper half, leaf in the lower one.
    rest: u64,
}

impl Node {
    #[inline(always)]
    fn new(event: Entry, place: u32) -> Node {
        Node { time: event.time, rest: u64::from(event.key) << 32 | u64::from(place) }
    }
    /// Returns the earlier of the two nodes, without a branch.
    #[inline(always)]
    fn or_earlier(self, other: Node) -> Node {
        let order = |node: Node| u128::from(node.time) << 64 | u128::from(node.rest);
        let earlier = order(other) < order(self);
        // The fields are selected separately, since the compiler turns a selection between 128-bit integers into a
        // branch.
        Node {
            time: select_unpredictable(earlier, other.time, self.time),
            rest: select_unpredictable(earlier, other.rest, self.rest),
        }
    }
    #[inline(always)]
    fn entry(self) -> Entry {
        Entry { time: self.time, key: (self.rest >> 32) as u32 }
    }
}

impl<const PLACES: usize, const NODES: usize> Default for Tournament<PLACES, NODES> {
    fn default() -> Self {
        // Leaf 0 is used first.
        let free = std::array::from_fn(|at| (PLACES - 1 - at) as u16);
        let rounds = if Self::ROUNDS > SMALL_ROUNDS { Self::ROUNDS } else { FIRST_ROUNDS };
        Tournament { nodes: None, rounds, free, free_len: PLACES, vacant: NONE }
    }
}

impl<const PLACES: usize, const NODES: usize> Tournament<PLACES, NODES> {
    /// Number of levels above the leaves if all leaves are in use.
    const ROUNDS: u32 = {
        assert!(PLACES.is_power_of_two() && PLACES >> FIRST_ROUNDS > 0 && PLACES <= 1 << 16 && NODES == 2 * PLACES);
        PLACES.ilog2()
    };
    /// Capacity in events.
    pub const CAPACITY: usize = PLACES;

    /// Returns the number of events.
    #[inline]
    pub fn len(&self) -> usize {
        PLACES - self.free_len - usize::from(self.vacant != NONE)
    }

    /// Returns the number of leaves in use, including that of the last event that was popped.
    #[inline]
    pub fn leaves_taken(&self) -> usize {
        PLACES - self.free_len
    }

    /// Puts an event into the leaf of the last event that was popped, which is the usual case. Returns `false` if that
    /// leaf has been reused or cleared.
    #[inline(always)]
    pub fn replace(&mut self, event: Entry) -> bool {
        let (place, rounds) = (self.vacant, self.rounds);
        let Some(nodes) = &mut self.nodes else { return false };
        if place == NONE {
            return false;
        }
        self.vacant = NONE;
        put(nodes, place, Node::new(event, place), rounds);
        true
    }

    /// Adds an event; there must be an empty leaf.
    #[inline]
    pub fn push(&mut self, event: Entry) {
        if self.replace(event) {
            return;
        }
        debug_assert!(self.free_len > 0);
        self.free_len = self.free_len.wrapping_sub(1) % PLACES;
        let place = u32::from(self.free[self.free_len]);
        if place >> self.rounds != 0 {
            self.add_round();
        }
        let nodes = self.nodes.get_or_insert_with(|| Box::new([EMPTY; NODES]));
        put(nodes, place, Node::new(event, place), self.rounds);
    }

    /// Removes and returns the next event; `None`: there is no event at or before `end` picoseconds.
    #[inline]
    pub fn pop_until(&mut self, end: u64) -> Option<Entry> {
        if self.vacant != NONE {
            self.vacate();
        }
        let next = self.nodes.as_ref()?[self.winner()];
        // No event is later than the last instant, so that one comparison also excludes an empty leaf.
        if next.time > end.min(LAST_INSTANT) {
            return None;
        }
        self.vacant = next.rest as u32;
        Some(next.entry())
    }

    /// Returns the time of the next event, picoseconds; `None`: the tree is empty.
    pub fn first_time(&self) -> Option<u64> {
        let nodes = self.nodes.as_ref()?;
        let (mut first, mut at) = (nodes[self.winner()], self.winner());
        if self.vacant != NONE {
            // The vacant leaf, not cleared yet, counts as empty: the comparisons on its path are repeated without it.
            (first, at) = (EMPTY, PLACES + self.vacant as usize);
        }
        while at > self.winner() {
            first = first.or_earlier(nodes[at ^ 1]);
            at /= 2;
        }
        (first != EMPTY).then_some(first.time)
    }

    /// Removes and returns all events, unsorted.
    pub fn drain(&mut self) -> Vec<Entry> {
        let vacant = self.vacant as usize;
        let nodes = std::mem::take(self).nodes;
        let places = nodes.iter().flat_map(|nodes| nodes[PLACES..].iter().enumerate());
        places.filter(|(place, node)| *place != vacant && **node != EMPTY).map(|(_, node)| node.entry()).collect()
    }

    /// Clears the leaf of the last event that was popped.
    #[inline(never)]
    fn vacate(&mut self) {
        let place = std::mem::replace(&mut self.vacant, NONE);
        self.free[self.free_len % PLACES] = place as u16;
        self.free_len += 1;
        if let Some(nodes) = &mut self.nodes {
            put(nodes, place, EMPTY, self.rounds);
        }
    }

    /// Returns the index of the root.
    #[inline]
    fn winner(&self) -> usize {
        // A large tree uses all levels, so that its root is known at compile time.
        if Self::ROUNDS > SMALL_ROUNDS { 1 } else { 1 << ((Self::ROUNDS - self.rounds) % Self::ROUNDS) }
    }

    /// Doubles the number of leaves in use; the new leaves are empty.
    #[cold]
    #[inline(never)]
    fn add_round(&mut self) {
        let before = self.winner();
        self.rounds += 1;
        if let Some(nodes) = &mut self.nodes {
            nodes[before / 2] = nodes[before];
        }
    }
}

/// Puts a node into a leaf and updates the nodes above it.
#[inline(always)]
fn put<const NODES: usize>(nodes: &mut [Node; NODES], place: u32, node: Node, rounds: u32) {
    let all_rounds = (NODES / 2).ilog2();
    match rounds {
        _ if all_rounds > SMALL_ROUNDS => play(nodes, place, node, all_rounds),
        6 => play(nodes, place, node, 6),
        7 => play(nodes, place, node, 7),
        _ => play(nodes, place, node, 8),
    }
}

/// Does the work of [`put`] for a number of levels that is constant at the call, so that the compiler unrolls the loop
/// and emits no branches.
#[inline(always)]
fn play<const NODES: usize>(nodes: &mut [Node; NODES], place: u32, new: Node, rounds: u32) {
    let (mut at, mut winner) = (NODES / 2 + place as usize % (NODES / 2), new);
    nodes[at] = winner;
    for _ in 0..rounds {
        winner = winner.or_earlier(nodes[(at ^ 1) % NODES]);
        at /= 2;
        nodes[at] = winner;
    }
}
