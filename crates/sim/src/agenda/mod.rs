//! The agenda: what happens next, and in which order at equal times.
//!
//! Events at equal times are ordered by their [`Key`], that is by kind and then by component, never
//! by insertion: so the plain engine, the merged one and a parallel run meet the same events in the
//! same order. Each component has at most one live event of each kind; a re-armed timer leaves a
//! stale entry behind that its owner recognises by its time and ignores.

mod entry;
mod near;
#[cfg(test)]
mod tests;
mod tournament;
mod wheel;

use entry::Entry;
use near::Near;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailback_units::Time;
use tournament::Tournament;
use wheel::Wheel;

/// What happens, in the order in which equal times are served: first transmitters fall free, then
/// the warm-up ends (so that all that comes at its last instant counts), then frames arrive, then
/// timers run, then sources send, then the scenario changes and probes look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A port's transmitter falls free while something waits.
    TxDone,
    /// The end of the warm-up.
    WarmedUp,
    /// A crossbar has carried a frame from an input to its output.
    Crossed,
    /// The oldest frame on a port's line reaches the other end.
    Arrive,
    /// A notification takes effect at a port.
    Respond,
    /// A port looks again: a pause expires, a limiter lets the next frame pass.
    Wake,
    /// A port repeats its PAUSE.
    Refresh,
    /// A sender's timer is due.
    Timer,
    /// A receiver's timer is due.
    AckTimer,
    /// A source hands over its next burst.
    Emit,
    /// The scenario's next change.
    Change,
    /// The time series' next sample.
    Sample,
}

/// Kind (4 bits) and component (28 bits): the order among equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u32);

impl Key {
    /// Largest number of components of one kind.
    pub const MAX_COMPONENTS: u32 = 1 << 28;

    #[inline]
    pub fn new(kind: Kind, component: u32) -> Key {
        debug_assert!(component < Key::MAX_COMPONENTS);
        Key((kind as u32) << 28 | component)
    }
    #[inline]
    pub fn kind(self) -> Kind {
        // In the order of declaration, so that this costs nothing.
        match self.0 >> 28 {
            0 => Kind::TxDone,
            1 => Kind::WarmedUp,
            2 => Kind::Crossed,
            3 => Kind::Arrive,
            4 => Kind::Respond,
            5 => Kind::Wake,
            6 => Kind::Refresh,
            7 => Kind::Timer,
            8 => Kind::AckTimer,
            9 => Kind::Emit,
            10 => Kind::Change,
            _ => Kind::Sample,
        }
    }
    #[inline]
    pub fn component(self) -> u32 {
        self.0 & (Key::MAX_COMPONENTS - 1)
    }
}

/// Events pending beyond which a list in order is slower than the other forms, and below which it is taken up again.
const MANY: usize = 32;
const FEW: usize = 16;
/// Events of a slot beyond which they make a crowd.
const CROWD: usize = 48;
/// Events within a turn of the wheel beyond which it is worth telling of those to come: what so many touch, about a
/// kilobyte each, is more than a processor has near. Timers far off touch nothing.
const MANY_TO_COME: usize = 1024;
/// The width of a slot is looked at each time that so many events have come.
const RETUNE: usize = 8192;
/// Slots are at most 2^43 ps wide, 9 s.
const WIDEST: u32 = 43;

/// What is pending.
///
/// A few events are kept in a list in order, which costs least while they come in a regular order; more of them play
/// a tournament. Many, and those of whoever looks ahead, are kept by slots of time, in no order until theirs has come:
/// a calendar queue (Brown 1988). The order in which events come out is total, so neither the kind of store nor the
/// width of a slot can be seen from outside.
#[derive(Debug)]
pub(crate) struct Agenda {
    form: Form,
    looks_ahead: bool,
    /// Of a list all events; of slots those of the one that has come last.
    today: Near,
    /// All events of a tournament.
    tournament: Tournament,
    /// The slot that has come last.
    current: u64,
    /// A slot is 2^shift picoseconds wide.
    shift: u32,
    /// Events of later slots.
    later: Wheel,
    /// Those for which `today` has no room.
    crowd: BinaryHeap<Reverse<Entry>>,
    come: Come,
    /// Whether there were so many events when the last slot came that it is worth telling of them.
    tells: bool,
}

