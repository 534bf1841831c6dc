//! Drop-tail with one virtual queue per destination, so that a stopped destination does not block
//! the others.
//!
//! Among the destinations that the gate admits, the oldest head is served first: without back-pressure this is a FIFO,
//! and no flow is ever reordered.

use crate::state::{INDEX, QUEUE, bytes_of};
use crate::{Cx, Gate, Packet, Qdisc, Reason};
use std::collections::VecDeque;
use tailback_units::Time;

/// Virtual queues by destination, with one common limit or, if partitioned, one limit for each destination.
#[derive(Debug)]
pub struct ByDestination {
    /// Virtual queue of each destination seen so far, in order of first appearance.
    queues: Vec<Virtual>,
    /// Index in `queues` of each destination's virtual queue; [`NONE`]: no packet to it has arrived yet.
    index_of: Vec<u32>,
    /// Indices of the virtual queues with packets, in no order.
    active: Vec<u32>,
    /// Number of arrivals so far; a packet with a smaller arrival number is older.
    arrivals: u64,
    /// Buffer bytes in all virtual queues.
    bytes: u64,
    packets: u64,
    /// Limit in buffer bytes, in total or, with `partition`, for each destination.
    limit: u64,
    partition: bool,
}

#[derive(Debug)]
struct Virtual {
    destination: u16,
    bytes: u64,
    /// Packets with their arrival numbers.
    waiting: VecDeque<(u64, Packet)>,
}

/// Index of a destination without a virtual queue.
const NONE: u32 = u32::MAX;

impl ByDestination {
    /// Returns empty queues with a limit of `limit` buffer bytes in total or, if `partition`, for
    /// each destination.
    pub fn new(limit: u64, partition: bool) -> ByDestination {
        ByDestination {
            queues: Vec::new(),
            index_of: Vec::new(),
            active: Vec::new(),
            arrivals: 0,
            bytes: 0,
            packets: 0,
            limit,
            partition,
        }
    }
    /// Replaces the limit, buffer bytes; waiting packets are kept.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }
    /// Returns the buffer bytes waiting for `destination`.
    pub fn bytes_to(&self, destination: u16) -> u64 {
        let at = self.index_of.get(usize::from(destination)).copied().unwrap_or(NONE);
        self.queues.get(at as usize).map_or(0, |q| q.bytes)
    }
    /// Returns the index of a destination's queue, which it creates at first use.
    fn queue_of(&mut self, destination: u16) -> u32 {
        let index = usize::from(destination);
        if index >= self.index_of.len() {
            self.index_of.resize(index + 1, NONE);
        }
        if self.index_of[index] == NONE {
            self.index_of[index] = self.queues.len() as u32;
            self.queues.push(Virtual { destination, bytes: 0, waiting: VecDeque::new() });
        }
        self.index_of[index]
    }
    /// Returns the number of packets waiting for destinations that `gate` does not stop individually. A queue counts
    /// with all of its packets if its head may pass.
    pub fn packets_not_selected(&self, gate: &Gate) -> u64 {
        let passes = |q: &&Virtual| {
            q.waiting.front().is_some_and(|(_, head)| gate.admits_destination(head.class(), q.destination))
        };
        let queues = self.active.iter().map(|at| &self.queues[*at as usize]);
        queues.filter(passes).map(|q| q.waiting.len() as u64).sum()
    }
    /// Returns `true` if the limit holds for each destination.
    pub fn is_partitioned(&self) -> bool {
        self.partition
    }
    /// Returns the destinations of the waiting packets, in order of their first appearance.
    pub fn destinations(&self) -> impl Iterator<Item = u16> + '_ {
        self.queues.iter().filter(|q| !q.waiting.is_empty()).map(|q| q.destination)
    }
}

impl Qdisc for ByDestination {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let size = u64::from(packet.size);
        let at = self.queue_of(packet.dst);
        let queue = &mut self.queues[at as usize];
        if (if self.partition { queue.bytes } else { self.bytes }) + size > self.limit {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        queue.bytes += size;
        self.bytes += size;
        self.packets += 1;
        if queue.waiting.is_empty() {
            self.active.push(at);
        }
        queue.waiting.push_back((self.arrivals, packet));
        self.arrivals += 1;
    }

    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        // A scan suffices: few destinations of a port have packets waiting at a time.
        let head = |at: &u32| self.queues[*at as usize].waiting.front();
        let oldest = (0..self.active.len())
            .filter_map(|place| {
                let (age, head) = head(&self.active[place])?;
                gate.admits(head.class(), head.dst).then_some((*age, place))
            })
            .min()?
            .1;
        let queue = &mut self.queues[self.active[oldest] as usize];
        let (_, packet) = queue.waiting.pop_front()?;
        if queue.waiting.is_empty() {
            self.active.swap_remove(oldest);
        }
        let size = u64::from(packet.size);
        queue.bytes -= size;
        self.bytes -= size;
        self.packets -= 1;
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queues.iter().flat_map(|q| &q.waiting).for_each(|(_, packet)| f(packet));
    }
    fn state_bytes(&self) -> usize {
        let queues = self.queues.len() * (QUEUE + size_of::<u16>());
        queues + (self.index_of.len() + self.active.len()) * INDEX + bytes_of!(self; arrivals, bytes, packets)
    }
}
