//! A few events in order: a 4-ary implicit heap.

use super::Key;
use std::cmp::Ordering;
use tailback_units::Time;

/// An event: when, and which among equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub time: u64,
    pub key: u32,
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline(always)]
    fn lt(&self, other: &Entry) -> bool {
        self.time < other.time || (self.time == other.time && self.key < other.key)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.time, self.key).cmp(&(other.time, other.key))
    }
}

impl Entry {
    #[inline]
    pub fn new(time: Time, key: Key) -> Entry {
        Entry { time: time.0.min(LAST), key: key.0 }
    }
}

/// The last instant at which something happens: what is later, such as the arrival of what a queue
/// would send after the end of time, counts as then.
const LAST: u64 = u64::MAX - 4;

/// Entries after the last one: later than every event, and no two neighbours at the same time, so
/// that they are never taken for a tie.
fn filler(place: usize) -> Entry {
    Entry { time: u64::MAX - (place % 4) as u64, key: u32::MAX }
}

/// A 4-ary implicit heap. A popped root stays as a hole that the next push fills, since most events
/// schedule the next one of their own component: one sift instead of two.
#[derive(Debug)]
pub(super) struct Heap {
    /// Entries, the hole included, then at least three fillers: so that four children can be
    /// compared wherever there is one.
    heap: Vec<Entry>,
    len: usize,
    hole: bool,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { heap: (0..4).map(filler).collect(), len: 0, hole: false }
    }
}

impl Heap {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            if self.len + 4 > self.heap.len() {
                self.grow();
            }
            self.len += 1;
            self.sift_up(entry);
        }
    }

    /// Removes the next event if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: u64) -> Option<Entry> {
        if self.hole {
            self.close_hole();
        }
        let next = self.heap[0];
        if next.time > end || self.len == 0 {
            return None;
        }
        self.hole = true;
        Some(next)
    }

    /// The first event; one later than all without one.
    #[inline]
    pub fn first(&mut self) -> Entry {
        if self.hole {
            self.close_hole();
        }
        self.heap[0]
    }

    /// The events in no order.
    pub fn entries(&mut self) -> &[Entry] {
        if self.hole {
            self.close_hole();
        }
        &self.heap[..self.len]
    }

    /// Takes all events out, in no order.
    pub fn take_all(&mut self) -> Vec<Entry> {
        let all = self.entries().to_vec();
        *self = Heap::default();
        all
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == usize::from(self.hole)
    }

    /// Events pending, stale ones included.
    #[inline]
    pub fn len(&self) -> usize {
        self.len - usize::from(self.hole)
    }

    #[cold]
    fn grow(&mut self) {
        let places = 2 * self.heap.len() + 4;
        self.heap.extend((self.heap.len()..places).map(filler));
    }

    /// Fills the hole at the root with the last entry.
    fn close_hole(&mut self) {
        self.hole = false;
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], filler(self.len));
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Lets `entry`, which is at the last place, rise.
    fn sift_up(&mut self, entry: Entry) {
        let mut at = self.len - 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Puts `entry` at the root and lets it sink. The heap is not empty.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let len = self.len;
        debug_assert!(len > 0 && len + 3 <= self.heap.len());
        let heap = self.heap.as_mut_ptr();
        let mut at = 0;
        // SAFETY: `heap` points to at least `len + 3` initialised entries. `at` is 0 (and len > 0)
        // or was a child before a filler, so below `len`; four children are read only where the
        // first is below `len`, and the last is then below `len + 3`. This is the hottest loop of the
        // program; with bounds checks the benchmark `udpqueue` takes 10 % more instructions.
        unsafe {
            loop {
                let first = 4 * at + 1;
                if first >= len {
                    break;
                }
                let children = heap.add(first);
                let (a, b) = ((*children).time, (*children.add(1)).time);
                let (c, d) = ((*children.add(2)).time, (*children.add(3)).time);
                let (left, left_at) = if b < a { (b, 1) } else { (a, 0) };
                let (right, right_at) = if d < c { (d, 3) } else { (c, 2) };
                let (least, mut least_at) = if right < left { (right, right_at) } else { (left, left_at) };
                // Times alone decide, in half the instructions; equal ones are rare.
                if (a == b) | (c == d) | (left == right) {
                    least_at = least_of_four(&*children.cast());
                }
                if least >= entry.time && *children.add(least_at) >= entry {
                    break;
                }
                *heap.add(at) = *children.add(least_at);
                at = first + least_at;
            }
            *heap.add(at) = entry;
        }
    }
}

/// Which of four entries comes first.
#[cold]
fn least_of_four(entries: &[Entry; 4]) -> usize {
    (1..4).fold(0, |least, at| if entries[at] < entries[least] { at } else { least })
}
