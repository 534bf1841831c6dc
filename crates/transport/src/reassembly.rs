//! Reassembly of segments that arrive out of order.

use crate::seq::before;
use crate::wire::Block;

/// A run of consecutive segments.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// First segment.
    start: u32,
    /// Segment after the last.
    end: u32,
    /// Payload bytes.
    bytes: u64,
    /// Number of packets that have the segments, and numbers of segments in the first and in the last of them.
    packets: u32,
    first: u8,
    last: u8,
}

impl Run {
    /// Adds the next segment, of `bytes` bytes, to the last packet if that has less than `most` segments.
    fn append(&mut self, bytes: u64, most: u8) {
        self.end = self.end.wrapping_add(1);
        self.bytes += bytes;
        if self.last < most {
            // The first packet is also the last one.
            self.first += u8::from(self.packets == 1);
            self.last += 1;
        } else {
            self.packets += 1;
            self.last = 1;
        }
    }
}

/// A run that the next segment in order has released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Released {
    /// Segment after the run; without a run, the one that was looked for.
    pub next: u32,
    /// Payload bytes of the run; 0: there was none.
    pub bytes: u64,
    /// Number of packets of the run, and number of segments in the first of them.
    pub packets: u32,
    pub first: u8,
}

/// Segments received out of order, stored as runs, and the blocks of acknowledgements.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// Runs in ascending order, with gaps between them.
    runs: Vec<Run>,
    /// Blocks of the runs that grew most recently. `None`: acknowledgements carry no blocks.
    recent: Option<Box<Recent>>,
}

/// Number of recent blocks stored: one more than those of an acknowledgement (`TCP_NUM_SACKS` of Linux).
const RECENT: usize = 4;

/// A list of at most [`RECENT`] blocks, the newest first.
#[derive(Debug, Default)]
struct Recent {
    blocks: [Block; RECENT],
    len: u8,
}

impl Recent {
    fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.len)]
    }
    /// Removes the blocks for which `keep` returns `false`.
    fn retain(&mut self, keep: impl Fn(Block) -> bool) {
        let mut len = 0;
        for place in 0..usize::from(self.len) {
            let block = self.blocks[place];
            self.blocks[len] = block;
            len += usize::from(keep(block));
        }
        self.len = len as u8;
    }
    /// Adds a block in front; removes the last one of a full list.
    fn push_front(&mut self, block: Block) {
        self.blocks.rotate_right(1);
        self.blocks[0] = block;
        self.len = (self.len + 1).min(RECENT as u8);
    }
}

