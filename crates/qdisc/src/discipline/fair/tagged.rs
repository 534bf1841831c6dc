//! Service by tags: each packet gets a start and a finish tag, and the packet with the smallest tag
//! is served first. The [`Clock`] defines the tags.

use super::{Fifos, Item, Key};
use crate::retune::Retune;
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use core::cmp::Ordering;
use core::fmt::Debug;
use std::collections::BTreeSet;
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// The tag by which packets are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The smallest start tag first.
    Start,
    /// The smallest finish tag first.
    Finish,
}

/// A virtual time, and its changes with arrivals and service. The implementation chooses the unit of the virtual time
/// and of the tags.
pub trait Clock: Debug {
    /// The tag by which packets are served.
    const ORDER: Order;
    /// `true` if [`Clock::idle`] must be called.
    const WATCHES_IDLE: bool = false;
    /// Advances the virtual time to `now`; called before every other method.
    fn advance(&mut self, _now: Time) {}
    /// Notes the first use of a queue of this weight.
    fn join(&mut self, _weight: f64) {}
    /// Returns the start tag of a packet that arrives now in a queue whose last packet has the finish tag `last` (0:
    /// there was no packet). `backlogged`: the queue is not empty.
    fn start(&self, last: f64, backlogged: bool) -> f64;
    /// Returns the finish tag minus the start tag of a packet of `bytes` wire bytes in a queue of this weight.
    fn span(&self, bytes: u16, weight: f64) -> f64 {
        f64::from(bytes) / weight
    }
    /// Notes that the last finish tag of the queue `slot` is now `finish`: a packet was added to
    /// it, or its last packet was dropped.
    fn stamped(&mut self, _slot: usize, _weight: f64, _finish: f64) {}
    /// Returns the largest start tag that may be served now. `smallest_start` is the smallest start tag of all head
    /// packets, or negative infinity if a head is eligible already.
    fn eligible(&mut self, _smallest_start: f64) -> f64 {
        f64::INFINITY
    }
    /// Notes that the transmission of a packet of the queue `slot` begins. `tags` are its start and finish tag, `bytes`
    /// its wire bytes.
    fn serve(&mut self, _slot: usize, _tags: (f64, f64), _bytes: u16) {}
    /// Notes that the link is idle.
    fn idle(&mut self) {}
    /// Notes that the link now has the rate `rate`.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Takes the parameters of `fresh`, and the new `weights` of the queues that have joined, in the order of joining.
    fn adopt(&mut self, _fresh: Self, _weights: &mut dyn Iterator<Item = f64>)
    where
        Self: Sized,
    {
    }
    /// Returns the size of the variables in bytes.
    fn state_bytes(&self) -> usize;
}

/// Work that a link has done, bytes. It is counted only while a packet of this discipline is
/// transmitted, so that the virtual time does not advance while the link is stopped or busy with
/// another class.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Time of the last call of [`Work::until`].
    at: Time,
    /// Bytes of the packet in transmission that are not yet sent.
    unsent: f64,
    /// Rate of the link in bytes per picosecond.
    bytes_per_ps: f64,
}

impl Work {
    /// Returns the state for a link of `rate` that has not sent anything yet.
    pub fn new(rate: Rate) -> Work {
        Work { at: Time::ZERO, unsent: 0.0, bytes_per_ps: rate.0 as f64 / 8e12 }
    }
    /// Returns the bytes sent since the last call.
    pub fn until(&mut self, now: Time) -> f64 {
        let done = (now.since(self.at).0 as f64 * self.bytes_per_ps).min(self.unsent);
        self.at = now;
        self.unsent -= done;
        done
    }
    /// Notes that the packet in transmission has been sent; returns its unsent bytes, which remain if it was sent faster
    /// than the rate says, or by rounding.
    pub fn end(&mut self) -> f64 {
        core::mem::take(&mut self.unsent)
    }
    /// Notes that the transmission of a packet of `bytes` wire bytes begins; returns the unsent bytes of the previous
    /// packet, which remain by rounding.
    pub fn begin(&mut self, bytes: u16) -> f64 {
        core::mem::replace(&mut self.unsent, f64::from(bytes))
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; at, unsent)
    }
    /// Takes the rate of `fresh`, as [`Work::set_rate`] does.
    pub fn adopt(&mut self, fresh: Work) {
        self.bytes_per_ps = fresh.bytes_per_ps;
    }
    /// Sets the link's rate, which applies from the last call of [`Work::until`] on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.bytes_per_ps = rate.0 as f64 / 8e12;
    }
}

