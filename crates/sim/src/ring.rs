//! A ring of packets: the store behind every line.
//!
//! `VecDeque` would do; this one indexes with a mask and takes about a tenth off the cost of a hop.

use std::mem::MaybeUninit;
use tailback_qdisc::Packet;

/// A growing first-in, first-out ring whose capacity is a power of two.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    /// Packets taken since the start, modulo 2^32; the oldest is at `head & mask`.
    head: u32,
    len: u32,
}

/// A place for a packet, within one cache line.
#[derive(Debug)]
#[repr(align(32))]
struct Slot(MaybeUninit<Packet>);

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
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len());
        self.len += 1;
        // SAFETY: the capacity is above zero after `grow`, and a masked index is below it.
        unsafe { self.slots.get_unchecked_mut(slot) }.0.write(packet)
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slot(0);
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        // SAFETY: with a packet in it the capacity is above zero, and a masked index is below it. The
        // `len` slots from `head` are initialised; this one has just left them, so it is read once
        // and never again.
        Some(unsafe { self.slots.get_unchecked(slot).0.assume_init_read() })
    }

    /// Takes the packet that was put last.
    pub fn pop_back(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: as in `pop_front`, of the last of the slots that are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(self.len())).0.assume_init_read() })
    }

    /// The packet at `index`, 0 being the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Packet> {
        if index >= self.len() {
            return None;
        }
        // SAFETY: with a packet in it the capacity is above zero, and a masked index is below it; the
        // `len` slots from `head` are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(index)).0.assume_init_ref() })
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
        // SAFETY: as in `get`, of the last packet.
        Some(unsafe { self.slots.get_unchecked_mut(last).0.assume_init_mut() })
    }
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Doubles the capacity, the oldest packet first.
    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.slots.len()).max(4);
        assert!(capacity <= 1 << 31, "fewer than 2^31 packets on a line");
        let mut slots = Vec::with_capacity(capacity);
        let len = self.len;
        while let Some(packet) = self.pop_front() {
            slots.push(Slot(MaybeUninit::new(packet)));
        }
        slots.resize_with(capacity, || Slot(MaybeUninit::uninit()));
        *self = Ring { slots: slots.into(), head: 0, len };
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
        for n in 0..10_000 {
            if rng.chance(0.1) {
                assert_eq!(ring.pop_back().map(|p| p.seq), deque.pop_back());
            } else if rng.chance(0.57) {
                ring.push_back(Packet::new(0, Traits::default(), Time::ZERO, n, 0));
                deque.push_back(n);
            } else {
                assert_eq!(ring.pop_front().map(|p| p.seq), deque.pop_front());
            }
            assert_eq!(ring.len(), deque.len());
            assert_eq!(ring.front().map(|p| p.seq), deque.front().copied());
            assert_eq!(ring.back().map(|p| p.seq), deque.back().copied());
        }
        assert!(ring.iter().map(|p| p.seq).eq(deque.iter().copied()));
    }
}
