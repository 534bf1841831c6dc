//! A few events in order.

use super::entry::Entry;

/// Most events that it holds, a power of two.
const ROOM: usize = 64;

/// A few events in order, in a ring: one that is added takes its place from the nearer end, so that
/// neither a frame's arrival, which comes soon, nor a source's next burst, which comes last, moves
/// many others.
#[derive(Debug)]
pub(super) struct Near {
    ring: [Entry; ROOM],
    /// The place of the next event; places count on without end.
    head: usize,
    len: usize,
}

impl Default for Near {
    fn default() -> Near {
        Near { ring: [Entry { time: 0, key: 0 }; ROOM], head: 0, len: 0 }
    }
}

impl Near {
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
        self.len == ROOM
    }
    /// The next event.
    #[inline]
    pub fn first(&self) -> Option<Entry> {
        (self.len > 0).then(|| *self.at(0))
    }
    /// Takes away the next event, if there is one.
    #[inline]
    pub fn pop_first(&mut self) {
        if self.len > 0 {
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
        }
    }

    /// Adds an event, for which there is room; its place, counted from the next.
    #[inline]
    pub fn insert(&mut self, entry: Entry) -> usize {
        debug_assert!(!self.is_full());
        let others = self.len;
        self.len += 1;
        if others == 1 {
            // One source and one line: which of both comes first nobody can foresee, so nothing depends on a guess.
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

    /// Whether another event is at the time of that at a place.
    pub fn has_ties(&self, place: usize) -> bool {
        let time = self.at(place).time;
        (place > 0 && self.at(place - 1).time == time) || (place + 1 < self.len && self.at(place + 1).time == time)
    }

    /// Takes out all events, in order.
    pub fn drain(&mut self) -> Vec<Entry> {
        let all = (0..self.len).map(|index| *self.at(index)).collect();
        self.len = 0;
        all
    }

    #[inline]
    fn at(&self, index: usize) -> &Entry {
        &self.ring[self.head.wrapping_add(index) % ROOM]
    }
    #[inline]
    fn at_mut(&mut self, index: usize) -> &mut Entry {
        &mut self.ring[self.head.wrapping_add(index) % ROOM]
    }
}
