//! Slots of time: how they are filled and how wide they are.

use super::entry::Entry;
use super::wheel::SLOTS;
use super::{Agenda, Ahead, FEW, Few, Form, Key, WideSlot};
use std::cmp::Reverse;
use tailback_units::Time;

/// Events within a turn of the wheel beyond which it is worth telling of those to come: what so many touch, about a
/// kilobyte each, is more than a processor has near. Timers far off touch nothing.
const MANY_TO_COME: usize = 1024;
/// The width of a slot is looked at each time that so many events have come.
const RETUNE: usize = 8192;
/// Pending events of a wide slot at most, when its width is chosen: so many that some more find room.
const PENDING: usize = WideSlot::MOST / 4 * 3;
/// So many times as many events come within a wide slot as are pending in it: most are scheduled within the slot.
const TURNOVER: usize = 3;
/// After wide slots have been given up so often, they are thought of as often as ever after.
const MOST_PATIENCE: u32 = 6;
/// Slots are at most 2^43 ps wide, 9 s.
const WIDEST: u32 = 43;

/// What has come since a slot's width was chosen.
#[derive(Debug, Default)]
pub(super) struct Come {
    events: usize,
    /// Events at the same time as another one of their slot.
    ties: usize,
    slots: usize,
    /// Events that were scheduled within a narrow slot for which its list had no room, but for those at the instant of
    /// the first of them.
    in_crowd: usize,
    /// All events that were taken out of wide slots, those scheduled within their slot included.
    pub popped: usize,
}

