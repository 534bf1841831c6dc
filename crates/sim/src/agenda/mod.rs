//! The agenda: what happens next, and in which order at equal times.
//!
//! Events at equal times are ordered by their [`Key`], that is by kind and then by component, never
//! by insertion: so the plain engine, the merged one and a parallel run meet the same events in the
//! same order. Each component has at most one live event of each kind; a re-armed timer leaves a
//! stale entry behind that its owner recognises by its time and ignores.

mod entry;
mod near;
mod wheel;

use entry::Entry;
use near::Near;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailback_units::Time;
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

const KINDS: [Kind; 12] = [
    Kind::TxDone,
    Kind::WarmedUp,
    Kind::Crossed,
    Kind::Arrive,
    Kind::Respond,
    Kind::Wake,
    Kind::Refresh,
    Kind::Timer,
    Kind::AckTimer,
    Kind::Emit,
    Kind::Change,
    Kind::Sample,
];

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
        KINDS[(self.0 >> 28) as usize]
    }
    #[inline]
    pub fn component(self) -> u32 {
        self.0 & (Key::MAX_COMPONENTS - 1)
    }
}

/// Events pending beyond which a list in order is slower than slots of time.
const MANY: usize = 48;
/// Events within a turn of the wheel beyond which it is worth telling of those to come: what so many touch, about a
/// kilobyte each, is more than a processor has near. Timers far off touch nothing.
const MANY_TO_COME: usize = 1024;
/// The width of a slot is looked at each time that so many events have come.
const RETUNE: usize = 8192;
/// Slots are at most 2^43 ps wide, 9 s.
const WIDEST: u32 = 43;

/// What is pending.
///
/// A few events are kept in a list in order. Many are kept by slots of time, in no order until theirs
/// has come: a calendar queue (Brown 1988). The order in which events come out is total, so neither
/// the kind of store nor the width of a slot can be seen from outside.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Without slots all events; with them those of the slot that has come last.
    today: Near,
    /// That slot; the last one of all while there are no slots.
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

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda {
            today: Near::default(),
            current: u64::MAX,
            shift: 0,
            later: Wheel::default(),
            crowd: BinaryHeap::new(),
            come: Come::default(),
            tells: false,
        }
    }
}

