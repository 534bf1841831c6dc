//! First-in-first-out queues with common counts of packets and bytes.

use crate::law::Backlog;
use crate::state::{INDEX, QUEUE, bytes_of};
use crate::{Cx, Packet, Reason, Site, Victim};
use std::collections::VecDeque;
use tailback_random::Rng;

/// An entry of a queue: a packet, with or without additional data.
pub trait Item {
    /// Returns the packet.
    fn packet(&self) -> &Packet;
    /// Returns the packet without the additional data.
    fn into_packet(self) -> Packet;
}

impl Item for Packet {
    fn packet(&self) -> &Packet {
        self
    }
    fn into_packet(self) -> Packet {
        self
    }
}

/// One queue.
#[derive(Debug)]
struct Fifo<I> {
    waiting: VecDeque<I>,
    /// Buffer bytes.
    bytes: u64,
    /// Index in `occupied` while the queue is not empty.
    place: usize,
}

/// First-in-first-out queues by index (`slot`), created at first use.
#[derive(Debug)]
pub struct Fifos<I> {
    queues: Vec<Fifo<I>>,
    /// The queues that are not empty, in no order: a search for the longest visits only these.
    occupied: Vec<u32>,
    bytes: u64,
    packets: u64,
}

impl<I> Default for Fifos<I> {
    fn default() -> Fifos<I> {
        Fifos { queues: Vec::new(), occupied: Vec::new(), bytes: 0, packets: 0 }
    }
}