/// In what form the events are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    List,
    Tournament,
    Slots,
}

/// How near an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// In one of the next slots.
    Later,
    /// In this slot, and announced as `Later` before, as a rule.
    Soon,
    /// It follows, unless what happens now adds one before it.
    Next,
}

/// What has come since a slot's width was chosen.
#[derive(Debug, Default)]
struct Come {
    events: usize,
    /// Events at the same time as another one of their slot.
    ties: usize,
    slots: usize,
}

impl Agenda {
    /// Nothing pending. Only who `looks_ahead` is told of what comes.
    pub fn new(looks_ahead: bool) -> Agenda {
        Agenda {
            form: Form::List,
            looks_ahead,
            today: Near::default(),
            tournament: Tournament::default(),
            current: 0,
            shift: 0,
            later: Wheel::default(),
            crowd: BinaryHeap::new(),
            come: Come::default(),
            tells: false,
        }
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = Entry::new(time, key);
        match self.form {
            Form::List => self.push_to_list(entry),
            Form::Tournament => self.push_to_tournament(entry),
            Form::Slots => self.push_to_slots(entry),
        }
    }

    #[inline(never)]
    fn push_to_list(&mut self, entry: Entry) {
        if self.today.len() < MANY {
            self.today.insert(entry);
        } else {
            self.outgrow(entry);
        }
    }

    #[inline(never)]
    fn push_to_tournament(&mut self, entry: Entry) {
        if self.tournament.len() < Tournament::MOST {
            self.tournament.push(entry);
        } else {
            self.outgrow(entry);
        }
    }

    #[inline(never)]
    fn push_to_slots(&mut self, entry: Entry) {
        let slot = entry.time >> self.shift;
        if slot > self.current {
            self.later.put(entry, slot, self.current);
        } else {
            self.push_today(entry);
        }
    }

    #[inline(never)]
    fn push_today(&mut self, entry: Entry) {
        if self.today.len() < CROWD {
            self.today.insert(entry);
        } else {
            self.crowd.push(Reverse(entry));
        }
    }

