//! A FIFO under COBALT.

use crate::fifo::Fifo;
use crate::law::{cobalt, deliver};
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Site, Victim};
use tailback_units::{Rate, Time};

pub use crate::law::cobalt::Params;

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Cobalt {
        Cobalt { queue: Fifo::new(site), law: cobalt::Cobalt::new(self, site.rate), victim: self.victim }
    }
}

/// A FIFO with limits under COBALT, which marks or drops packets at departure.
#[derive(Debug)]
pub struct Cobalt {
    queue: Fifo,
    law: cobalt::Cobalt,
    victim: Victim,
}

impl Retune for Cobalt {
    fn adopt(&mut self, now: Time, fresh: Cobalt) {
        self.queue.adopt(now, fresh.queue);
        self.law.adopt(now, fresh.law);
        self.victim = fresh.victim;
    }
}

impl Qdisc for Cobalt {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if self.queue.push_and_trim(packet, self.victim, cx) {
            self.law.overflow(now);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        deliver(&mut self.law, now, cx, || self.queue.pop_and_count(gate))
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn watches_idle(&self) -> bool {
        true
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.empty(now);
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
