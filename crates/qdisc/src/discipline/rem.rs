//! A FIFO under random exponential marking.

use crate::fifo::Fifo;
use crate::law::{Decision, rem};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use tailback_units::{Rate, Time};

pub use crate::law::rem::Params;

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Rem {
        Rem { queue: Fifo::new(site), law: rem::Rem::new(self, site.rate), ecn: self.ecn }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
#[derive(Debug)]
pub struct Rem {
    queue: Fifo,
    law: rem::Rem,
    ecn: bool,
}

impl Qdisc for Rem {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.law.count(packet.size);
        if self.queue.is_full(packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        let packet = match self.law.choose(packet.size, cx.rng) {
            Decision::Pass => Some(packet),
            Decision::Early | Decision::Forced => cx.signal(packet, self.ecn, Reason::Early),
        };
        if let Some(packet) = packet {
            self.queue.push(packet);
        }
    }
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.pop(gate)
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
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
