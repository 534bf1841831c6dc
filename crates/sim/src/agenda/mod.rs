//! The agenda: what happens next, and in which order at equal times.
//!
//! Events at equal times are ordered by their [`Key`], that is by kind and then by component, never
//! by insertion: so the plain engine, the merged one and a parallel run meet the same events in the
//! same order. Each component has at most one live event of each kind; a re-armed timer leaves a
//! stale entry behind that its owner recognises by its time and ignores.

mod entry;
mod near;
mod slots;
#[cfg(test)]
mod tests;
mod tournament;
mod wheel;

use crate::hints::seldom;
use entry::Entry;
use near::Near;
use slots::Come;
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
/// A tournament of all events, and one of those of a wide slot.
type Few = Tournament<256, 512>;
type WideSlot = Tournament<1024, 2048>;

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
    /// Of a list all events; of narrow slots those of the one that has come last.
    today: Near,
    /// All events of a tournament.
    tournament: Few,
    /// Whether slots are so wide that most events are scheduled within the one that has come last. Else a few come in
    /// each.
    wide: bool,
    /// How often wide slots have been given up, and events since they were last thought of.
    given_up: u32,
    since_look: usize,
    /// Of wide slots the events of the one that has come last.
    wide_slot: WideSlot,
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

fn as_told(entry: Entry) -> (Time, Key) {
    (Time(entry.time), Key(entry.key))
}

impl Agenda {
    /// Nothing pending. Only who `looks_ahead` is told of what comes.
    pub fn new(looks_ahead: bool) -> Agenda {
        Agenda {
            form: Form::List,
            looks_ahead,
            today: Near::default(),
            tournament: Tournament::default(),
            wide: false,
            given_up: 0,
            since_look: 0,
            wide_slot: WideSlot::default(),
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
        if !self.tournament.replace(entry) {
            self.push_beside(entry);
        }
    }

    /// Adds an event to the tournament in a place of its own.
    #[inline(never)]
    fn push_beside(&mut self, entry: Entry) {
        if self.tournament.len() < Few::MOST {
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
        } else if !self.wide {
            self.push_today(entry);
        } else if !self.wide_slot.replace(entry) {
            self.push_to_wide_slot(entry);
        }
    }

    /// Adds an event to the wide slot that has come last, in a place of its own.
    #[inline(never)]
    fn push_to_wide_slot(&mut self, entry: Entry) {
        if self.wide_slot.len() < WideSlot::MOST {
            self.wide_slot.push(entry);
        } else {
            self.overflow(vec![entry]);
        }
    }

    #[inline(never)]
    fn push_today(&mut self, entry: Entry) {
        if self.today.len() < CROWD {
            self.today.insert(entry);
        } else {
            self.push_to_crowd(entry);
        }
    }

    /// Removes the next event if it is not after `end`. With very many events `ahead`, if there is one, is
    /// told of those that are likely to follow, first from afar and at last when they are next.
    #[inline(always)]
    pub fn pop_until<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: Option<F>) -> Option<(Time, Key)> {
        match self.form {
            Form::List => self.pop_from_list(end),
            Form::Tournament if self.tournament.places_taken() > FEW => self.tournament.pop_until(end.0).map(as_told),
            Form::Slots if self.wide => {
                self.come.popped += 1;
                let next = self.wide_slot.pop_until(end.0).map(as_told);
                if next.is_some() { next } else { self.pop_otherwise(end, ahead) }
            }
            Form::Slots if !self.today.is_empty() && self.crowd.is_empty() => {
                let next = self.pop_from_list(end);
                if self.tells
                    && let (Some(ahead), Some(_), Some(after)) = (ahead, next, self.today.first())
                {
                    ahead(Ahead::Next, Key(after.key));
                }
                next
            }
            _ => self.pop_otherwise(end, ahead),
        }
    }

    /// The same where a slot has no more events, or the form is to be another one.
    #[inline(never)]
    fn pop_otherwise<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: Option<F>) -> Option<(Time, Key)> {
        if self.form == Form::Tournament {
            self.shrink();
        } else if !self.crowd.is_empty() {
            return self.pop_among_crowd(end).map(as_told);
        } else if self.wide_slot.len() > 0 || !self.turn(end, &ahead) {
            return None;
        }
        self.pop_until(end, ahead)
    }

    #[inline(always)]
    fn pop_from_list(&mut self, end: Time) -> Option<(Time, Key)> {
        let next = self.today.first()?;
        if seldom(next.time > end.0) {
            return None;
        }
        self.today.pop_first();
        Some(as_told(next))
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
        let today = today.or_else(|| self.wide_slot.first_time());
        today.or_else(|| self.later.first_time(self.current, self.shift)).map(Time)
    }

    /// Takes the next form for more events and adds one.
    #[cold]
    #[inline(never)]
    fn outgrow(&mut self, entry: Entry) {
        if self.form == Form::List && !self.looks_ahead {
            self.form = Form::Tournament;
            let entries = self.today.drain();
            self.push_all(entries);
            return self.push(Time(entry.time), Key(entry.key));
        }
        let entries = [self.tournament.drain(), vec![entry]].concat();
        self.rebuild(None, false, entries);
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

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.today.len() + self.tournament.len() + self.wide_slot.len() + self.crowd.len() + self.later.len()
    }
}