impl Block {
    /// Extends the block by one that overlaps it or is next to it; returns `false` if there is a gap between them
    /// (`tcp_sack_extend`).
    fn extend(&mut self, other: Block) -> bool {
        if before(self.end, other.start) || before(other.end, self.start) {
            return false;
        }
        if before(other.start, self.start) {
            self.start = other.start;
        }
        if before(self.end, other.end) {
            self.end = other.end;
        }
        true
    }
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of packets that have the segments held.
    pub(crate) fn packets(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.packets)).sum()
    }

    /// Returns the number of segments held.
    pub(crate) fn segments(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.end.wrapping_sub(run.start))).sum()
    }

    /// Adds segment `seq` of `payload` bytes; returns `false` if it is held already. A packet takes the next segment if it has
    /// less than `most` (`tcp_ooo_try_coalesce`).
    pub(crate) fn insert(&mut self, seq: u32, payload: u16, most: u8) -> bool {
        // Index of the first run whose end is after `seq`.
        let at = self.runs.partition_point(|run| !before(seq, run.end));
        if self.runs.get(at).is_some_and(|run| !before(seq, run.start)) {
            return false;
        }
        let bytes = u64::from(payload);
        let after = seq.wrapping_add(1);
        let joins_left = at > 0 && self.runs[at - 1].end == seq;
        let joins_right = self.runs.get(at).is_some_and(|run| run.start == after);
        match (joins_left, joins_right) {
            (true, true) => {
                let right = self.runs.remove(at);
                let left = &mut self.runs[at - 1];
                left.append(bytes, most);
                left.end = right.end;
                left.bytes += right.bytes;
                left.packets += right.packets;
                left.last = right.last;
            }
            (true, false) => self.runs[at - 1].append(bytes, most),
            (false, true) => {
                let right = &mut self.runs[at];
                right.start = seq;
                right.bytes += bytes;
                right.packets += 1;
                right.first = 1;
            }
            (false, false) => {
                // One run is the common case; `insert` into an empty vector would allocate memory for four.
                if self.runs.is_empty() {
                    self.runs.reserve_exact(1);
                }
                self.runs.insert(at, Run { start: seq, end: after, bytes, packets: 1, first: 1, last: 1 });
            }
        }
        true
    }

    /// Removes the run that begins at `next`, if there is one.
    pub(crate) fn release(&mut self, next: u32) -> Released {
        match self.runs.first().copied() {
            Some(run) if run.start == next => {
                self.runs.remove(0);
                if let Some(recent) = &mut self.recent {
                    recent.retain(|block| !before(block.start, run.end));
                }
                Released { next: run.end, bytes: run.bytes, packets: run.packets, first: run.first }
            }
            _ => Released { next, ..Released::default() },
        }
    }

    /// Returns the blocks of an acknowledgement: the duplicate if there is one (RFC 2883), then the runs that grew most
    /// recently, the newest first (RFC 2018 section 4). Unused blocks are empty.
    #[inline]
    pub(crate) fn blocks(&self, duplicate: Block) -> [Block; 3] {
        let recent = self.recent();
        let mut blocks = [Block::default(); 3];
        if duplicate.start == duplicate.end {
            for (block, recent) in blocks.iter_mut().zip(recent) {
                *block = *recent;
            }
        } else {
            blocks[0] = duplicate;
            for (block, recent) in blocks[1..].iter_mut().zip(recent) {
                *block = *recent;
            }
        }
        blocks
    }

    /// Returns the recent blocks, the newest first.
    fn recent(&self) -> &[Block] {
        self.recent.as_ref().map_or(&[], |recent| recent.as_slice())
    }

    /// Returns the run that contains segment `seq`; `None`: the segment is not held.
    fn run_of(&self, seq: u32) -> Option<&Run> {
        let at = self.runs.partition_point(|run| !before(seq, run.end));
        self.runs.get(at).filter(|run| !before(seq, run.start))
    }

    /// Moves the run of segment `seq`, which must be held, to the front of the recent blocks.
    pub(crate) fn touch(&mut self, seq: u32) {
        let Some(&Run { start, end, .. }) = self.run_of(seq) else { return };
        let recent = self.recent.get_or_insert_default();
        recent.retain(|block| before(block.start, start) || !before(block.start, end));
        recent.push_front(Block { start, end });
    }

    /// Extends the first recent block that segment `seq` is in or next to, in its place, as Linux does, which knows of no
    /// other blocks (`tcp_sack_new_ofo_skb`). Returns the number of blocks before it; if there is no such block, that of all,
    /// and the segment becomes a block with [`Reassembly::promote`].
    pub(crate) fn extend(&mut self, seq: u32) -> usize {
        let recent = self.recent.get_or_insert_default();
        let len = usize::from(recent.len);
        let segment = Block { start: seq, end: seq.wrapping_add(1) };
        recent.blocks[..len].iter_mut().position(|block| block.extend(segment)).unwrap_or(len)
    }

    /// Moves the block with `place` others before it to the front, and joins it with those that it has come to; if there is
    /// no such block, adds one of segment `seq` (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`).
    pub(crate) fn promote(&mut self, place: usize, seq: u32) {
        let recent = self.recent.get_or_insert_default();
        let len = usize::from(recent.len);
        if place >= len {
            recent.push_front(Block { start: seq, end: seq.wrapping_add(1) });
            return;
        }
        recent.blocks[..=place].rotate_right(1);
        let [first, others @ ..] = &mut recent.blocks;
        let mut kept = 0;
        for other in 0..len - 1 {
            let block = others[other];
            others[kept] = block;
            kept += usize::from(!first.extend(block));
        }
        recent.len = kept as u8 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tailback_random::Rng;

    /// Segments arrive in random order, and their numbers wrap around. The expected runs, bytes and blocks (RFC 2018)
    /// come from a map of all segments held and a list of the segments that arrived last.
    #[test]
    fn runs_bytes_and_blocks_are_those_of_a_map_of_all_segments() {
        let mut rng = Rng::named(1, "reassembly");
        let (mut held, mut map, mut order) = (Reassembly::default(), BTreeMap::new(), Vec::new());
        let (start, mut next) = (u32::MAX - 500, 0u32);
        for _ in 0..30_000 {
            let seq = next + 1 + rng.below(24) as u32;
            let payload = 1 + rng.below(1400) as u16;
            let number = start.wrapping_add(seq);
            let new = held.insert(number, payload, 2);
            assert_eq!(new, !map.contains_key(&seq));
            if new {
                map.insert(seq, u64::from(payload));
            }
            held.touch(number);
            // Returns the run that contains a segment.
            let run = |seq: u32| {
                let first = (0..=seq).rev().take_while(|n| map.contains_key(n)).last()?;
                let end = (seq..u32::MAX).find(|n| !map.contains_key(n))?;
                Some(Block { start: start.wrapping_add(first), end: start.wrapping_add(end) })
            };
            // Keep one segment of each of the four runs that grew most recently.
            order.retain(|other| run(*other) != run(seq));
            order.insert(0, seq);
            order.truncate(4);
            assert_eq!(held.segments(), map.len() as u64);
            for duplicate in [Block::default(), Block { start: 7, end: 8 }] {
                let mut expected: Vec<Block> = Vec::from_iter((duplicate.end != 0).then_some(duplicate));
                expected.extend(order.iter().filter_map(|seq| run(*seq)));
                let got = held.blocks(duplicate);
                // Three fit.
                for (n, block) in got.into_iter().enumerate() {
                    assert_eq!(block, expected.get(n).copied().unwrap_or_default(), "{got:?} {expected:?}");
                }
            }
            // The next segment in order arrives, and the run after it is released.
            if rng.chance(0.3) {
                let end = (next + 1..u32::MAX).find(|n| !map.contains_key(n)).unwrap_or(0);
                let bytes = (next + 1..end).filter_map(|n| map.remove(&n)).sum();
                order.retain(|seq| *seq >= end);
                let released = held.release(start.wrapping_add(next + 1));
                assert_eq!((released.next, released.bytes), (start.wrapping_add(end), bytes));
                assert_eq!(held.is_empty(), map.is_empty());
                next = end;
            }
        }
        assert!(start.wrapping_add(next) < start, "numbers have wrapped around");
    }

    #[test]
    fn if_no_run_is_listed_the_only_block_is_that_of_a_duplicate() {
        let mut held = Reassembly::default();
        assert!(held.insert(5, 1, 1) && held.insert(9, 1, 1));
        assert_eq!(held.blocks(Block::default()), [Block::default(); 3]);
        let duplicate = Block { start: 3, end: 4 };
        assert_eq!(held.blocks(duplicate), [duplicate, Block::default(), Block::default()]);
        assert_eq!(held.release(4), Released { next: 4, ..Released::default() });
        assert_eq!(held.release(5), Released { next: 6, bytes: 1, packets: 1, first: 1 });
    }

    /// `tcp_sack_new_ofo_skb` by hand: segments 2, 4, 6, 8 and 10 are five blocks, of which the first is forgotten. Segment 3
    /// then extends that of 4 only; segment 7 extends that of 8, which joins that of 6; segment 1 is a block of its own,
    /// beside 2, which is forgotten.
    #[test]
    fn linux_extends_the_blocks_that_it_remembers() {
        let mut held = Reassembly::default();
        let mut add = |seq| {
            held.insert(seq, 1, 2);
            let place = held.extend(seq);
            held.promote(place, seq);
            let blocks = held.blocks(Block::default()).map(|block| (block.start, block.end));
            (place, blocks)
        };
        for (place, seq) in [2, 4, 6, 8].into_iter().enumerate() {
            assert_eq!(add(seq).0, place, "{seq}");
        }
        assert_eq!(add(10), (4, [(10, 11), (8, 9), (6, 7)]));
        assert_eq!(add(3), (3, [(3, 5), (10, 11), (8, 9)]));
        assert_eq!(add(7), (2, [(6, 9), (3, 5), (10, 11)]));
        assert_eq!(add(1), (3, [(1, 2), (6, 9), (3, 5)]));
        // A segment that is held moves its block to the front, or is one of its own (2, whose block is forgotten, joins both).
        assert_eq!(add(10), (3, [(10, 11), (1, 2), (6, 9)]));
        assert_eq!(add(2), (1, [(1, 5), (10, 11), (6, 9)]));
        assert_eq!(held.segments(), 8);
    }

    /// Packets of two segments (`tcp_ooo_try_coalesce`), in the order of a recorded receiver of Linux, by hand: 5, 6, 7-8, 9,
    /// 10-11, 12 and 13 are seven packets, since a segment is added to the packet before it only, and to no full one.
    #[test]
    fn a_segment_joins_the_packet_before_it_if_that_has_place() {
        let mut held = Reassembly::default();
        for (seq, packets) in [(7, 1), (10, 2), (13, 3), (6, 4), (5, 5), (12, 6), (8, 6), (9, 7), (11, 7)] {
            assert!(held.insert(seq, 1000, 2));
            assert_eq!(held.packets(), packets, "{seq}");
        }
        for (seq, packets) in [(15, 8), (17, 9), (18, 9), (16, 9), (19, 10), (21, 11)] {
            assert!(held.insert(seq, 1000, 2));
            assert_eq!(held.packets(), packets, "{seq}");
        }
        assert_eq!(held.release(5), Released { next: 14, bytes: 9000, packets: 7, first: 1 });
        assert_eq!(held.release(15), Released { next: 20, bytes: 5000, packets: 3, first: 2 });
    }
}
