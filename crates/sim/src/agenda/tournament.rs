//! Some hundred events, of which the next is known at any time.

use super::entry::Entry;
use std::hint::select_unpredictable;

/// Rounds at first in a tournament of few, as long as the places of the first so many do.
const FIRST_ROUNDS: u32 = 6;
/// Rounds of the largest tournament that begins with those; a larger one plays all of its rounds from the first on, so
/// that nothing has to be decided.
const FEW_ROUNDS: u32 = 8;
/// No place.
const NONE: u32 = u32::MAX;
/// Stands where no event does: later than all events.
const NOBODY: Node = Node { time: u64::MAX, rest: u64::MAX };

/// A knockout tournament: events stand in places, of each two the earlier one goes on to the next round, and the last
/// one left is the next of all. Another event in a place changes the winners above it and no others. None of the six to
/// ten comparisons decides where the program goes on, which a processor could not foresee: that takes a half of the
/// time that a list or slots take whose events come in no regular order.
///
/// The place of the event that was taken last stays as it is until either another event takes it, which is the rule,
/// or the next one is asked for.
#[derive(Debug)]
pub(super) struct Tournament<const PLACES: usize, const NODES: usize> {
    /// Node n is the winner of nodes 2n and 2n + 1, node `PLACES` + p is place p. None before the first use.
    nodes: Option<Box<[Node; NODES]>>,
    /// Rounds to the winner of all, which is node 1 after all of them: the first places are those that are used.
    rounds: u32,
    /// Places where nobody stands: the first so many.
    free: [u16; PLACES],
    count_free: usize,
    /// The place of the event that was taken last.
    vacant: u32,
}

/// An event in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    time: u64,
    /// Its key, and in the lower half its place.
    rest: u64,
}

impl Node {
    #[inline(always)]
    fn new(event: Entry, place: u32) -> Node {
        Node { time: event.time, rest: u64::from(event.key) << 32 | u64::from(place) }
    }
    /// The earlier one of both, without a branch.
    #[inline(always)]
    fn or_earlier(self, other: Node) -> Node {
        let whole = |node: Node| u128::from(node.time) << 64 | u128::from(node.rest);
        let earlier = whole(other) < whole(self);
        // One by one: of a choice between numbers of 128 bits the compiler makes a branch.
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
        // The first place is handed out first.
        let free = std::array::from_fn(|at| (PLACES - 1 - at) as u16);
        let rounds = if Self::ROUNDS > FEW_ROUNDS { Self::ROUNDS } else { FIRST_ROUNDS };
        Tournament { nodes: None, rounds, free, count_free: PLACES, vacant: NONE }
    }
}

impl<const PLACES: usize, const NODES: usize> Tournament<PLACES, NODES> {
    /// Most rounds from a place to the winner of all.
    const ROUNDS: u32 = {
        assert!(PLACES.is_power_of_two() && PLACES >> FIRST_ROUNDS > 0 && PLACES <= 1 << 16 && NODES == 2 * PLACES);
        PLACES.ilog2()
    };
    /// Most events that it holds.
    pub const MOST: usize = PLACES;

    /// Events in it.
    #[inline]
    pub fn len(&self) -> usize {
        PLACES - self.count_free - usize::from(self.vacant != NONE)
    }

    /// The same, with the place of the event that was taken last.
    #[inline]
    pub fn places_taken(&self) -> usize {
        PLACES - self.count_free
    }

    /// Has an event take the place of the one that was taken last, if nobody else has: the rule, and so without a call.
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

    /// Adds an event, for which there is room.
    #[inline]
    pub fn push(&mut self, event: Entry) {
        if self.replace(event) {
            return;
        }
        debug_assert!(self.count_free > 0);
        self.count_free = self.count_free.wrapping_sub(1) % PLACES;
        let place = u32::from(self.free[self.count_free]);
        if place >> self.rounds != 0 {
            self.add_round();
        }
        let nodes = self.nodes.get_or_insert_with(|| Box::new([NOBODY; NODES]));
        put(nodes, place, Node::new(event, place), self.rounds);
    }

    /// Takes out the next event if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: u64) -> Option<Entry> {
        if self.vacant != NONE {
            self.leave();
        }
        let next = self.nodes.as_ref()?[self.winner()];
        if next.time > end || next == NOBODY {
            return None;
        }
        self.vacant = next.rest as u32;
        Some(next.entry())
    }

    /// The time of the next event.
    pub fn first_time(&self) -> Option<u64> {
        let nodes = self.nodes.as_ref()?;
        let (mut first, mut at) = (nodes[self.winner()], self.winner());
        if self.vacant != NONE {
            // As if nobody stood there.
            (first, at) = (NOBODY, PLACES + self.vacant as usize);
        }
        while at > self.winner() {
            first = first.or_earlier(nodes[at ^ 1]);
            at /= 2;
        }
        (first != NOBODY).then_some(first.time)
    }

    /// Takes out all events, in no order.
    pub fn drain(&mut self) -> Vec<Entry> {
        let vacant = self.vacant as usize;
        let nodes = std::mem::take(self).nodes;
        let places = nodes.iter().flat_map(|nodes| nodes[PLACES..].iter().enumerate());
        places.filter(|(place, node)| *place != vacant && **node != NOBODY).map(|(_, node)| node.entry()).collect()
    }

    /// Nobody stands any more where the event stood that was taken last.
    #[inline(never)]
    fn leave(&mut self) {
        let place = std::mem::replace(&mut self.vacant, NONE);
        self.free[self.count_free % PLACES] = place as u16;
        self.count_free += 1;
        if let Some(nodes) = &mut self.nodes {
            put(nodes, place, NOBODY, self.rounds);
        }
    }

    /// The node of the winner of all.
    #[inline]
    fn winner(&self) -> usize {
        1 << ((Self::ROUNDS - self.rounds) % Self::ROUNDS)
    }

    /// Twice as many places; in the new ones stands nobody.
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

/// Has a node in a place and plays the rounds above it.
#[inline(always)]
fn put<const NODES: usize>(nodes: &mut [Node; NODES], place: u32, node: Node, rounds: u32) {
    let most = (NODES / 2).ilog2();
    match rounds {
        _ if most > FEW_ROUNDS => play(nodes, place, node, most),
        6 => play(nodes, place, node, 6),
        7 => play(nodes, place, node, 7),
        _ => play(nodes, place, node, 8),
    }
}

/// The same with a number of rounds that is known where this is called, so that there is no loop: in one the compiler
/// would not do without branches.
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
