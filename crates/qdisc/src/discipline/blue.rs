//! A FIFO under Blue.

use crate::fifo::Fifo;
use crate::law::{Decision, blue};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use tailback_units::{Amount, Time};

pub use crate::law::blue::Params;

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Blue {
        Blue {
            queue: Fifo::new(site),
            law: blue::Blue::new(self),
            ecn: self.ecn,
            victim: self.victim(),
            threshold: self.threshold,
        }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
///
/// The authors' program for ns keeps one packet less than its limit; this one fills it.
#[derive(Debug)]
pub struct Blue {
    queue: Fifo,
    law: blue::Blue,
    ecn: bool,
    victim: Victim,
    threshold: Option<Amount>,
}

impl Blue {
    fn is_above_threshold(&self) -> bool {
        let queue = self.queue.backlog();
        self.threshold.is_some_and(|threshold| match threshold {
            Amount::Bytes(bytes) => queue.bytes > bytes,
            Amount::Millipackets(thousandths) => queue.packets.saturating_mul(1000) > thousandths,
        })
    }
}

impl Qdisc for Blue {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Cx<'_>) {
        let full = self.queue.is_full(packet.size);
        if self.law.arrive(now, self.queue.backlog(), cx.rng) == Decision::Early {
            if !(self.ecn && packet.is_ect()) {
                cx.drop(packet, Reason::Early);
                return;
            }
            if !(full && self.victim == Victim::Tail) {
                cx.mark(&mut packet);
            }
        }
        self.queue.push_and_trim(packet, self.victim, cx);
        if full || self.is_above_threshold() {
            self.law.overflow(now);
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
        self.law.next_update()
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.update(now);
    }
    fn watches_idle(&self) -> bool {
        true
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.idle(now);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
