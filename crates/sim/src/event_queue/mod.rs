//! The event queue: pending events in order of time, kind and component.
//!
//! Ties in time are broken by [`Key`], that is by kind and then by component, and never by insertion order. The plain
//! engine, the merged engine and a parallel run thus handle events in the same order. Each component has at most one
//! live event of each kind. A re-armed timer leaves a stale event behind, which the component recognises by its time
//! and ignores.

mod calendar;
mod entry;
mod key;
mod sorted;
mod stats;
#[cfg(test)]
mod tests;
mod tournament;
mod wheel;

use crate::hints::unlikely;
use entry::Entry;
pub(crate) use key::{Key, Kind};
use sorted::Sorted;
use stats::Stats;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailback_units::Time;
use tournament::Tournament;
use wheel::Wheel;

/// Maximum number of events in [`Form::List`]; with more events, the other forms are faster.
const LIST_MAX: usize = 32;
/// Number of events up to which a tournament tree, or a calendar that prefetches, is replaced by a list. It is less
/// than [`LIST_MAX`], so that the form does not change often.
const LIST_LOW: usize = 16;
/// Maximum number of events in the list of the current narrow bucket when events are added; further events are added
/// to the overflow heap.
const SORTED_MAX: usize = 48;
/// Tournament tree of all pending events.
type Tree = Tournament<256, 512>;
/// Tournament tree of the current wide bucket.
type WideBucket = Tournament<1024, 2048>;

/// Pending events.
///
/// Up to 32 events are kept in a sorted list, which is the fastest form if events are added at regular intervals. Up to
/// 256 events are kept in a tournament tree, unless the owner prefetches. All other numbers of events are kept in a
/// calendar queue (Brown, CACM 31(10), 1988), whose buckets are sorted when they become current. Since the order of
/// events is total, neither the form nor the width of the buckets can affect a result.
#[derive(Debug)]
pub(crate) struct EventQueue {
    form: Form,
    /// `true`: the queue passes hints to its owner, which prefetches the state that events will touch.
    prefetches: bool,
    /// All events of [`Form::List`], or those of the current narrow bucket of a calendar.
    sorted: Sorted,
    /// All events of [`Form::Tournament`].
    tournament: Tree,
    /// `true`: buckets are so wide that most events are scheduled within the current one. `false`: a bucket holds only
    /// a few events.
    wide: bool,
    /// Number of times that wide buckets were abandoned, at most [`calendar::BACKOFF_MAX`].
    wide_failures: u32,
    /// Number of events since wide buckets were last considered.
    since_wide_check: usize,
    /// Events of the current wide bucket.
    wide_bucket: WideBucket,
    /// Index of the current bucket.
    current: u64,
    /// Width of a bucket: 2^shift picoseconds.
    shift: u32,
    /// Events of later buckets.
    later: Wheel,
    /// Events of the current narrow bucket that are not in `sorted`, which was full.
    overflow: BinaryHeap<Reverse<Entry>>,
    /// Counts since the width of the buckets was chosen.
    stats: Stats,
    /// `true` if hints are given: more than [`calendar::MANY_PENDING`] events were within one turn of the wheel when
    /// the bucket became current.
    hints_enabled: bool,
}

/// Data structure that holds the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    List,
    Tournament,
    Calendar,
}

/// Distance of an upcoming event in a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upcoming {
    /// In the next bucket.
    Later,
    /// In the current bucket; usually there has been a hint `Later` before.
    Soon,
    /// The next event, unless the event that is now being handled schedules an earlier one.
    Next,
}

/// Returns the time and key of an entry.
fn unpacked(entry: Entry) -> (Time, Key) {
    (Time(entry.time), Key(entry.key))
}

impl EventQueue {
    /// Returns an empty queue; hints are given only if `prefetches` is `true`.
    pub fn new(prefetches: bool) -> EventQueue {
        EventQueue {
            form: Form::List,
            prefetches,
            sorted: Sorted::default(),
            tournament: Tournament::default(),
            wide: false,
            wide_failures: 0,
            since_wide_check: 0,
            wide_bucket: WideBucket::default(),
            current: 0,
            shift: 0,
            later: Wheel::default(),
            overflow: BinaryHeap::new(),
            stats: Stats::default(),
            hints_enabled: false,
        }
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = Entry::new(time, key);
        match self.form {
            Form::List => self.push_to_list(entry),
            Form::Tournament => self.push_to_tournament(entry),
            Form::Calendar => self.push_to_calendar(entry),
        }
    }

    #[inline(never)]
    fn push_to_list(&mut self, entry: Entry) {
        if self.sorted.len() < LIST_MAX {
            self.sorted.insert(entry);
        } else {
            self.promote(entry);
        }
    }

    #[inline(never)]
    fn push_to_tournament(&mut self, entry: Entry) {
        if !self.tournament.replace(entry) {
            self.push_new_leaf(entry);
        }
    }

    /// Adds an event to the tree in a leaf of its own.
    #[inline(never)]
    fn push_new_leaf(&mut self, entry: Entry) {
        if self.tournament.len() < Tree::CAPACITY {
            self.tournament.push(entry);
        } else {
            self.promote(entry);
        }
    }

