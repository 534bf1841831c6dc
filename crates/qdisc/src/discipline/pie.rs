//! A FIFO under the proportional integral controller enhanced.

use crate::fifo::Fifo;
use crate::law::{Decision, pie};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use tailback_units::Time;

pub use crate::law::pie::Params;

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Pie {
        Pie { queue: Fifo::new(site), law: pie::Pie::new(self), ecn: self.ecn }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
#[derive(Debug)]
pub struct Pie {
    queue: Fifo,
    law: pie::Pie,
    ecn: bool,
}

impl Qdisc for Pie {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if self.queue.is_full(packet.size) {
            self.law.forced();
            return cx.drop(packet, Reason::BufferFull);
        }
        let packet = match self.law.arrive(self.queue.backlog(), packet.size, cx.rng) {
            Decision::Pass => Some(packet),
            Decision::Early | Decision::Forced => cx.signal(packet, self.ecn && self.law.may_mark(), Reason::Early),
        };
        if let Some(packet) = packet {
            self.queue.push(packet);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        self.law.depart(now, now.since(packet.at), packet.size, self.queue.backlog().bytes);
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        Some(self.law.next_update())
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        if now >= self.law.next_update() {
            self.law.update(now, self.queue.backlog());
        }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
