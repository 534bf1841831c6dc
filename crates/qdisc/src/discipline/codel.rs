//! A FIFO under controlled delay.

use crate::fifo::Fifo;
use crate::law::{codel, deliver};
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Site, Victim};
use tailback_units::Time;

pub use crate::law::codel::Params;

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Codel {
        Codel { queue: Fifo::new(site), law: codel::Codel::new(self) }
    }
}

/// A FIFO with limits under CoDel, which marks or drops packets at departure; arriving packets are dropped if the queue
/// is full.
#[derive(Debug)]
pub struct Codel {
    queue: Fifo,
    law: codel::Codel,
}

impl Retune for Codel {
    fn adopt(&mut self, now: Time, fresh: Codel) {
        self.queue.adopt(now, fresh.queue);
        self.law.adopt(now, fresh.law);
    }
}

impl Qdisc for Codel {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.queue.push_and_trim(packet, Victim::Tail, cx);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = deliver(&mut self.law, now, cx, || self.queue.pop_and_count(gate));
        // A queue whose head the gate stops is not empty.
        if packet.is_none() && self.queue.packets() == 0 {
            self.law.empty(now);
        }
        packet
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
