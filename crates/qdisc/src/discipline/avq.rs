//! A FIFO under the adaptive virtual queue.

use crate::fifo::Fifo;
use crate::law::{Decision, avq};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use tailback_units::{Rate, Time};

pub use crate::law::avq::Params;

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Avq {
        let places = site.packets as f64 * self.mean_packet.0 as f64;
        let buffer = f64::min(site.bytes as f64, places);
        Avq { queue: Fifo::new(site), law: avq::Avq::new(self, buffer, site.rate), ecn: self.ecn }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
#[derive(Debug)]
pub struct Avq {
    queue: Fifo,
    law: avq::Avq,
    ecn: bool,
}

impl Qdisc for Avq {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let (size, full) = (packet.size, self.queue.is_full(packet.size));
        let packet = match self.law.arrive(now, size) {
            Decision::Pass => Some(packet),
            Decision::Early | Decision::Forced => cx.signal(packet, self.ecn, Reason::Early),
        };
        let Some(packet) = packet else { return };
        self.law.accept(now, size);
        if full {
            cx.drop(packet, Reason::BufferFull);
        } else {
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
