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
}

/// Segments received out of order, stored as runs, and the list of the runs that grew most recently.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// Runs in ascending order, with gaps between them.
    runs: Vec<Run>,
    /// One segment of each run that grew most recently, the newest first. `None`: acknowledgements carry no blocks.
    recent: Option<Box<Recent>>,
}

/// Number of recent runs stored: one more than the blocks of an acknowledgement.
const RECENT: usize = 4;

/// A list of at most [`RECENT`] segments.
#[derive(Debug, Default)]
struct Recent {
    segments: [u32; RECENT],
    len: u8,
}

impl Recent {
    fn as_slice(&self) -> &[u32] {
        &self.segments[..usize::from(self.len)]
    }
    /// Removes the segments for which `keep` returns `false`.
    fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let mut len = 0;
        for place in 0..usize::from(self.len) {
            let seq = self.segments[place];
            self.segments[len] = seq;
            len += usize::from(keep(seq));
        }
        self.len = len as u8;
    }
    /// Adds a segment in front; removes the last one of a full list.
    fn push_front(&mut self, seq: u32) {
        self.segments.rotate_right(1);
        self.segments[0] = seq;
        self.len = (self.len + 1).min(RECENT as u8);
    }
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of runs of consecutive segments.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.len() as u64
    }

    /// Returns the number of segments held.
    pub(crate) fn segments(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.end.wrapping_sub(run.start))).sum()
    }

    /// Adds segment `seq` of `payload` bytes; returns `false` if it is held already.
    pub(crate) fn insert(&mut self, seq: u32, payload: u16) -> bool {
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
                left.end = right.end;
                left.bytes += bytes + right.bytes;
            }
            (true, false) => {
                let left = &mut self.runs[at - 1];
                left.end = after;
                left.bytes += bytes;
            }
            (false, true) => {
                let right = &mut self.runs[at];
                right.start = seq;
                right.bytes += bytes;
            }
            (false, false) => {
                // One run is the common case; `insert` into an empty vector would allocate memory for four.
                if self.runs.is_empty() {
                    self.runs.reserve_exact(1);
                }
                self.runs.insert(at, Run { start: seq, end: after, bytes });
            }
        }
        true
    }

    /// Removes the run that begins at `next`, if there is one. Returns the segment after the run and the payload bytes
    /// of the run; without such a run, `next` and 0.
    pub(crate) fn release(&mut self, next: u32) -> (u32, u64) {
        match self.runs.first().copied() {
            Some(run) if run.start == next => {
                self.runs.remove(0);
                if let Some(recent) = &mut self.recent {
                    recent.retain(|seq| !before(seq, run.end));
                }
                (run.end, run.bytes)
            }
            _ => (next, 0),
        }
    }

    /// Returns the blocks of an acknowledgement: the duplicate if there is one (RFC 2883), then the runs that grew most
    /// recently, the newest first (RFC 2018 section 4). Unused blocks are empty.
    #[inline]
    pub(crate) fn blocks(&self, duplicate: Block) -> [Block; 3] {
        let recent = self.recent.as_ref().map_or(&[][..], |recent| recent.as_slice());
        if recent.is_empty() && duplicate.start == duplicate.end {
            return [Block::default(); 3];
        }
        self.list_blocks(recent, duplicate)
    }

    #[inline(never)]
    fn list_blocks(&self, recent: &[u32], duplicate: Block) -> [Block; 3] {
        let mut blocks = [Block::default(); 3];
        let mut n = 0;
        if duplicate.start != duplicate.end {
            blocks[0] = duplicate;
            n = 1;
        }
        for &seq in recent.iter().take(3 - n) {
            if let Some(run) = self.run_of(seq) {
                blocks[n] = Block { start: run.start, end: run.end };
                n += 1;
            }
        }
        blocks
    }

    /// Returns the number of recent runs before the one that segment `seq` is in or adjacent to; if there is no such run, that
    /// of all recent ones.
    pub(crate) fn place(&self, seq: u32) -> usize {
        let recent = self.recent.as_ref().map_or(&[][..], |recent| recent.as_slice());
        let after = seq.wrapping_add(1);
        let extends = |run: &Run| !before(after, run.start) && !before(run.end, seq);
        let mut runs = recent.iter().map(|other| self.run_of(*other));
        runs.position(|run| run.is_some_and(extends)).unwrap_or(recent.len())
    }

    /// Returns the run that contains segment `seq`; `None`: the segment is not held.
    fn run_of(&self, seq: u32) -> Option<&Run> {
        let at = self.runs.partition_point(|run| !before(seq, run.end));
        self.runs.get(at).filter(|run| !before(seq, run.start))
    }

    /// Moves the run of segment `seq`, which must be held, to the front of the list of recent runs.
    pub(crate) fn touch(&mut self, seq: u32) {
        let run = self.run_of(seq).copied();
        let recent = self.recent.get_or_insert_default();
        if let Some(Run { start, end, .. }) = run {
            recent.retain(|other| before(other, start) || !before(other, end));
        }
        recent.push_front(seq);
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
            let new = held.insert(number, payload);
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
                assert_eq!(held.release(start.wrapping_add(next + 1)), (start.wrapping_add(end), bytes));
                assert_eq!(held.is_empty(), map.is_empty());
                next = end;
            }
        }
        assert!(start.wrapping_add(next) < start, "numbers have wrapped around");
    }

    #[test]
    fn if_no_run_is_listed_the_only_block_is_that_of_a_duplicate() {
        let mut held = Reassembly::default();
        assert!(held.insert(5, 1) && held.insert(9, 1));
        assert_eq!(held.blocks(Block::default()), [Block::default(); 3]);
        let duplicate = Block { start: 3, end: 4 };
        assert_eq!(held.blocks(duplicate), [duplicate, Block::default(), Block::default()]);
        assert_eq!(held.release(4), (4, 0));
        assert_eq!(held.release(5), (6, 1));
    }
}
