//! A FIFO under random early detection.

use crate::fifo::Fifo;
use crate::law::Decision;
use crate::law::red::{self, Idle};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use tailback_units::{Rate, Time};

pub use crate::law::red::Params;

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Red {
        Red {
            queue: Fifo::new(site),
            law: red::Red::new(self, site.rate),
            ecn: self.ecn,
            victim: self.victim,
            idle_when_empty: self.idle == Idle::Original,
        }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
///
/// Differs from ns-2.35: the victim "head" is the oldest waiting packet, not the second oldest.
#[derive(Debug)]
pub struct Red {
    queue: Fifo,
    law: red::Red,
    ecn: bool,
    victim: Victim,
    /// Whether the link counts as idle once the queue is empty, rather than when it has sent all.
    idle_when_empty: bool,
}

impl Qdisc for Red {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Cx<'_>) {
        let decision = self.law.arrive(now, self.queue.backlog(), packet.size, cx.rng);
        let markable = self.ecn && packet.is_ect() && self.law.may_mark();
        if self.queue.is_full(packet.size) {
            self.law.forced();
            if decision == Decision::Early && markable && self.victim != Victim::Tail {
                cx.mark(&mut packet);
            }
            self.queue.push_and_trim(packet, self.victim, cx);
            return;
        }
        match decision {
            Decision::Pass => self.queue.push(packet),
            Decision::Early => {
                if let Some(packet) = cx.signal(packet, markable, Reason::Early) {
                    self.queue.push(packet);
                }
            }
            Decision::Forced => {
                self.queue.push(packet);
                if let Some(victim) = self.queue.remove(self.victim, cx.rng) {
                    cx.drop(victim, Reason::Early);
                }
            }
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        if self.idle_when_empty && self.queue.packets() == 0 {
            self.law.idle(now);
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn watches_idle(&self) -> bool {
        !self.idle_when_empty
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
}
