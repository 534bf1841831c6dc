//! Many events of later slots of time, each slot's in no order.

use super::entry::Entry;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots that can be told apart at once.
pub(super) const SLOTS: u64 = 4096;
/// No event.
const NONE: u32 = u32::MAX;

/// A wheel of slots, each a list of events, and a heap for what lies more than a turn ahead.
#[derive(Debug)]
pub(super) struct Wheel {
    /// The first event of each slot, by the last bits of its number; nothing before the first use.
    first: Vec<u32>,
    /// Bit n is set where slot n has events, and bit n of `words` where word n of this has bits.
    filled: [u64; (SLOTS / 64) as usize],
    words: u64,
    events: Vec<Listed>,
    /// The first place of `events` that is free, which lists the next.
    free: u32,
    /// How many are in slots.
    count: usize,
    far: BinaryHeap<Reverse<Entry>>,
}

/// An event and the next one of its slot.
#[derive(Clone, Copy, Debug)]
struct Listed {
    time: u64,
    key: u32,
    next: u32,
}

impl Default for Wheel {
    fn default() -> Wheel {
        let filled = [0; (SLOTS / 64) as usize];
        Wheel { first: Vec::new(), filled, words: 0, events: Vec::new(), free: NONE, count: 0, far: BinaryHeap::new() }
    }
}

impl Wheel {
    /// Adds an event of `slot`, which is later than `current`.
    #[inline]
    pub fn put(&mut self, entry: Entry, slot: u64, current: u64) {
        if slot - current >= SLOTS {
            return self.far.push(Reverse(entry));
        }
        let index = (slot % SLOTS) as usize;
        let Some(first) = self.first.get_mut(index) else { return self.open(entry, slot, current) };
        let listed = Listed { time: entry.time, key: entry.key, next: *first };
        *first = self.free;
        match self.events.get_mut(self.free as usize) {
            Some(place) => self.free = std::mem::replace(place, listed).next,
            None => {
                *first = self.events.len() as u32;
                self.events.push(listed);
            }
        }
        self.filled[index / 64] |= 1 << (index % 64);
        self.words |= 1 << (index / 64);
        self.count += 1;
    }

    /// The first use.
    #[cold]
    fn open(&mut self, entry: Entry, slot: u64, current: u64) {
        self.first = vec![NONE; SLOTS as usize];
        self.put(entry, slot, current);
    }

    /// The first slot after `current` that has events; slots are 2^`shift` picoseconds wide.
    pub fn next_slot(&self, current: u64, shift: u32) -> Option<u64> {
        let far = self.far.peek().map(|Reverse(entry)| entry.time >> shift);
        let near = (self.count > 0).then(|| {
            let from = current.wrapping_add(1);
            from + (self.filled_from((from % SLOTS) as u32).wrapping_sub(from) & (SLOTS - 1))
        });
        far.into_iter().chain(near).min()
    }

    /// The time of the first event after slot `current`.
    pub fn first_time(&self, current: u64, shift: u32) -> Option<u64> {
        let slot = self.next_slot(current, shift)?;
        let mut first = self.far.peek().map(|Reverse(entry)| entry.time).unwrap_or(u64::MAX);
        let mut at = self.first.get((slot % SLOTS) as usize).copied().unwrap_or(NONE);
        while let Some(listed) = self.events.get(at as usize) {
            first = first.min(listed.time);
            at = listed.next;
        }
        Some(first)
    }

    /// The first filled slot from `index` on, round the wheel. There is one.
    fn filled_from(&self, index: u32) -> u64 {
        let (word, bit) = (index / 64, index % 64);
        let here = self.filled[word as usize] >> bit << bit;
        if here != 0 {
            return u64::from(word * 64 + here.trailing_zeros());
        }
        // The words after this one, else from the first on; this one again comes last.
        let after = if word < 63 { self.words >> (word + 1) << (word + 1) } else { 0 };
        let next = if after != 0 { after } else { self.words }.trailing_zeros();
        u64::from(next * 64 + self.filled[next as usize].trailing_zeros())
    }

    /// How many events there are in the next `slots` after `current`, fewer than a turn; no more than `enough` are
    /// counted.
    pub fn within(&self, current: u64, slots: u64, enough: usize) -> usize {
        debug_assert!(slots < SLOTS);
        let (from, mut count, mut at) = (current.wrapping_add(1), 0, 0);
        while self.count > 0 && count < enough {
            let next = self.filled_from((from.wrapping_add(at) % SLOTS) as u32);
            // How far on it is; round the wheel to one that has been passed means that there are no more.
            let ahead = next.wrapping_sub(from) % SLOTS;
            if ahead < at || ahead >= slots {
                break;
            }
            let mut listed = self.first[next as usize];
            while let Some(event) = self.events.get(listed as usize) {
                count += 1;
                listed = event.next;
            }
            at = ahead + 1;
        }
        count
    }

    /// Takes out the events of `slot`, the next one that has any.
    pub fn take(&mut self, slot: u64, shift: u32, mut to: impl FnMut(Entry)) {
        let index = (slot % SLOTS) as usize;
        let mut at = self.first.get_mut(index).map_or(NONE, |first| std::mem::replace(first, NONE));
        while let Some(listed) = self.events.get_mut(at as usize) {
            to(Entry { time: listed.time, key: listed.key });
            let next = std::mem::replace(&mut listed.next, self.free);
            self.free = at;
            self.count -= 1;
            at = next;
        }
        self.filled[index / 64] &= !(1 << (index % 64));
        if self.filled[index / 64] == 0 {
            self.words &= !(1 << (index / 64));
        }
        while let Some(&Reverse(entry)) = self.far.peek()
            && entry.time >> shift == slot
        {
            to(entry);
            self.far.pop();
        }
    }

    /// Shows the keys of the events of the next slot after `current` that has any, but for those far
    /// ahead.
    #[inline]
    pub fn look(&self, current: u64, mut show: impl FnMut(u32)) {
        if self.count == 0 {
            return;
        }
        let index = self.filled_from((current.wrapping_add(1) % SLOTS) as u32);
        let mut at = self.first[index as usize];
        while let Some(listed) = self.events.get(at as usize) {
            show(listed.key);
            at = listed.next;
        }
    }

    /// Takes all events out, in no order.
    pub fn take_all(&mut self) -> Vec<Entry> {
        let mut all: Vec<Entry> = self.far.drain().map(|Reverse(entry)| entry).collect();
        for first in &mut self.first {
            let mut at = std::mem::replace(first, NONE);
            while let Some(listed) = self.events.get(at as usize) {
                all.push(Entry { time: listed.time, key: listed.key });
                at = listed.next;
            }
        }
        *self = Wheel { first: std::mem::take(&mut self.first), ..Wheel::default() };
        all
    }

    /// Events in it that are not more than a turn ahead.
    #[inline]
    pub fn near(&self) -> usize {
        self.count
    }
    /// Events in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.count + self.far.len()
    }
}
