//! A FIFO under stochastic fair Blue.

use crate::fifo::Fifo;
use crate::law::sfb::{self, Ticket, Verdict};
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use std::collections::VecDeque;
use tailback_units::Time;

pub use crate::law::sfb::Params;

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Sfb {
        Sfb { queue: Fifo::new(site), tickets: VecDeque::new(), law: sfb::Sfb::new(self), ecn: self.ecn }
    }
}

/// A FIFO with limits under stochastic fair Blue.
///
/// Cost per packet: one hash and one access to a bin per level, twice at its arrival and once at its departure. Memory:
/// 40 bytes per bin (32 of them variables), 16 bytes per waiting packet, and one bit per flow for time series.
#[derive(Debug)]
pub struct Sfb {
    queue: Fifo,
    /// Tickets of the waiting packets, in the same order.
    tickets: VecDeque<Ticket>,
    law: sfb::Sfb,
    ecn: bool,
}

impl Sfb {
    /// Returns the law with its bins.
    pub fn law(&self) -> &sfb::Sfb {
        &self.law
    }
}

impl Retune for Sfb {
    fn adopt(&mut self, now: Time, fresh: Sfb) {
        self.queue.adopt(now, fresh.queue);
        self.law.adopt(now, fresh.law);
        self.ecn = fresh.ecn;
    }
}

impl Qdisc for Sfb {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let full = self.queue.is_full(packet.size);
        if full && !self.law.hears_of_overflow() {
            return cx.drop(packet, Reason::BufferFull);
        }
        let (signal, ticket) = match self.law.arrive(now, packet.flow(), cx.rng) {
            Verdict::Pass(ticket) => (false, ticket),
            Verdict::Signal(ticket) => (true, ticket),
            Verdict::Drop => return cx.drop(packet, Reason::Early),
            Verdict::Boxed => return cx.drop(packet, Reason::Unresponsive),
        };
        if full {
            return cx.drop(packet, Reason::BufferFull);
        }
        let packet = if signal { cx.signal(packet, self.ecn, Reason::Early) } else { Some(packet) };
        if let Some(packet) = packet {
            self.law.accept(packet.flow(), ticket);
            self.tickets.push_back(ticket);
            self.queue.push(packet);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        let ticket = self.tickets.pop_front().unwrap_or_default();
        self.law.depart(now, packet.flow(), ticket);
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
