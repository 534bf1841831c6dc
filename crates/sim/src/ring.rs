//! Ring buffer in which a link stores its packets.
//!
//! A `VecDeque` has the same functions. This buffer indexes with a mask, which saves about a tenth of the cost of a
//! hop. It can also release memory: in a network of thousands of links, most links have had a burst at some time, and
//! memory kept for another burst would be most of the memory of a run.

#![allow(unsafe_code, reason = "uninitialised slots; the tests run under Miri")]

use std::mem::MaybeUninit;
use tailback_qdisc::Packet;

/// FIFO ring buffer whose capacity is a power of two, or 0 before the first packet. The capacity doubles when the
/// buffer is full; [`Ring::shrink`] halves it as long as about three quarters of it are free.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[MaybeUninit<Packet>]>,
    /// Number of packets removed since the start, modulo 2^32; the oldest is at `head & mask`.
    head: u32,
    len: u32,
}

// A ring does not drop the packets that are still in it, so they must not need dropping.
const _: () = assert!(!std::mem::needs_drop::<Packet>());

/// Capacity after the first packet, packets.
const MIN_CAPACITY: usize = 4;
/// Margin of [`Ring::shrink`], packets: the capacity is halved if the ring would be at most a quarter full with this
/// number of packets more.
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

    /// Returns the index in `slots` of the packet at `index`; 0 is the oldest packet.
    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head as usize).wrapping_add(index) & (self.slots.len() - 1)
    }

    /// Appends a packet; returns a reference to it in the ring.
    #[inline(always)]
    pub fn push_back(&mut self, packet: Packet) -> &mut Packet {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len());
        self.len += 1;
        // SAFETY: the capacity is above zero after `grow`, and a masked index is below it.
        unsafe { self.slots.get_unchecked_mut(slot) }.write(packet)
    }

    /// Removes and returns the oldest packet; `None`: the ring is empty.
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
        Some(unsafe { self.slots.get_unchecked(slot).assume_init_read() })
    }

    /// Removes and returns the packet that was added last; `None`: the ring is empty.
    pub fn pop_back(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: as in `pop_front`, of the last of the slots that are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(self.len())).assume_init_read() })
    }

    /// Returns the packet at `index`, where 0 is the oldest; `None`: there is no such packet.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Packet> {
        if index >= self.len() {
            return None;
        }
        // SAFETY: with a packet in it the capacity is above zero, and a masked index is below it; the
        // `len` slots from `head` are initialised.
        Some(unsafe { self.slots.get_unchecked(self.slot(index)).assume_init_ref() })
    }
    /// Returns the oldest packet; `None`: the ring is empty.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.get(0)
    }
    /// Returns the packet that was added last; `None`: the ring is empty.
    pub fn back(&self) -> Option<&Packet> {
        self.get(self.len().wrapping_sub(1))
    }
    pub fn back_mut(&mut self) -> Option<&mut Packet> {
        let last = self.slot(self.len().checked_sub(1)?);
        // SAFETY: as in `get`, of the last packet.
        Some(unsafe { self.slots.get_unchecked_mut(last).assume_init_mut() })
    }
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Doubles the capacity.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.resize((2 * self.slots.len()).max(MIN_CAPACITY));
    }

    /// Releases unused memory; called rarely, since a check at each removal would cost more than it saves.
    #[inline]
    pub fn shrink(&mut self) {
        let mut capacity = self.slots.len();
        while 4 * (self.len() + SPARE) <= capacity {
            capacity /= 2;
        }
        if capacity < self.slots.len() {
            self.resize(capacity);
        }
    }

    /// Changes the capacity, which must suffice for the packets; the oldest packet moves to slot 0.
    fn resize(&mut self, capacity: usize) {
        assert!(capacity <= 1 << 31, "fewer than 2^31 packets on a link");
        let mut slots = Vec::with_capacity(capacity);
        let len = self.len;
        while let Some(packet) = self.pop_front() {
            slots.push(MaybeUninit::new(packet));
        }
        slots.resize_with(capacity, MaybeUninit::uninit);
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
        let mut capacities = std::collections::BTreeSet::new();
        // Fewer steps under Miri, which is slow.
        let scale = if cfg!(miri) { 16 } else { 1 };
        for n in 0..40_000 / scale {
            capacities.insert(ring.slots.len());
            if rng.chance(0.001) {
                ring.shrink();
            }
            // Probability of a push: the ring is filled for a while, and then emptied.
            let pushes = [0.8, 0.3][(n * scale) as usize / 5_000 % 2];
            if rng.chance(0.1) {
                assert_eq!(ring.pop_back().map(|p| p.seq), deque.pop_back());
            } else if rng.chance(pushes) {
                ring.push_back(Packet::new(0, Traits::default(), Time::ZERO, n, 0));
                deque.push_back(n);
            } else {
                assert_eq!(ring.pop_front().map(|p| p.seq), deque.pop_front());
            }
            assert_eq!(ring.len(), deque.len());
            assert_eq!(ring.front().map(|p| p.seq), deque.front().copied());
            assert_eq!(ring.back().map(|p| p.seq), deque.back().copied());
        }
        assert!(
            [0, MIN_CAPACITY, 16, 4096 / scale as usize].iter().all(|capacity| capacities.contains(capacity)),
            "{capacities:?}"
        );
        assert!(ring.iter().map(|p| p.seq).eq(deque.iter().copied()));
    }

    #[test]
    fn memory_that_a_burst_has_occupied_is_released() {
        let mut ring = Ring::default();
        // Fewer packets under Miri, which is slow.
        let burst = if cfg!(miri) { 1_000 } else { 100_000 };
        for n in 0..burst {
            ring.push_back(Packet::new(0, Traits::default(), Time::ZERO, n, 0));
        }
        let order = std::iter::from_fn(|| ring.pop_front());
        assert!(order.take(burst as usize - 10).map(|p| p.seq).eq(0..burst - 10));
        ring.shrink();
        // A capacity of 4 · (10 + `SPARE`) = 72 or more would be halved.
        assert!(ring.len() == 10 && ring.slots.len() <= 64, "{} slots", ring.slots.len());
        assert!(ring.iter().map(|p| p.seq).eq(burst - 10..burst));
    }
}
