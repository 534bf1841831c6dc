//! Timing wheel: events of the calendar's later buckets, unsorted within a bucket.

use super::entry::Entry;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of buckets in a turn of the wheel.
pub(super) const BUCKETS: u64 = 4096;
/// Index that refers to no event.
const NONE: u32 = u32::MAX;

/// Timing wheel (Varghese and Lauck, SOSP 1987) with a linked list per bucket, and a heap for events that are a turn or
/// more away.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Index in `events` of the first event of each bucket, by the bucket's index modulo [`BUCKETS`]; empty before the
    /// first use.
    first: Vec<u32>,
    /// Bitmap of the non-empty buckets.
    filled: [u64; (BUCKETS / 64) as usize],
    /// Bitmap of the words of `filled` that are not 0.
    words: u64,
    /// Events in the buckets, and free elements, as linked lists.
    events: Vec<Listed>,
    /// Head of the free list in `events`.
    free: u32,
    /// Number of events in the buckets.
    count: usize,
    /// Events that were a turn or more away when they were added.
    far: BinaryHeap<Reverse<Entry>>,
}

/// An event, and the index of the next event of its bucket.
#[derive(Clone, Copy, Debug)]
struct Listed {
    time: u64,
    key: u32,
    next: u32,
}

impl Default for Wheel {
    fn default() -> Wheel {
        let filled = [0; (BUCKETS / 64) as usize];
        Wheel { first: Vec::new(), filled, words: 0, events: Vec::new(), free: NONE, count: 0, far: BinaryHeap::new() }
    }
}

impl Wheel {
    /// Adds an event of `bucket`, which is later than `current`.
    #[inline]
    pub fn put(&mut self, entry: Entry, bucket: u64, current: u64) {
        if bucket - current >= BUCKETS {
            return self.far.push(Reverse(entry));
        }
        let index = (bucket % BUCKETS) as usize;
        let Some(first) = self.first.get_mut(index) else { return self.open(entry, bucket, current) };
        let listed = Listed { time: entry.time, key: entry.key, next: *first };
        *first = self.free;
        if let Some(place) = self.events.get_mut(self.free as usize) {
            self.free = std::mem::replace(place, listed).next;
        } else {
            *first = self.events.len() as u32;
            self.events.push(listed);
        }
        self.filled[index / 64] |= 1 << (index % 64);
        self.words |= 1 << (index / 64);
        self.count += 1;
    }

    /// Allocates the buckets at the first use, and adds an event.
    #[cold]
    fn open(&mut self, entry: Entry, bucket: u64, current: u64) {
        self.first = vec![NONE; BUCKETS as usize];
        self.put(entry, bucket, current);
    }

    /// Returns the index of the first bucket after `current` that has events; `None`: there are no events. Buckets are
    /// 2^`shift` picoseconds wide.
    pub fn next_bucket(&self, current: u64, shift: u32) -> Option<u64> {
        let far = self.far.peek().map(|Reverse(entry)| entry.time >> shift);
        let near = (self.count > 0).then(|| {
            let from = current.wrapping_add(1);
            from + (self.filled_from((from % BUCKETS) as u32).wrapping_sub(from) & (BUCKETS - 1))
        });
        far.into_iter().chain(near).min()
    }

    /// Returns the time of the first event after bucket `current`, picoseconds; `None`: there are no events.
    pub fn first_time(&self, current: u64, shift: u32) -> Option<u64> {
        let bucket = self.next_bucket(current, shift)?;
        let mut first = self.far.peek().map_or(u64::MAX, |Reverse(entry)| entry.time);
        let mut at = self.first.get((bucket % BUCKETS) as usize).copied().unwrap_or(NONE);
        while let Some(listed) = self.events.get(at as usize) {
            first = first.min(listed.time);
            at = listed.next;
        }
        Some(first)
    }

    /// Returns the first non-empty bucket from `index` on, around the wheel; there must be one.
    fn filled_from(&self, index: u32) -> u64 {
        let (word, bit) = (index / 64, index % 64);
        let here = self.filled[word as usize] >> bit << bit;
        if here != 0 {
            return u64::from(word * 64 + here.trailing_zeros());
        }
        // The next word that is not 0, first among the words after this one, then from the first word on.
        let after = if word < 63 { self.words >> (word + 1) << (word + 1) } else { 0 };
        let next = if after != 0 { after } else { self.words }.trailing_zeros();
        u64::from(next * 64 + self.filled[next as usize].trailing_zeros())
    }

    /// Returns the number of events in the wheel in the next `buckets` buckets after `current`; `buckets` must be less
    /// than a turn. Counting stops after the bucket in which the number reaches `enough`.
    pub fn within(&self, current: u64, buckets: u64, enough: usize) -> usize {
        debug_assert!(buckets < BUCKETS);
        let (from, mut count, mut at) = (current.wrapping_add(1), 0, 0);
        while self.count > 0 && count < enough {
            let next = self.filled_from((from.wrapping_add(at) % BUCKETS) as u32);
            // Distance of the next non-empty bucket from `from`. If it is less than `at`, that bucket has been counted
            // already: the search has gone around the wheel.
            let distance = next.wrapping_sub(from) % BUCKETS;
            if distance < at || distance >= buckets {
                break;
            }
            let mut listed = self.first[next as usize];
            while let Some(event) = self.events.get(listed as usize) {
                count += 1;
                listed = event.next;
            }
            at = distance + 1;
        }
        count
    }

    /// Removes the events of `bucket`, which must be the next filled one, and passes them to `to`.
    pub fn take(&mut self, bucket: u64, shift: u32, mut to: impl FnMut(Entry)) {
        let index = (bucket % BUCKETS) as usize;
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
            && entry.time >> shift == bucket
        {
            to(entry);
            self.far.pop();
        }
    }

    /// Passes the keys of the events in the wheel's next non-empty bucket after `current` to `show`.
    #[inline]
    pub fn peek_next(&self, current: u64, mut show: impl FnMut(u32)) {
        if self.count == 0 {
            return;
        }
        let index = self.filled_from((current.wrapping_add(1) % BUCKETS) as u32);
        let mut at = self.first[index as usize];
        while let Some(listed) = self.events.get(at as usize) {
            show(listed.key);
            at = listed.next;
        }
    }

    /// Removes and returns all events, unsorted.
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

    /// Returns the number of events in the wheel, without those in the heap.
    #[inline]
    pub fn in_wheel(&self) -> usize {
        self.count
    }
    /// Returns the number of all events.
    #[inline]
    pub fn len(&self) -> usize {
        self.count + self.far.len()
    }
}