impl Agenda {
    /// Brings the events of the next slot that has any, unless it begins after `end`.
    #[inline(never)]
    pub(super) fn turn<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: &Option<F>) -> bool {
        let Some(slot) = self.later.next_slot(self.current, self.shift) else { return false };
        if slot << self.shift > end.0 {
            return false;
        }
        self.current = slot;
        if self.wide {
            self.fill_wide(slot);
        } else {
            self.fill_narrow(slot, ahead);
        }
        true
    }

    /// Brings the events of a narrow slot.
    fn fill_narrow<F: Fn(Ahead, Key)>(&mut self, slot: u64, ahead: &Option<F>) {
        self.tells = self.later.near() > MANY_TO_COME;
        let ahead = ahead.as_ref().filter(|_| self.tells);
        let before = self.come.events;
        let Agenda { today, crowd, come, .. } = self;
        self.later.take(slot, self.shift, |entry| {
            if let Some(ahead) = ahead {
                ahead(Ahead::Soon, Key(entry.key));
            }
            come.events += 1;
            if today.is_full() {
                // So many are mostly at one instant.
                come.ties += 1;
                crowd.push(Reverse(entry));
            } else {
                let place = today.insert(entry);
                come.ties += usize::from(today.has_ties(place));
            }
        });
        if let Some(ahead) = ahead {
            self.later.look(slot, |key| ahead(Ahead::Later, Key(key)));
        }
        self.come.slots += 1;
        // Hints are worth more than wide slots, where there are any.
        self.since_look += self.come.events - before;
        let looks =
            self.since_look > RETUNE << self.given_up && self.crowd.is_empty() && !(self.tells && self.looks_ahead);
        if !(looks && self.widen()) && self.come.events > RETUNE.max(self.later.len()) {
            self.retune();
        }
    }

    /// Adds an event to the narrow slot that has come last, whose list is full.
    #[cold]
    #[inline(never)]
    pub(super) fn push_to_crowd(&mut self, entry: Entry) {
        let ties = self.crowd.peek().is_some_and(|Reverse(first)| first.time == entry.time);
        self.come.in_crowd += usize::from(!ties);
        self.crowd.push(Reverse(entry));
        if self.come.in_crowd > RETUNE.max(self.later.len()) {
            // A network that has woken up within one slot.
            self.rebuild(Some(self.shift.saturating_sub(3)), false, Vec::new());
        }
    }

    /// Brings the events of a wide slot.
    #[cold]
    fn fill_wide(&mut self, slot: u64) {
        let Agenda { wide_slot, come, .. } = self;
        let mut beyond = Vec::new();
        self.later.take(slot, self.shift, |entry| {
            come.events += 1;
            if wide_slot.len() < WideSlot::MOST {
                wide_slot.push(entry);
            } else {
                beyond.push(entry);
            }
        });
        self.come.slots += 1;
        let Come { events, slots, popped, .. } = self.come;
        if !beyond.is_empty() {
            self.overflow(beyond);
        } else if events > RETUNE.max(self.later.len()) {
            self.come = Come::default();
            if events < FEW * slots || 2 * events > popped {
                // They have become too empty, or most events are scheduled for later ones.
                self.give_up(beyond);
            }
        }
    }

    /// Adds events for which a wide slot has no room.
    #[cold]
    #[inline(never)]
    pub(super) fn overflow(&mut self, more: Vec<Entry>) {
        if self.come.popped / self.come.slots.max(1) > 2 * TURNOVER * PENDING {
            self.rebuild(Some(self.shift.saturating_sub(1)), true, more);
        } else {
            self.give_up(more);
        }
    }

    /// Takes up narrow slots, with some more events; wide ones are thought of the less often the more often that is done.
    fn give_up(&mut self, more: Vec<Entry>) {
        self.given_up = (self.given_up + 1).min(MOST_PATIENCE);
        self.rebuild(None, false, more);
    }

    /// Whether no more than `PENDING` events are pending in this slot and the next `slots`.
    fn roomy(&self, slots: u64) -> bool {
        slots < SLOTS && self.later.within(self.current, slots, PENDING + 1) + self.today.len() <= PENDING
    }

    /// Takes up wide slots if the events of one find room in a tournament and most are scheduled within it.
    #[cold]
    fn widen(&mut self) -> bool {
        self.since_look = 0;
        let least = (TURNOVER * PENDING).div_ceil((self.come.events / self.come.slots).max(1)) as u64;
        let doublings = (least.next_power_of_two().ilog2()..).take_while(|doublings| self.roomy(1 << doublings)).last();
        let Some(doublings) = doublings else { return false };
        self.rebuild(Some(self.shift + doublings), true, Vec::new());
        true
    }

    /// Events so few that slots are given up.
    fn few(&self) -> usize {
        if self.looks_ahead { FEW } else { Few::MOST / 2 }
    }

    /// Chooses another width if slots have come too full or too empty.
    fn retune(&mut self) {
        // Narrower slots would not part events of one instant.
        let per_slot = (self.come.events - self.come.ties) / self.come.slots;
        let shift = match per_slot {
            0..2 => self.shift + 3,
            2 => self.shift + 1,
            3..12 => return self.come = Come::default(),
            _ => self.shift.saturating_sub(1),
        };
        self.rebuild(Some(shift), false, Vec::new());
    }

    /// Puts all events and some more where they belong with slots of 2^shift picoseconds, or of a width that a few fit
    /// in if there is no such number; into a list if they have become few.
    pub(super) fn rebuild(&mut self, shift: Option<u32>, wide: bool, more: Vec<Entry>) {
        let crowd: Vec<Entry> = self.crowd.drain().map(|Reverse(entry)| entry).collect();
        let mut entries = [self.today.drain(), crowd, self.wide_slot.drain(), self.later.take_all(), more].concat();
        self.come = Come::default();
        if entries.len() <= self.few() {
            // Which outgrows to a tournament if need be.
            self.form = Form::List;
            return self.push_all(entries);
        }
        let first = entries.iter().map(|entry| entry.time).min().unwrap_or(0);
        self.shift = shift.unwrap_or_else(|| by_density(&mut entries, first)).min(WIDEST);
        self.form = Form::Slots;
        self.wide = wide;
        self.current = first >> self.shift;
        self.push_all(entries);
    }
}

/// Slots of a few events each are 2^this picoseconds wide.
fn by_density(entries: &mut [Entry], first: u64) -> u32 {
    // The first quarter of the events says how dense they lie; timers far off do not count.
    let quarter = (entries.len() / 4).clamp(1, PENDING);
    let (_, last, _) = entries.select_nth_unstable(quarter);
    (4 * ((last.time - first) / quarter as u64)).max(1).ilog2()
}
