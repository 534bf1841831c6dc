//! The calendar queue: the choice of the current bucket, and of the buckets' width.

use super::entry::Entry;
use super::key::Key;
use super::stats::Stats;
use super::wheel::BUCKETS;
use super::{EventQueue, Form, LIST_LOW, Tree, Upcoming, WideBucket};
use std::cmp::Reverse;
use tailback_units::Time;

/// Number of events within one turn of the wheel above which hints save time: each event touches about a kilobyte of
/// state, and the state for more events does not fit into the caches. Events further in the future do not count, since
/// their state is not touched soon.
pub(super) const MANY_PENDING: usize = 1024;
/// Number of events after which the width of the buckets is reviewed.
const RESIZE_INTERVAL: usize = 8192;
/// Maximum number of pending events in a wide bucket when its width is chosen: three quarters of its capacity.
const WIDE_PENDING: usize = WideBucket::CAPACITY / 4 * 3;
/// Wide buckets are used if the number of events handled in a bucket is at least this multiple of the number pending in
/// it, so that most events are scheduled within the current bucket.
const TURNOVER: usize = 3;
/// Upper bound of the exponential back-off: the interval at which wide buckets are considered doubles each time that
/// they are abandoned, up to 2^6 times [`RESIZE_INTERVAL`].
pub(super) const BACKOFF_MAX: u32 = 6;
/// Upper bound of [`EventQueue::shift`]: buckets are at most 2^43 ps = 9 s wide.
const SHIFT_MAX: u32 = 43;

impl EventQueue {
    /// Makes the next non-empty bucket current. Returns `false` if that bucket begins after `end`, or if there are no
    /// events.
    #[inline(never)]
    #[expect(clippy::ref_option, reason = "the closure is borrowed from the caller for many events")]
    pub(super) fn advance<F: Fn(Upcoming, Key)>(&mut self, end: Time, hint: &Option<F>) -> bool {
        let Some(bucket) = self.later.next_bucket(self.current, self.shift) else { return false };
        if bucket << self.shift > end.0 {
            return false;
        }
        self.current = bucket;
        if self.wide {
            self.fill_wide(bucket);
        } else {
            self.fill_narrow(bucket, hint);
        }
        true
    }

    /// Sorts the events of a narrow bucket that becomes current, and reviews the width of the buckets.
    #[expect(clippy::ref_option, reason = "the closure is borrowed from the caller for many events")]
    fn fill_narrow<F: Fn(Upcoming, Key)>(&mut self, bucket: u64, hint: &Option<F>) {
        self.hints_enabled = self.later.in_wheel() > MANY_PENDING;
        let hint = hint.as_ref().filter(|_| self.hints_enabled);
        let before = self.stats.events;
        let EventQueue { sorted, overflow, stats, .. } = self;
        self.later.take(bucket, self.shift, |entry| {
            if let Some(hint) = hint {
                hint(Upcoming::Soon, Key(entry.key));
            }
            stats.events += 1;
            if sorted.is_full() {
                // The list is full; most events of so full a bucket are at one instant.
                stats.ties += 1;
                overflow.push(Reverse(entry));
            } else {
                let place = sorted.insert(entry);
                stats.ties += usize::from(sorted.has_ties(place));
            }
        });
        if let Some(hint) = hint {
            self.later.peek_next(bucket, |key| hint(Upcoming::Later, Key(key)));
        }
        self.stats.buckets += 1;
        // Wide buckets give no hints, and hints save more time than wide buckets.
        self.since_wide_check += self.stats.events - before;
        let check = self.since_wide_check > RESIZE_INTERVAL << self.wide_failures
            && self.overflow.is_empty()
            && !(self.hints_enabled && self.prefetches);
        if !(check && self.try_widen()) && self.stats.events > RESIZE_INTERVAL.max(self.later.len()) {
            self.resize();
        }
    }

    /// Adds an event to the current narrow bucket, whose list is full.
    #[cold]
    #[inline(never)]
    pub(super) fn push_to_overflow(&mut self, entry: Entry) {
        let ties = self.overflow.peek().is_some_and(|Reverse(first)| first.time == entry.time);
        self.stats.spilled += usize::from(!ties);
        self.overflow.push(Reverse(entry));
        if self.stats.spilled > RESIZE_INTERVAL.max(self.later.len()) {
            // Many events at different times are scheduled within one bucket, as when traffic starts after a silence:
            // the bucket is far too wide.
            self.rebuild(Some(self.shift.saturating_sub(3)), false, Vec::new());
        }
    }

