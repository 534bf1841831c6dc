//! A ring of packets: the store behind every line.
//!
//! `VecDeque` would do; this one indexes with a mask and takes about a tenth off the cost of a hop. And its memory
//! follows what is in it: in a network of thousands of lines most have had a burst at some time, and room kept for
//! another on each of them would be most of the memory of a run.

mod beyond;

use beyond::{Beyond, Place};
use std::mem::MaybeUninit;
use tailback_qdisc::Packet;

/// A first-in, first-out ring whose capacity is a power of two: it doubles when there is no more room, and is halved by
/// [`Ring::settle`] when three quarters of it are free. What exceeds [`MOST`] waits behind the ring.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Place]>,
    /// Packets taken since the start, modulo 2^32; the oldest is at `head & mask`.
    head: u32,
    /// Those behind included.
    len: u32,
    /// Those behind; none if there are none. While there are any, at most one slot is free, so there are at least
    /// [`MOST`] in all.
    beyond: Option<Box<Beyond>>,
}

const _: () = assert!(size_of::<Ring>() <= 32);

/// The capacity that a ring begins with, and the largest: one that doubled further would leave megabytes half empty, and
/// as much again behind it in pieces that fit nothing else.
const LEAST: usize = 4;
const MOST: usize = 4096;
/// Packets for which a ring has room beyond a quarter of its capacity before it is halved.
const SPARE: usize = 8;