impl<I: Item> Fifos<I> {
    /// Appends to the queue `slot`; returns `true` if it was empty.
    #[inline]
    pub fn push(&mut self, slot: usize, item: I) -> bool {
        if slot >= self.queues.len() {
            self.queues.resize_with(slot + 1, || Fifo { waiting: VecDeque::new(), bytes: 0, place: 0 });
        }
        let size = u64::from(item.packet().size);
        let queue = &mut self.queues[slot];
        let first = queue.waiting.is_empty();
        if first {
            queue.place = self.occupied.len();
            self.occupied.push(slot as u32);
        }
        queue.bytes += size;
        queue.waiting.push_back(item);
        self.bytes += size;
        self.packets += 1;
        first
    }
    /// Removes and returns the oldest entry of the queue `slot`. `None`: the queue is empty.
    #[inline]
    pub fn pop_front(&mut self, slot: usize) -> Option<I> {
        let item = self.queues.get_mut(slot)?.waiting.pop_front()?;
        self.taken(slot, &item);
        Some(item)
    }
    /// Removes the oldest entry of the queue `slot` and returns it with the backlog that remains in that queue. `None`:
    /// the queue is empty.
    #[inline]
    pub fn pop_and_count(&mut self, slot: usize) -> Option<(I, Backlog)> {
        let item = self.pop_front(slot)?;
        Some((item, self.backlog_of(slot)))
    }
    /// Removes and returns the newest entry of the queue `slot`. `None`: the queue is empty.
    #[inline]
    pub fn pop_back(&mut self, slot: usize) -> Option<I> {
        let item = self.queues.get_mut(slot)?.waiting.pop_back()?;
        self.taken(slot, &item);
        Some(item)
    }
    /// Removes and returns the entry of the queue `slot` that `victim` selects. `None`: the queue is empty.
    pub fn remove(&mut self, slot: usize, victim: Victim, rng: &mut Rng) -> Option<I> {
        match victim {
            Victim::Tail => self.pop_back(slot),
            Victim::Head => self.pop_front(slot),
            Victim::Random => {
                let newest = self.packets_of(slot).checked_sub(1)?;
                self.take(slot, rng.below(newest + 1))
            }
        }
    }
    /// Returns the entry at position `i` of the queue `slot`, counted from the oldest at 0. `None`: the queue is
    /// shorter.
    pub fn peek(&self, slot: usize, i: u64) -> Option<&I> {
        self.queues.get(slot)?.waiting.get(i as usize)
    }
    /// Removes and returns the entry at position `i` of the queue `slot`, counted from the oldest at 0, in O(n).
    /// `None`: the queue is shorter.
    pub fn take(&mut self, slot: usize, i: u64) -> Option<I> {
        let item = self.queues.get_mut(slot)?.waiting.remove(i as usize)?;
        self.taken(slot, &item);
        Some(item)
    }
    /// Drops victims of the longest queue until the limits of `site` hold. The longest queue is that with the most
    /// bytes, `grown` if it is as long as any other.
    pub fn trim(&mut self, grown: usize, victim: Victim, site: &Site, cx: &mut Cx<'_>) {
        while self.overflow(site) {
            let longest = self.longest(grown);
            let Some(item) = self.remove(longest, victim, cx.rng) else { break };
            cx.drop(item.into_packet(), Reason::BufferFull);
        }
    }
    /// Updates the counts and `occupied` after an entry was removed.
    #[inline]
    fn taken(&mut self, slot: usize, item: &I) {
        let size = u64::from(item.packet().size);
        let queue = &mut self.queues[slot];
        queue.bytes -= size;
        self.bytes -= size;
        self.packets -= 1;
        if queue.waiting.is_empty() {
            let place = queue.place;
            self.occupied.swap_remove(place);
            if let Some(moved) = self.occupied.get(place) {
                self.queues[*moved as usize].place = place;
            }
        }
    }
    /// Returns the oldest entry of the queue `slot`. `None`: the queue is empty.
    #[inline]
    pub fn head(&self, slot: usize) -> Option<&I> {
        self.queues.get(slot)?.waiting.front()
    }
    /// Returns the newest entry of the queue `slot`. `None`: the queue is empty.
    #[inline]
    pub fn tail(&self, slot: usize) -> Option<&I> {
        self.queues.get(slot)?.waiting.back()
    }
    /// Returns the buffer bytes in the queue `slot`.
    #[inline]
    pub fn bytes_of(&self, slot: usize) -> u64 {
        self.queues.get(slot).map_or(0, |q| q.bytes)
    }
    /// Returns the number of packets in the queue `slot`.
    #[inline]
    pub fn packets_of(&self, slot: usize) -> u64 {
        self.queues.get(slot).map_or(0, |q| q.waiting.len() as u64)
    }
    /// Returns the backlog of the queue `slot`.
    #[inline]
    pub fn backlog_of(&self, slot: usize) -> Backlog {
        Backlog { packets: self.packets_of(slot), bytes: self.bytes_of(slot) }
    }
    /// Returns the backlog of all queues together.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes }
    }
    /// Returns the buffer bytes in all queues together.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the number of packets in all queues together.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets
    }
    /// Returns `true` if a limit of `site` is exceeded.
    #[inline]
    pub fn overflow(&self, site: &Site) -> bool {
        self.bytes > site.bytes || self.packets > site.packets
    }
    /// Returns the indices of the queues that are not empty, in no particular order, which is the same in each run.
    pub fn occupied(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.occupied.iter().map(|slot| *slot as usize)
    }
    /// Returns the index of the queue with the most bytes, `grown` if it is as long as any other. `grown` must be the
    /// index of a queue that has been used.
    pub fn longest(&self, grown: usize) -> usize {
        let mut longest = grown;
        for slot in self.occupied() {
            if self.queues[slot].bytes > self.queues[longest].bytes {
                longest = slot;
            }
        }
        longest
    }
    /// Returns the lowest index of the queues with the most bytes. `None`: all queues are empty.
    pub fn first_longest(&self) -> Option<usize> {
        self.occupied().max_by_key(|slot| (self.queues[*slot].bytes, std::cmp::Reverse(*slot)))
    }
    /// Visits each waiting packet.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queues.iter().flat_map(|q| &q.waiting).for_each(|item| f(item.packet()));
    }
    /// Removes and returns all entries, queue by queue, each in order of arrival.
    pub fn drain(&mut self) -> Vec<I> {
        let all = self.queues.iter_mut().flat_map(|q| q.waiting.drain(..)).collect();
        *self = Fifos::default();
        all
    }
    /// Returns the size of the queues' state in bytes, without the packets.
    pub fn state_bytes(&self) -> usize {
        self.queues.len() * (QUEUE + INDEX) + self.occupied.len() * INDEX + bytes_of!(self; bytes, packets)
    }
}