/// Position of a packet in the order of tags; of equal tags the earlier arrival is first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank {
    tag: f64,
    arrival: u64,
    slot: u32,
}

impl Eq for Rank {}
impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        self.tag.total_cmp(&other.tag).then(self.arrival.cmp(&other.arrival))
    }
}
impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A packet with its tags and its arrival number.
#[derive(Debug)]
struct Stamped {
    packet: Packet,
    start: f64,
    finish: f64,
    arrival: u64,
}

impl Stamped {
    fn rank(&self, order: Order, slot: usize) -> Rank {
        let tag = if order == Order::Start { self.start } else { self.finish };
        Rank { tag, arrival: self.arrival, slot: slot as u32 }
    }
}

impl Item for Stamped {
    fn packet(&self) -> &Packet {
        &self.packet
    }
    fn into_packet(self) -> Packet {
        self.packet
    }
}

/// Queues assigned by `K`, served by the tags of `C`. O(log n) per packet for n non-empty queues; a
/// packet that does not fit costs O(n).
///
/// When the limit is exceeded, the packet with the largest finish tag is dropped, which is the last of its queue. The
/// last finish tag of that queue is set back to the start tag of the dropped packet (Demers, Keshav and Shenker 1990).
#[derive(Debug)]
pub struct Tagged<K, C> {
    key: K,
    clock: C,
    fifos: Fifos<Stamped>,
    /// Finish tag of the last packet of each queue. `None`: no packet has arrived yet.
    last: Vec<Option<f64>>,
    /// Head packets that are not yet eligible, by start tag.
    early: BTreeSet<Rank>,
    /// Head packets that may be served, by the tag of [`Clock::ORDER`].
    ready: BTreeSet<Rank>,
    /// Number of packets that have arrived.
    arrivals: u64,
    site: Site,
}

impl<K: Key, C: Clock> Tagged<K, C> {
    /// Returns empty queues at `site`.
    pub fn new(key: K, clock: C, site: &Site) -> Tagged<K, C> {
        Tagged {
            key,
            clock,
            fifos: Fifos::default(),
            last: Vec::new(),
            early: BTreeSet::new(),
            ready: BTreeSet::new(),
            arrivals: 0,
            site: *site,
        }
    }
    /// Returns the index of the packet's queue; `rng` is used only for the salt of a hash.
    pub fn slot(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        self.key.slot(packet, rng)
    }
    /// Returns the number of packets in the queue `slot`.
    pub fn packets_of(&self, slot: usize) -> u64 {
        self.fifos.packets_of(slot)
    }
    /// Returns the buffer bytes in all queues together.
    pub fn bytes(&self) -> u64 {
        self.fifos.bytes()
    }
    /// Enters the head packet of the queue `slot` into the order of service.
    fn show_head(&mut self, slot: usize) {
        if let Some(head) = self.fifos.head(slot) {
            self.early.insert(head.rank(Order::Start, slot));
        }
    }
    /// Drops the packet with the largest finish tag.
    fn make_room(&mut self, cx: &mut Cx<'_>) {
        let tail = |slot: &usize| self.fifos.tail(*slot).map(|s| s.rank(Order::Finish, *slot));
        let Some(slot) = self.fifos.occupied().max_by_key(tail) else { return };
        let Some(victim) = self.fifos.pop_back(slot) else { return };
        let weight = self.key.weight(slot);
        if self.fifos.packets_of(slot) == 0 {
            self.early.remove(&victim.rank(Order::Start, slot));
            self.ready.remove(&victim.rank(C::ORDER, slot));
        }
        self.last[slot] = Some(victim.start);
        self.clock.stamped(slot, weight, victim.start);
        cx.drop(victim.packet, Reason::BufferFull);
    }
    /// Moves the head packets that are eligible now from `early` to `ready`.
    fn promote(&mut self) {
        let Some(first) = self.early.first() else { return };
        // Heads in `ready` became eligible earlier: their start tags are at most the virtual time.
        let smallest_start = if self.ready.is_empty() { first.tag } else { f64::NEG_INFINITY };
        let bound = self.clock.eligible(smallest_start);
        while let Some(head) = self.early.first().copied().filter(|head| head.tag <= bound) {
            self.early.pop_first();
            let slot = head.slot as usize;
            if let Some(item) = self.fifos.head(slot) {
                self.ready.insert(item.rank(C::ORDER, slot));
            }
        }
    }
}