    #[inline(never)]
    fn push_to_calendar(&mut self, entry: Entry) {
        let bucket = entry.time >> self.shift;
        if bucket > self.current {
            self.later.put(entry, bucket, self.current);
        } else if !self.wide {
            self.push_to_current(entry);
        } else if !self.wide_bucket.replace(entry) {
            self.push_to_wide_bucket(entry);
        }
    }

    /// Adds an event to the current wide bucket in a leaf of its own.
    #[inline(never)]
    fn push_to_wide_bucket(&mut self, entry: Entry) {
        if self.wide_bucket.len() < WideBucket::CAPACITY {
            self.wide_bucket.push(entry);
        } else {
            self.make_room(vec![entry]);
        }
    }

    #[inline(never)]
    fn push_to_current(&mut self, entry: Entry) {
        if self.sorted.len() < SORTED_MAX {
            self.sorted.insert(entry);
        } else {
            self.push_to_overflow(entry);
        }
    }

    /// Removes and returns the next event; `None`: there is no event at or before `end`. If many events are pending,
    /// `hint` is called with an upcoming event up to three times, as the event comes closer ([`Upcoming`]).
    #[inline(always)]
    pub fn pop_until<F: Fn(Upcoming, Key)>(&mut self, end: Time, hint: Option<F>) -> Option<(Time, Key)> {
        match self.form {
            Form::List => self.pop_from_list(end),
            Form::Tournament if self.tournament.leaves_taken() > LIST_LOW => {
                self.tournament.pop_until(end.0).map(unpacked)
            }
            Form::Calendar if self.wide => {
                self.stats.popped += 1;
                let next = self.wide_bucket.pop_until(end.0).map(unpacked);
                if next.is_some() { next } else { self.pop_slow(end, hint).map(unpacked) }
            }
            Form::Calendar if !self.sorted.is_empty() && self.overflow.is_empty() => {
                let next = self.pop_from_list(end);
                if self.hints_enabled
                    && let (Some(hint), Some(_), Some(after)) = (hint, next, self.sorted.first())
                {
                    hint(Upcoming::Next, Key(after.key));
                }
                next
            }
            _ => self.pop_slow(end, hint).map(unpacked),
        }
    }

    /// Handles the rare cases of [`EventQueue::pop_until`]: the current bucket is empty or has overflowed, or the form
    /// must change. The result is an [`Entry`], not a pair as that of the caller: of the same type it would be written to
    /// the caller's result in memory, and the frequent cases would then be written there, too.
    #[inline(never)]
    fn pop_slow<F: Fn(Upcoming, Key)>(&mut self, end: Time, hint: Option<F>) -> Option<Entry> {
        if self.form == Form::Tournament {
            self.demote();
        } else if !self.overflow.is_empty() {
            return self.pop_with_overflow(end);
        } else if self.wide_bucket.len() > 0 || !self.advance(end, &hint) {
            return None;
        }
        self.pop_until(end, hint).map(|(time, key)| Entry::new(time, key))
    }

    #[inline(always)]
    fn pop_from_list(&mut self, end: Time) -> Option<(Time, Key)> {
        let next = self.sorted.first()?;
        if unlikely(next.time > end.0) {
            return None;
        }
        self.sorted.pop_first();
        Some(unpacked(next))
    }

    #[cold]
    fn pop_with_overflow(&mut self, end: Time) -> Option<Entry> {
        let &Reverse(in_overflow) = self.overflow.peek()?;
        let in_list = self.sorted.first().filter(|in_list| *in_list < in_overflow);
        let next = in_list.unwrap_or(in_overflow);
        if next.time > end.0 {
            return None;
        }
        if in_list.is_some() {
            self.sorted.pop_first();
        } else {
            self.overflow.pop();
        }
        Some(next)
    }

    /// Returns the time of the next event; `None`: the queue is empty.
    pub fn next_time(&self) -> Option<Time> {
        match self.form {
            Form::List => return self.sorted.first().map(|entry| Time(entry.time)),
            Form::Tournament => return self.tournament.first_time().map(Time),
            Form::Calendar => {}
        }
        let (in_list, in_overflow) = (self.sorted.first(), self.overflow.peek().map(|Reverse(entry)| *entry));
        let current = in_list.into_iter().chain(in_overflow).map(|entry| entry.time).min();
        let current = current.or_else(|| self.wide_bucket.first_time());
        current.or_else(|| self.later.first_time(self.current, self.shift)).map(Time)
    }

    /// Changes a full form to the next larger form, and adds an event.
    #[cold]
    #[inline(never)]
    fn promote(&mut self, entry: Entry) {
        if self.form == Form::List && !self.prefetches {
            self.form = Form::Tournament;
            let entries = self.sorted.drain();
            self.push_all(entries);
            return self.push(Time(entry.time), Key(entry.key));
        }
        let entries = [self.tournament.drain(), vec![entry]].concat();
        self.rebuild(None, false, entries);
    }

    fn push_all(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.push(Time(entry.time), Key(entry.key));
        }
    }

    /// Changes a tournament tree to a sorted list.
    #[cold]
    #[inline(never)]
    fn demote(&mut self) {
        self.form = Form::List;
        let entries = self.tournament.drain();
        self.push_all(entries);
    }

    /// Returns the number of pending events, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.sorted.len() + self.tournament.len() + self.wide_bucket.len() + self.overflow.len() + self.later.len()
    }
}
