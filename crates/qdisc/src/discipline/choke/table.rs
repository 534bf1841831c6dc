//! The table of Linux's CHOKe, in which a packet that a comparison drops leaves a hole.

use crate::{Packet, Site};
use std::collections::VecDeque;
use tailback_random::Rng;

/// Number of places that Linux draws before it takes the oldest packet (`choke_peek_random`).
const DRAWS: u32 = 3;

/// The packets of Linux's CHOKe (`struct choke_sched_data` of `net/sched/sch_choke.c`): a ring of places from the oldest
/// packet to the newest one. Places whose packet a comparison has dropped stay empty until the oldest packet has passed
/// them.
///
/// The limit of the queue counts packets, but the ring has room for packets and holes: the power of two above the limit.
/// When they fill it, its end meets its beginning, and the kernel takes it for empty. It never sends the packets in it, and
/// counts them in the length of the queue for ever: the average then stays at or above their number.
#[derive(Debug)]
pub(super) struct Table {
    /// Places from the oldest packet on; the first has a packet.
    places: VecDeque<Option<Packet>>,
    /// Number of places of the ring.
    size: u64,
    /// Packets that wait for ever, since the ring was taken for empty.
    stuck: Vec<Packet>,
    packets: u64,
    bytes: u64,
}

impl Table {
    /// Returns an empty table for a queue with the limits of `site` (`choke_change`).
    pub fn new(site: &Site) -> Table {
        let size = site.packets.checked_add(1).and_then(u64::checked_next_power_of_two).unwrap_or(u64::MAX);
        Table { places: VecDeque::new(), size, stuck: Vec::new(), packets: 0, bytes: 0 }
    }
    /// Returns the number of waiting packets, with those that are stuck.
    pub fn packets(&self) -> u64 {
        self.packets
    }
    /// Returns the bytes of the waiting packets, with those that are stuck.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the number of packets that wait for ever.
    pub fn stuck(&self) -> u64 {
        self.stuck.len() as u64
    }
    /// Visits each waiting packet.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.stuck.iter().chain(self.places.iter().flatten()).for_each(f);
    }
    /// Appends a packet. All packets are stuck if this fills the ring.
    pub fn push(&mut self, packet: Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.places.push_back(Some(packet));
        if self.places.len() as u64 >= self.size {
            self.stuck.extend(self.places.drain(..).flatten());
        }
    }
    /// Returns the oldest packet that is not stuck.
    pub fn head(&self) -> Option<&Packet> {
        self.places.front()?.as_ref()
    }
    /// Removes and returns the oldest packet that is not stuck.
    pub fn pop(&mut self) -> Option<Packet> {
        self.take(0)
    }
    /// Draws a place, up to three times until it has a packet; the oldest packet is taken if no place had one. Returns the
    /// packet's place, or `None` if there is no packet that is not stuck.
    pub fn draw(&self, rng: &mut Rng) -> Option<usize> {
        let count = self.places.len() as u64;
        if count == 0 {
            return None;
        }
        let mut drawn = (0..DRAWS).map(|_| rng.below(count) as usize);
        Some(drawn.find(|place| self.places[*place].is_some()).unwrap_or(0))
    }
    /// Returns the packet at a place.
    pub fn at(&self, place: usize) -> Option<&Packet> {
        self.places.get(place)?.as_ref()
    }
    /// Removes and returns the packet at a place, which becomes a hole (`choke_drop_by_idx`).
    pub fn take(&mut self, place: usize) -> Option<Packet> {
        let packet = self.places.get_mut(place)?.take()?;
        while self.places.front().is_some_and(Option::is_none) {
            self.places.pop_front();
        }
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }
    /// Adopts new limits: if the ring has another size with them, its packets move to the beginning of a new one
    /// (`choke_change`). Unlike in the kernel the new one has room for all of them.
    pub fn resize(&mut self, site: &Site) {
        let size = Table::new(site).size;
        if size != self.size {
            self.places.retain(Option::is_some);
            let room = (self.places.len() as u64 + 1).next_power_of_two();
            self.size = size.max(room);
        }
    }
}