/// Waiting packets keep their tags, so that new weights apply to packets that arrive after the change.
impl<K: Key + Retune, C: Clock> Retune for Tagged<K, C> {
    fn adopt(&mut self, now: Time, fresh: Tagged<K, C>) {
        self.key.adopt(now, fresh.key);
        self.site = fresh.site;
        let joined = self.last.iter().enumerate().filter(|(_, last)| last.is_some());
        self.clock.adopt(fresh.clock, &mut joined.map(|(slot, _)| self.key.weight(slot)));
    }
}

impl<K: Key, C: Clock> Qdisc for Tagged<K, C> {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        let weight = self.key.weight(slot);
        if slot >= self.last.len() {
            self.last.resize(slot + 1, None);
        }
        if self.last[slot].is_none() {
            self.clock.join(weight);
        }
        self.clock.advance(now);
        let start = self.clock.start(self.last[slot].unwrap_or(0.0), self.fifos.packets_of(slot) > 0);
        let finish = start + self.clock.span(packet.wire(), weight);
        self.last[slot] = Some(finish);
        self.clock.stamped(slot, weight, finish);
        if self.fifos.push(slot, Stamped { packet, start, finish, arrival: self.arrivals }) {
            self.show_head(slot);
        }
        self.arrivals += 1;
        while self.fifos.overflow(&self.site) {
            self.make_room(cx);
        }
    }

    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.clock.advance(now);
        self.promote();
        let slot = self.ready.first()?.slot as usize;
        let head = self.fifos.head(slot)?.packet();
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        self.ready.pop_first();
        let Stamped { packet, start, finish, .. } = self.fifos.pop_front(slot)?;
        self.clock.serve(slot, (start, finish), packet.wire());
        self.show_head(slot);
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn watches_idle(&self) -> bool {
        C::WATCHES_IDLE
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.clock.advance(now);
        self.clock.idle();
    }
    fn set_rate(&mut self, rate: Rate) {
        self.clock.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
    }
    fn state_bytes(&self) -> usize {
        let rank = size_of::<f64>() + size_of::<u64>() + INDEX;
        let heads = (self.early.len() + self.ready.len()) * rank;
        let tables = size_of_val(self.last.as_slice()) + heads + bytes_of!(self; arrivals);
        self.key.state_bytes() + self.fifos.state_bytes() + self.clock.state_bytes() + tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of 1 B/us.
    #[test]
    fn work_is_that_of_the_packet_in_transmission_and_ends_with_it() {
        let us = |n: u64| Time(n * 1_000_000);
        let mut work = Work::new(Rate::mbit(8));
        assert_eq!(work.until(us(10)), 0.0);
        assert_eq!(work.begin(1000), 0.0);
        assert_eq!([work.until(us(410)), work.until(us(2_000)), work.until(us(3_000))], [400.0, 600.0, 0.0]);
        assert_eq!(work.begin(1000), 0.0);
        assert_eq!((work.until(us(3_300)), work.begin(500)), (300.0, 700.0));
        work.set_rate(Rate::mbit(16));
        assert_eq!((work.until(us(3_400)), work.end(), work.end()), (200.0, 300.0, 0.0));
    }
}
