//! Sorted list of a few events.

use super::entry::Entry;

/// Capacity in events; a power of two.
const CAPACITY: usize = 64;

/// Sorted list of a few events in a ring buffer. An event is inserted from the nearer end, so that few other events
/// move: the arrival of a frame is usually near the front, and the next burst of a source near the back.
#[derive(Debug)]
pub(super) struct Sorted {
    ring: [Entry; CAPACITY],
    /// Position of the next event, modulo [`CAPACITY`]; wraps around at `usize::MAX`.
    head: usize,
    len: usize,
}

impl Default for Sorted {
    fn default() -> Sorted {
        Sorted { ring: [Entry { time: 0, key: 0 }; CAPACITY], head: 0, len: 0 }
    }
}

impl Sorted {
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == CAPACITY
    }
    /// Returns the next event; `None`: the list is empty.
    #[inline]
    pub fn first(&self) -> Option<Entry> {
        (self.len > 0).then(|| *self.at(0))
    }
    /// Removes the next event, if there is one.
    #[inline]
    pub fn pop_first(&mut self) {
        if self.len > 0 {
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
        }
    }

    /// Inserts an event; the list must not be full. Returns the event's position; 0 is the next event.
    #[inline]
    pub fn insert(&mut self, entry: Entry) -> usize {
        debug_assert!(!self.is_full());
        let others = self.len;
        self.len += 1;
        if others == 1 {
            // With one source and one link, either of their two events may be the next one. A branch would often be
            // mispredicted, so there is none.
            let (earlier, later, first) = entry.in_order(*self.at(0));
            (*self.at_mut(0), *self.at_mut(1)) = (earlier, later);
            return usize::from(!first);
        }
        if others > 0 && entry < *self.at(others / 2) {
            self.head = self.head.wrapping_sub(1);
            let mut at = 0;
            while *self.at(at + 1) < entry {
                *self.at_mut(at) = *self.at(at + 1);
                at += 1;
            }
            *self.at_mut(at) = entry;
            return at;
        }
        let mut at = others;
        while at > 0 && entry < *self.at(at - 1) {
            *self.at_mut(at) = *self.at(at - 1);
            at -= 1;
        }
        *self.at_mut(at) = entry;
        at
    }

    /// Returns `true` if an event next to the one at position `place` has the same time.
    pub fn has_ties(&self, place: usize) -> bool {
        let time = self.at(place).time;
        (place > 0 && self.at(place - 1).time == time) || (place + 1 < self.len && self.at(place + 1).time == time)
    }

    /// Removes and returns all events, in order.
    pub fn drain(&mut self) -> Vec<Entry> {
        let all = (0..self.len).map(|index| *self.at(index)).collect();
        self.len = 0;
        all
    }

    /// Returns the event at a position; 0 is the next event.
    #[inline]
    fn at(&self, index: usize) -> &Entry {
        &self.ring[self.head.wrapping_add(index) % CAPACITY]
    }
    #[inline]
    fn at_mut(&mut self, index: usize) -> &mut Entry {
        &mut self.ring[self.head.wrapping_add(index) % CAPACITY]
    }
}
