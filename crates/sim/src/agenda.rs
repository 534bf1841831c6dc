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
    /// A source hands over its next burst.
    Emit,
    /// The scenario's next change.
    Change,
    /// The time series' next sample.
    Sample,
}

const KINDS: [Kind; 10] = [
    Kind::TxDone,
    Kind::WarmedUp,
    Kind::Crossed,
    Kind::Arrive,
    Kind::Respond,
    Kind::Wake,
    Kind::Refresh,
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

/// Time and key as one number, so that a comparison has no branch: time above, key below.
type Rank = u128;

#[inline]
fn rank(time: Time, key: Key) -> Rank {
    Rank::from(time.0) << 32 | Rank::from(key.0)
}

/// A 4-ary implicit heap. A popped root stays as a hole that the next push fills, since most events
/// schedule the next one of their own component: one sift instead of two.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Entries, the hole included.
    heap: Vec<Rank>,
    hole: bool,
}

impl Agenda {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: Time, key: Key) {
        let entry = rank(time, key);
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(entry);
        }
    }

    /// Removes the next event if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Key)> {
        if self.hole {
            self.close_hole();
        }
        let next = *self.heap.first()?;
        let time = Time((next >> 32) as u64);
        if time > end {
            return None;
        }
        self.hole = true;
        Some((time, Key(next as u32)))
    }

    /// Events pending, stale ones included.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// Fills the hole at the root with the last entry.
    fn close_hole(&mut self) {
        self.hole = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Lets `entry`, which is at the last place, rise.
    fn sift_up(&mut self, entry: Rank) {
        let mut at = self.heap.len() - 1;
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
    fn sift_down(&mut self, entry: Rank) {
        let len = self.heap.len();
        debug_assert!(len > 0);
        let heap = self.heap.as_mut_ptr();
        let mut at = 0;
        // SAFETY: `heap` points to `len` initialised entries. `at` is 0 (and len > 0) or was a
        // child below `len`; children are read only where their index is below `len`. This is the
        // hottest loop of the program; with bounds checks the benchmark `udpqueue` takes 10 % more
        // instructions.
        unsafe {
            loop {
                let first = 4 * at + 1;
                let (least, least_at) = if first + 3 < len {
                    let (a, b) = (*heap.add(first), *heap.add(first + 1));
                    let (c, d) = (*heap.add(first + 2), *heap.add(first + 3));
                    let (left, left_at) = if b < a { (b, first + 1) } else { (a, first) };
                    let (right, right_at) = if d < c { (d, first + 3) } else { (c, first + 2) };
                    if right < left { (right, right_at) } else { (left, left_at) }
                } else if first < len {
                    let mut least = (*heap.add(first), first);
                    for child in first + 1..len {
                        let candidate = *heap.add(child);
                        if candidate < least.0 {
                            least = (candidate, child);
                        }
                    }
                    least
                } else {
                    break;
                };
                if least >= entry {
                    break;
                }
                *heap.add(at) = least;
                at = least_at;
            }
            *heap.add(at) = entry;
        }
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
                let (time, key) =
                    (Time(rng.below(1000)), Key::new(KINDS[rng.below(10) as usize], rng.below(50) as u32));
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
