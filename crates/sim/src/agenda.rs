//! The agenda: what happens next, and in which order at equal times.
//!
//! Events at equal times are ordered by their [`Key`], that is by kind and then by component, never
//! by insertion: so the plain engine, the merged one and a parallel run meet the same events in the
//! same order. Each component has at most one live event of each kind; a re-armed timer leaves a
//! stale entry behind that its owner recognises by its time and ignores.

use tailback_units::Time;

/// What happens, in the order in which equal times are served: first transmitters fall free, then
/// frames arrive, then timers run, then sources send, then the scenario changes and probes look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A port's transmitter falls free while something waits.
    TxDone,
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
    /// A source hands over its next burst.
    Emit,
    /// The scenario's next change.
    Change,
    /// The end of the warm-up.
    WarmedUp,
    /// The time series' next sample.
    Sample,
}

const KINDS: [Kind; 10] = [
    Kind::TxDone,
    Kind::Crossed,
    Kind::Arrive,
    Kind::Respond,
    Kind::Wake,
    Kind::Refresh,
    Kind::Emit,
    Kind::Change,
    Kind::WarmedUp,
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

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    key: Key,
}

impl Entry {
    /// Time and key as one number: a single comparison without branches.
    #[inline]
    fn rank(self) -> u128 {
        u128::from(self.time.0) << 32 | u128::from(self.key.0)
    }
}

/// A 4-ary implicit heap. A popped root stays as a hole that the next push fills, since most events
/// schedule the next one of their own component: one sift instead of two.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<Entry>,
    hole: bool,
}

impl Agenda {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = Entry { time, key };
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        }
    }

    /// Removes the next event if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Key)> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let next = *self.heap.first()?;
        if next.time > end {
            return None;
        }
        self.hole = true;
        Some((next.time, next.key))
    }

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].rank() <= entry.rank() {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Puts `entry` at the root and lets it sink.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let heap = self.heap.as_mut_slice();
        let rank = entry.rank();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            if first >= heap.len() {
                break;
            }
            let last = (first + 4).min(heap.len());
            let mut least = first;
            let mut least_rank = heap[first].rank();
            for (child, candidate) in heap[first + 1..last].iter().enumerate() {
                let candidate = candidate.rank();
                if candidate < least_rank {
                    least_rank = candidate;
                    least = first + 1 + child;
                }
            }
            if least_rank >= rank {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = entry;
    }
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
                let (time, key) = (Time(rng.below(1000)), Key::new(KINDS[rng.below(10) as usize], rng.below(50) as u32));
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
}