    /// Removes the next event if it is not after `end`. With very many events `ahead`, if there is one, is
    /// told of those that are likely to follow, first from afar and at last when they are next.
    #[inline]
    pub fn pop_until<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: Option<F>) -> Option<(Time, Key)> {
        if self.form == Form::List {
            return self.pop_from_list(end);
        }
        if self.form == Form::Tournament {
            if self.tournament.places_taken() <= FEW {
                self.shrink();
                return self.pop_from_list(end);
            }
            return self.pop_from_tournament(end);
        }
        if self.today.is_empty() && self.crowd.is_empty() {
            if !self.turn(end, &ahead) {
                return None;
            }
            if self.form == Form::Tournament {
                // Slots have come too empty.
                return self.pop_from_tournament(end);
            }
        }
        if !self.crowd.is_empty() {
            let next = self.pop_among_crowd(end);
            return next.map(|next| (Time(next.time), Key(next.key)));
        }
        let next = self.pop_from_list(end);
        if self.tells
            && let (Some(ahead), Some(_), Some(after)) = (ahead, next, self.today.first())
        {
            ahead(Ahead::Next, Key(after.key));
        }
        next
    }

    #[inline(always)]
    fn pop_from_tournament(&mut self, end: Time) -> Option<(Time, Key)> {
        let next = self.tournament.pop_until(end.0);
        next.map(|next| (Time(next.time), Key(next.key)))
    }

    #[inline(always)]
    fn pop_from_list(&mut self, end: Time) -> Option<(Time, Key)> {
        let next = self.today.first()?;
        if next.time > end.0 {
            return None;
        }
        self.today.pop_first();
        Some((Time(next.time), Key(next.key)))
    }

    #[cold]
    fn pop_among_crowd(&mut self, end: Time) -> Option<Entry> {
        let &Reverse(crowded) = self.crowd.peek()?;
        let listed = self.today.first().filter(|listed| *listed < crowded);
        let next = listed.unwrap_or(crowded);
        if next.time > end.0 {
            return None;
        }
        if listed.is_some() {
            self.today.pop_first();
        } else {
            self.crowd.pop();
        }
        Some(next)
    }

    /// The time of the next event.
    pub fn next_time(&self) -> Option<Time> {
        match self.form {
            Form::List => return self.today.first().map(|entry| Time(entry.time)),
            Form::Tournament => return self.tournament.first_time().map(Time),
            Form::Slots => {}
        }
        let (listed, crowded) = (self.today.first(), self.crowd.peek().map(|Reverse(entry)| *entry));
        let today = listed.into_iter().chain(crowded).map(|entry| entry.time).min();
        today.or_else(|| self.later.first_time(self.current, self.shift)).map(Time)
    }

    /// Brings the events of the next slot that has any, unless it begins after `end`.
    #[inline(never)]
    fn turn<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: &Option<F>) -> bool {
        let Some(slot) = self.later.next_slot(self.current, self.shift) else { return false };
        if slot << self.shift > end.0 {
            return false;
        }
        self.current = slot;
        self.tells = self.later.near() > MANY_TO_COME;
        let ahead = ahead.as_ref().filter(|_| self.tells);
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
        if self.come.events > RETUNE.max(self.later.len()) {
            self.retune();
        }
        true
    }

    /// Chooses another width if slots have come too full or too empty.
    fn retune(&mut self) {
        // Narrower slots would not part events of one instant.
        let per_slot = (self.come.events - self.come.ties) / self.come.slots;
        self.come = Come::default();
        let shift = match per_slot {
            0..2 => self.shift + 3,
            2 => self.shift + 1,
            3..12 => return,
            _ => self.shift.saturating_sub(1),
        };
        self.rebuild(shift);
    }

    /// Takes the next form for more events and adds one.
    #[cold]
    #[inline(never)]
    fn outgrow(&mut self, entry: Entry) {
        let mut entries = [self.today.drain(), self.tournament.drain(), vec![entry]].concat();
        if self.form == Form::List && !self.looks_ahead {
            self.form = Form::Tournament;
            return self.push_all(entries);
        }
        entries.sort_unstable();
        // A quarter of the events say how dense they lie; timers far off do not count.
        let quarter = entries.len() / 4;
        let apart = (entries[quarter].time - entries[0].time) / quarter as u64;
        self.fill_slots(entries, (4 * apart).max(1).ilog2());
    }

    fn push_all(&mut self, entries: Vec<Entry>) {
        entries.into_iter().for_each(|entry| self.push(Time(entry.time), Key(entry.key)));
    }

    /// Goes back to a list.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        self.form = Form::List;
        let entries = self.tournament.drain();
        self.push_all(entries);
    }

    /// Puts all events where they belong with slots of 2^shift picoseconds, or without if they have become few.
    #[cold]
    fn rebuild(&mut self, shift: u32) {
        let today = self.today.drain();
        let crowd: Vec<Entry> = self.crowd.drain().map(|Reverse(entry)| entry).collect();
        let mut entries = [today, crowd, self.later.take_all()].concat();
        if entries.len() <= if self.looks_ahead { FEW } else { Tournament::MOST / 2 } {
            // Which outgrows to a tournament if need be.
            self.form = Form::List;
            return self.push_all(entries);
        }
        entries.sort_unstable();
        self.fill_slots(entries, shift);
    }

    /// Puts events in order into slots of 2^shift picoseconds.
    fn fill_slots(&mut self, entries: Vec<Entry>, shift: u32) {
        self.form = Form::Slots;
        self.shift = shift.min(WIDEST);
        self.current = entries.first().map_or(0, |first| first.time >> self.shift);
        self.push_all(entries);
    }

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.today.len() + self.tournament.len() + self.crowd.len() + self.later.len()
    }
}