impl Ring {
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head as usize).wrapping_add(index) & (self.slots.len() - 1)
    }

    /// Puts a packet last; the packet in its place.
    #[inline(always)]
    pub fn push_back(&mut self, packet: Packet) -> &mut Packet {
        // Not handed to what finds room: a packet of which a function wants the address is copied once more.
        let place = if self.len() >= self.slots.len() { self.find_room() } else { self.place() };
        place.write(packet)
    }

    /// The next place, which is a free slot, to be written to.
    #[inline(always)]
    fn place(&mut self) -> &mut Place {
        let slot = self.slot(self.len());
        self.len += 1;
        // SAFETY: with a free slot the capacity is above zero, and a masked index is below it.
        unsafe { self.slots.get_unchecked_mut(slot) }
    }

    /// The next place when no slot is free, or some wait behind, to be written to.
    #[cold]
    #[inline(never)]
    fn find_room(&mut self) -> &mut Place {
        if self.slots.len() == MOST {
            assert!(self.len < u32::MAX, "fewer than 2^32 packets on a line");
            self.len += 1;
            return self.beyond.get_or_insert_default().push_back();
        }
        self.resize((2 * self.slots.len()).max(LEAST));
        self.place()
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<Packet> {
        if self.len() >= MOST {
            self.move_up();
        }
        self.take_front()
    }

    /// The first of those behind the ring takes the free slot, if both are there.
    #[cold]
    #[inline(never)]
    fn move_up(&mut self) {
        let Some(beyond) = &mut self.beyond else { return };
        let in_slots = self.len as usize - beyond.len();
        if in_slots < MOST
            && let Some(next) = beyond.pop_front()
        {
            if beyond.len() == 0 {
                self.beyond = None;
            }
            let slot = self.slot(in_slots);
            self.slots[slot] = next;
        }
    }

    /// Gives back memory that is not needed, to be called now and then: not when a packet is taken, where it would be
    /// asked in vain at almost each hop.
    #[inline]
    pub fn settle(&mut self) {
        if 4 * (self.len() + SPARE) <= self.slots.len() {
            let mut capacity = self.slots.len() / 2;
            while 4 * (self.len() + SPARE) <= capacity {
                capacity /= 2;
            }
            self.resize(capacity);
        }
    }

    /// Takes the oldest packet out of its slot.
    #[inline]
    fn take_front(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slot(0);
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        // SAFETY: with a packet in it the capacity is above zero, and a masked index is below it. The
        // `len` slots from `head` are initialised; this one has just left them, so it is read once
        // and never again.
        Some(unsafe { self.slots.get_unchecked(slot).assume_init_read() })
    }

    /// Takes the packet that was put last.
    pub fn pop_back(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        if let Some(beyond) = &mut self.beyond
            && let Some(last) = beyond.pop_back()
        {
            if beyond.len() == 0 {
                self.beyond = None;
            }
            // SAFETY: every place is written to as soon as it is given.
            return Some(unsafe { last.assume_init() });
        }
        // SAFETY: as in `take_front`, of the last of the slots that are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(self.len())).assume_init_read() })
    }

    /// The packet at `index`, 0 being the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Packet> {
        if index >= self.len() {
            return None;
        }
        // So many are in slots, or all.
        if index >= MOST - 1 {
            return self.get_far(index);
        }
        // SAFETY: with a packet in it the capacity is above zero, and a masked index is below it; the
        // slots from `head` on are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(index)).assume_init_ref() })
    }
    /// The packet at `index`, which may be behind the ring.
    #[cold]
    #[inline(never)]
    fn get_far(&self, index: usize) -> Option<&Packet> {
        let in_slots = self.len() - self.beyond.as_ref().map_or(0, |beyond| beyond.len());
        let place = match index.checked_sub(in_slots) {
            Some(behind) => self.beyond.as_ref()?.get(behind)?,
            None => &self.slots[self.slot(index)],
        };
        // SAFETY: as in `get`; and every place behind the ring is written to as soon as it is given.
        Some(unsafe { place.assume_init_ref() })
    }
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.get(0)
    }
    pub fn back(&self) -> Option<&Packet> {
        self.get(self.len().wrapping_sub(1))
    }
    pub fn back_mut(&mut self) -> Option<&mut Packet> {
        let last = self.slot(self.len().checked_sub(1)?);
        let beyond = self.beyond.as_mut().and_then(|beyond| beyond.back_mut());
        // SAFETY: as in `get` and `get_beyond`, of the last packet.
        Some(unsafe { beyond.unwrap_or_else(|| self.slots.get_unchecked_mut(last)).assume_init_mut() })
    }
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Gives it another capacity, the oldest packet first.
    #[cold]
    #[inline(never)]
    fn resize(&mut self, capacity: usize) {
        let mut slots = Vec::with_capacity(capacity);
        let len = self.len;
        debug_assert!(self.len() <= capacity && self.beyond.is_none());
        while let Some(packet) = self.take_front() {
            slots.push(MaybeUninit::new(packet));
        }
        slots.resize_with(capacity, MaybeUninit::uninit);
        *self = Ring { slots: slots.into(), head: 0, len, beyond: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use tailback_qdisc::Traits;
    use tailback_random::Rng;
    use tailback_units::Time;

    #[test]
    fn a_random_mix_of_pushes_and_pops_agrees_with_a_deque() {
        let mut rng = Rng::named(1, "ring");
        let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
        let mut capacities = std::collections::BTreeSet::new();
        for n in 0..200_000 {
            capacities.insert(ring.slots.len());
            if rng.chance(0.001) {
                ring.settle();
            }
            // Up beyond the largest capacity, about there for a while, and down to nothing.
            let pushes = [0.8, 0.55, 0.3, 0.57][n as usize / 15_000 % 4];
            if rng.chance(0.1) {
                assert_eq!(ring.pop_back().map(|p| p.seq), deque.pop_back());
            } else if rng.chance(pushes) {
                assert_eq!(ring.push_back(Packet::new(0, Traits::default(), Time::ZERO, n, 0)).seq, n);
                deque.push_back(n);
            } else {
                assert_eq!(ring.pop_front().map(|p| p.seq), deque.pop_front());
            }
            assert_eq!(ring.len(), deque.len());
            assert_eq!(ring.front().map(|p| p.seq), deque.front().copied());
            assert_eq!(ring.back().map(|p| p.seq), deque.back().copied());
            assert_eq!(ring.back_mut().map(|p| p.seq), deque.back().copied());
            let index = rng.below(2 * deque.len() as u64 + 1) as usize;
            assert_eq!(ring.get(index).map(|p| p.seq), deque.get(index).copied());
        }
        assert!([0, LEAST, 16, MOST].iter().all(|capacity| capacities.contains(capacity)), "{capacities:?}");
        assert!(ring.iter().map(|p| p.seq).eq(deque.iter().copied()));
    }

    #[test]
    fn what_a_burst_has_taken_is_given_back() {
        let mut ring = Ring::default();
        for n in 0..100_000 {
            ring.push_back(Packet::new(0, Traits::default(), Time::ZERO, n, 0));
        }
        assert_eq!((ring.slots.len(), ring.len()), (MOST, 100_000));
        let order = std::iter::from_fn(|| ring.pop_front());
        assert!(order.take(99_990).map(|p| p.seq).eq(0..99_990));
        ring.settle();
        assert!(ring.beyond.is_none() && ring.len() == 10, "{ring:?}");
        assert!(ring.slots.len() <= 64, "{} slots", ring.slots.len());
    }
}
