//! The agenda: what happens next, and in which order at equal times.
//!
//! Events at equal times are ordered by their [`Key`], that is by kind and then by component, never
//! by insertion: so the plain engine, the merged one and a parallel run meet the same events in the
//! same order. Each component has at most one live event of each kind; a re-armed timer leaves a
//! stale entry behind that its owner recognises by its time and ignores.

use tailback_units::Time;

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

/// An event: when, and which among equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: u64,
    key: u32,
}

/// The last instant at which something happens: what is later, such as the arrival of what a queue
/// would send after the end of time, counts as then.
const LAST: u64 = u64::MAX - 4;

/// Entries after the last one: later than every event, and no two neighbours at the same time, so
/// that they are never taken for a tie.
fn filler(place: usize) -> Entry {
    Entry { time: u64::MAX - (place % 4) as u64, key: u32::MAX }
}

/// A 4-ary implicit heap. A popped root stays as a hole that the next push fills, since most events
/// schedule the next one of their own component: one sift instead of two.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Entries, the hole included, then at least three fillers: so that four children can be
    /// compared wherever there is one.
    heap: Vec<Entry>,
    len: usize,
    hole: bool,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda { heap: (0..4).map(filler).collect(), len: 0, hole: false }
    }
}

impl Agenda {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = Entry { time: time.0.min(LAST), key: key.0 };
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            if self.len + 4 > self.heap.len() {
                self.grow();
            }
            self.len += 1;
            self.sift_up(entry);
        }
    }

    /// Removes the next event if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Key)> {
        if self.hole {
            self.close_hole();
        }
        let next = self.heap[0];
        if next.time > end.0 || self.len == 0 {
            return None;
        }
        self.hole = true;
        Some((Time(next.time), Key(next.key)))
    }

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len - usize::from(self.hole)
    }

    #[cold]
    fn grow(&mut self) {
        let places = 2 * self.heap.len() + 4;
        self.heap.extend((self.heap.len()..places).map(filler));
    }

    /// Fills the hole at the root with the last entry.
    fn close_hole(&mut self) {
        self.hole = false;
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], filler(self.len));
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Lets `entry`, which is at the last place, rise.
    fn sift_up(&mut self, entry: Entry) {
        let mut at = self.len - 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Puts `entry` at the root and lets it sink. The heap is not empty.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let len = self.len;
        debug_assert!(len > 0 && len + 3 <= self.heap.len());
        let heap = self.heap.as_mut_ptr();
        let mut at = 0;
        // SAFETY: `heap` points to at least `len + 3` initialised entries. `at` is 0 (and len > 0)
        // or was a child before a filler, so below `len`; four children are read only where the
        // first is below `len`, and the last is then below `len + 3`. This is the hottest loop of the
        // program; with bounds checks the benchmark `udpqueue` takes 10 % more instructions.
        unsafe {
            loop {
                let first = 4 * at + 1;
                if first >= len {
                    break;
                }
                let children = heap.add(first);
                let (a, b) = ((*children).time, (*children.add(1)).time);
                let (c, d) = ((*children.add(2)).time, (*children.add(3)).time);
                let (left, left_at) = if b < a { (b, 1) } else { (a, 0) };
                let (right, right_at) = if d < c { (d, 3) } else { (c, 2) };
                let (least, mut least_at) = if right < left { (right, right_at) } else { (left, left_at) };
                // Times alone decide, in half the instructions; equal ones are rare.
                if (a == b) | (c == d) | (left == right) {
                    least_at = least_of_four(&*children.cast());
                }
                if least >= entry.time && *children.add(least_at) >= entry {
                    break;
                }
                *heap.add(at) = *children.add(least_at);
                at = first + least_at;
            }
            *heap.add(at) = entry;
        }
    }
}

/// Which of four entries comes first.
#[cold]
fn least_of_four(entries: &[Entry; 4]) -> usize {
    (1..4).fold(0, |least, at| if entries[at] < entries[least] { at } else { least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn events_come_in_order_of_time_then_kind_then_component() {
        let mut agenda = Agenda::default();
        agenda.push(Time(5), Key::new(Kind::Emit, 0));
        agenda.push(Time(5), Key::new(Kind::TxDone, 9));
        agenda.push(Time(5), Key::new(Kind::TxDone, 2));
        agenda.push(Time(4), Key::new(Kind::Sample, 7));
        let mut order = Vec::new();
        while let Some((time, key)) = agenda.pop_until(Time::NEVER) {
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
            } else if let Some(popped) = agenda.pop_until(Time::NEVER) {
                list.sort_by(|a, b| b.cmp(a));
                assert_eq!(Some(popped), list.pop());
            }
            assert_eq!(agenda.len(), list.len());
        }
    }

    #[test]
    fn nothing_after_the_end_is_popped() {
        let mut agenda = Agenda::default();
        agenda.push(Time(10), Key::new(Kind::Emit, 0));
        assert!(agenda.pop_until(Time(9)).is_none());
        assert!(agenda.pop_until(Time(10)).is_some());
        assert!(agenda.pop_until(Time(10)).is_none());
    }

    #[test]
    fn what_lies_beyond_the_end_of_time_disturbs_no_other_event() {
        let mut agenda = Agenda::default();
        for n in 0..40 {
            agenda.push(Time(u64::MAX - n % 6), Key::new(Kind::Arrive, n as u32));
            agenda.push(Time(n), Key::new(Kind::Emit, n as u32));
        }
        for n in 0..40 {
            assert_eq!(agenda.pop_until(Time(1_000)), Some((Time(n), Key::new(Kind::Emit, n as u32))));
            agenda.push(Time::NEVER, Key::new(Kind::Wake, n as u32));
        }
        assert!(agenda.pop_until(Time(1_000)).is_none());
        assert_eq!(std::iter::from_fn(|| agenda.pop_until(Time::NEVER)).count(), 80);
    }
}