    /// Inserts the events of a wide bucket that becomes current into its tree, and reviews the width of the buckets.
    #[cold]
    fn fill_wide(&mut self, bucket: u64) {
        let EventQueue { wide_bucket, stats, .. } = self;
        let mut excess = Vec::new();
        self.later.take(bucket, self.shift, |entry| {
            stats.events += 1;
            if wide_bucket.len() < WideBucket::CAPACITY {
                wide_bucket.push(entry);
            } else {
                excess.push(entry);
            }
        });
        self.stats.buckets += 1;
        let Stats { events, buckets, popped, .. } = self.stats;
        if !excess.is_empty() {
            self.make_room(excess);
        } else if events > RESIZE_INTERVAL.max(self.later.len()) {
            self.stats = Stats::default();
            if events < LIST_LOW * buckets || 2 * events > popped {
                // Buckets have become too empty, or most events are scheduled for later buckets.
                self.abandon_wide(excess);
            }
        }
    }

    /// Adds events that do not fit into the current wide bucket. For this, the calendar changes to wide buckets of half
    /// the width if enough events would still be handled in each of them, otherwise to narrow buckets.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&mut self, more: Vec<Entry>) {
        if self.stats.popped / self.stats.buckets.max(1) > 2 * TURNOVER * WIDE_PENDING {
            self.rebuild(Some(self.shift.saturating_sub(1)), true, more);
        } else {
            self.abandon_wide(more);
        }
    }

    /// Returns to narrow buckets and adds events. Wide buckets are considered again after an exponential back-off.
    fn abandon_wide(&mut self, more: Vec<Entry>) {
        self.wide_failures = (self.wide_failures + 1).min(BACKOFF_MAX);
        self.rebuild(None, false, more);
    }

    /// Returns `true` if at most [`WIDE_PENDING`] events are pending in the current bucket and the next `buckets`.
    fn fits_wide(&self, buckets: u64) -> bool {
        buckets < BUCKETS
            && self.later.within(self.current, buckets, WIDE_PENDING + 1) + self.sorted.len() <= WIDE_PENDING
    }

    /// Changes to wide buckets if there is a width at which the events of a bucket fit into its tree and most events
    /// are scheduled within the current bucket. Returns `true` if the width has changed.
    #[cold]
    #[expect(clippy::maybe_infinite_iter, reason = "a width beyond the wheel does not fit")]
    fn try_widen(&mut self) -> bool {
        self.since_wide_check = 0;
        // Number of present buckets that a wide bucket must cover to handle enough events.
        let covered = (TURNOVER * WIDE_PENDING).div_ceil((self.stats.events / self.stats.buckets).max(1)) as u64;
        let doublings =
            (covered.next_power_of_two().ilog2()..).take_while(|doublings| self.fits_wide(1 << doublings)).last();
        let Some(doublings) = doublings else { return false };
        self.rebuild(Some(self.shift + doublings), true, Vec::new());
        true
    }

    /// Returns the number of events up to which a calendar is replaced by a list.
    fn list_threshold(&self) -> usize {
        if self.prefetches { LIST_LOW } else { Tree::CAPACITY / 2 }
    }

    /// Changes the width if narrow buckets are too full or too empty.
    fn resize(&mut self) {
        // Ties do not count, since narrower buckets cannot separate events at one instant.
        let per_bucket = (self.stats.events - self.stats.ties) / self.stats.buckets;
        let shift = match per_bucket {
            0..2 => self.shift + 3,
            2 => self.shift + 1,
            3..12 => return self.stats = Stats::default(),
            _ => self.shift.saturating_sub(1),
        };
        self.rebuild(Some(shift), false, Vec::new());
    }

    /// Rebuilds the calendar with its events and `more` events, in buckets of 2^`shift` picoseconds; `None`: the width
    /// is computed from the density of events. Few events are put into a list instead.
    pub(super) fn rebuild(&mut self, shift: Option<u32>, wide: bool, more: Vec<Entry>) {
        let overflow: Vec<Entry> = self.overflow.drain().map(|Reverse(entry)| entry).collect();
        let mut entries =
            [self.sorted.drain(), overflow, self.wide_bucket.drain(), self.later.take_all(), more].concat();
        self.stats = Stats::default();
        if entries.len() <= self.list_threshold() {
            // If there are too many events for the list, adding them changes the form to a tree.
            self.form = Form::List;
            return self.push_all(entries);
        }
        let first = entries.iter().map(|entry| entry.time).min().unwrap_or(0);
        self.shift = shift.unwrap_or_else(|| shift_for_density(&mut entries, first)).min(SHIFT_MAX);
        self.form = Form::Calendar;
        self.wide = wide;
        self.current = first >> self.shift;
        self.push_all(entries);
    }
}

/// Returns the binary logarithm of a bucket width, in picoseconds, at which a bucket has about four events. `first` is
/// the time of the earliest entry.
fn shift_for_density(entries: &mut [Entry], first: u64) -> u32 {
    // The density is that of the first quarter of the events, so that timers in the far future have no influence.
    let quarter = (entries.len() / 4).clamp(1, WIDE_PENDING);
    let (_, last, _) = entries.select_nth_unstable(quarter);
    (4 * ((last.time - first) / quarter as u64)).max(1).ilog2()
}