impl Agenda {
    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = Entry::new(time, key);
        let slot = entry.time >> self.shift;
        if slot > self.current {
            self.later.put(entry, slot, self.current);
        } else {
            self.push_today(entry);
        }
    }

    #[inline(never)]
    fn push_today(&mut self, entry: Entry) {
        if self.today.len() < MANY {
            self.today.insert(entry);
        } else {
            self.push_to_crowd(entry);
        }
    }

    #[cold]
    fn push_to_crowd(&mut self, entry: Entry) {
        if self.today.is_full() {
            self.crowd.push(Reverse(entry));
        } else {
            self.today.insert(entry);
        }
        if self.current == u64::MAX {
            self.begin_slots();
        }
    }

    /// Removes the next event if it is not after `end`. With very many events `ahead`, if there is one, is
    /// told of those that are likely to follow, first from afar and at last when they are next.
    #[inline]
    pub fn pop_until<F: Fn(Ahead, Key)>(&mut self, end: Time, ahead: Option<F>) -> Option<(Time, Key)> {
        if self.today.is_empty() && self.crowd.is_empty() && !self.turn(end, &ahead) {
            return None;
        }
        if !self.crowd.is_empty() {
            let next = self.pop_among_crowd(end);
            return next.map(|next| (Time(next.time), Key(next.key)));
        }
        let next = self.today.first()?;
        if next.time > end.0 {
            return None;
        }
        self.today.pop_first();
        if let Some(ahead) = ahead
            && self.tells
            && let Some(after) = self.today.first()
        {
            ahead(Ahead::Next, Key(after.key));
        }
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

    /// Keeps all but the nearest events in slots from now on.
    fn begin_slots(&mut self) {
        // A quarter of the events say how dense they lie; timers far off do not count.
        let quarter = self.today.len() / 4;
        let (first, later) = (self.today.get(0), self.today.get(quarter));
        let apart = (later.time - first.time) / quarter as u64;
        self.rebuild((4 * apart).max(1).ilog2());
    }

    /// Puts all events where they belong with slots of 2^shift picoseconds.
    #[cold]
    fn rebuild(&mut self, shift: u32) {
        let today = self.today.drain();
        let crowd: Vec<Entry> = self.crowd.drain().map(|Reverse(entry)| entry).collect();
        let mut entries = [today, crowd, self.later.take_all()].concat();
        entries.sort_unstable();
        self.shift = shift.min(WIDEST);
        self.current = entries.first().map_or(0, |first| first.time >> self.shift);
        if entries.len() <= MANY / 2 {
            self.shift = 0;
            self.current = u64::MAX;
        }
        for entry in entries {
            self.push(Time(entry.time), Key(entry.key));
        }
    }

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.today.len() + self.crowd.len() + self.later.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    const BLIND: Option<fn(Ahead, Key)> = None;

    #[test]
    fn events_come_in_order_of_time_then_kind_then_component() {
        let mut agenda = Agenda::default();
        agenda.push(Time(5), Key::new(Kind::Emit, 0));
        agenda.push(Time(5), Key::new(Kind::TxDone, 9));
        agenda.push(Time(5), Key::new(Kind::TxDone, 2));
        agenda.push(Time(4), Key::new(Kind::Sample, 7));
        let mut order = Vec::new();
        while let Some((time, key)) = agenda.pop_until(Time::NEVER, BLIND) {
            order.push((time.0, key.kind(), key.component()));
        }
        assert_eq!(order, [(4, Kind::Sample, 7), (5, Kind::TxDone, 2), (5, Kind::TxDone, 9), (5, Kind::Emit, 0)]);
    }

    #[test]
    fn a_random_mix_of_pushes_and_pops_agrees_with_a_sorted_list() {
        let mut rng = Rng::named(1, "agenda");
        let (mut agenda, mut list) = (Agenda::default(), Vec::new());
        for _ in 0..20_000 {
            if rng.chance(0.52) {
                let (time, key) =
                    (Time(rng.below(1000)), Key::new(KINDS[rng.below(12) as usize], rng.below(50) as u32));
                agenda.push(time, key);
                list.push((time, key));
            } else if let Some(next) = agenda.next_time() {
                list.sort_by(|a, b| b.cmp(a));
                assert_eq!(Some(next), list.last().map(|last| last.0));
                assert_eq!(agenda.pop_until(Time::NEVER, BLIND), list.pop());
            }
            assert_eq!(agenda.len(), list.len());
        }
    }

    /// Many events at times of every scale, in bursts, with long silences: the wheel is begun, made
    /// wider, narrower, and given up.
    #[test]
    fn many_events_at_times_of_every_scale_agree_with_a_sorted_set() {
        let mut rng = Rng::named(2, "agenda");
        let (mut agenda, mut set, mut now) = (Agenda::default(), std::collections::BTreeSet::new(), 0);
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..40 {
            let scale = rng.below(45);
            // Some rounds fill, some empty.
            let filling = if round % 4 == 3 { 0.3 } else { 0.51 };
            for _ in 0..10_000 {
                if rng.chance(filling) || set.is_empty() {
                    let octave = rng.below(scale + 1);
                    let ahead = if rng.chance(0.1) { 0 } else { rng.below(1 << octave) };
                    let time = if round == 39 && rng.chance(0.001) { u64::MAX - rng.below(9) } else { now + ahead };
                    let event = (Time(time), Key::new(KINDS[rng.below(12) as usize], rng.below(1 << 20) as u32));
                    if set.insert((Time(time.min(u64::MAX - 4)), event.1)) {
                        agenda.push(event.0, event.1);
                    }
                } else {
                    let next = set.pop_first();
                    assert_eq!(agenda.next_time(), next.map(|(time, _)| time));
                    // Whoever looks up to an earlier instant only finds nothing, and spoils nothing.
                    if let Some((time, _)) = next.filter(|(time, _)| time.0 > 0 && rng.chance(0.3)) {
                        assert_eq!(agenda.pop_until(Time(time.0 - 1), BLIND), None);
                    }
                    assert_eq!(agenda.pop_until(Time::NEVER, BLIND), next);
                    // Beyond the end of time nothing moves on.
                    now = next.map_or(now, |(time, _)| if time.0 < 1 << 60 { time.0 } else { now });
                }
                assert_eq!(agenda.len(), set.len());
            }
            seen.insert(agenda.shift);
        }
        assert!(seen.len() > 4, "slots of several widths, and none: {seen:?}");
    }

    #[test]
    fn nothing_after_the_end_is_popped() {
        let mut agenda = Agenda::default();
        agenda.push(Time(10), Key::new(Kind::Emit, 0));
        assert!(agenda.pop_until(Time(9), BLIND).is_none());
        assert!(agenda.pop_until(Time(10), BLIND).is_some());
        assert!(agenda.pop_until(Time(10), BLIND).is_none());
    }

    #[test]
    fn what_lies_beyond_the_end_of_time_disturbs_no_other_event() {
        let mut agenda = Agenda::default();
        for n in 0..40 {
            agenda.push(Time(u64::MAX - n % 6), Key::new(Kind::Arrive, n as u32));
            agenda.push(Time(n), Key::new(Kind::Emit, n as u32));
        }
        for n in 0..40 {
            assert_eq!(agenda.pop_until(Time(1_000), BLIND), Some((Time(n), Key::new(Kind::Emit, n as u32))));
            agenda.push(Time::NEVER, Key::new(Kind::Wake, n as u32));
        }
        assert!(agenda.pop_until(Time(1_000), BLIND).is_none());
        assert_eq!(std::iter::from_fn(|| agenda.pop_until(Time::NEVER, BLIND)).count(), 80);
    }
}
