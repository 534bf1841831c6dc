//! A FIFO whose arriving packets a control law marks or drops.

use crate::fifo::Fifo;
use crate::law::{Arrival, ArrivalLaw, BuildLaw};
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Cx, Fate, Gate, Packet, Qdisc, Site, Watch};
use tailback_units::{Rate, Time};

/// A FIFO with limits under the law `L`, which decides about arriving packets.
#[derive(Debug)]
pub struct Managed<L> {
    queue: Fifo,
    law: L,
}

/// Builds the discipline of a law from its parameters.
pub trait Build: BuildLaw {
    /// Returns the FIFO at `site` under the law.
    fn build(&self, site: &Site) -> Managed<Self::Law> {
        Managed { queue: Fifo::new(site), law: self.law(site) }
    }
}

impl<P: BuildLaw> Build for P {}

impl<L: Retune> Retune for Managed<L> {
    fn adopt(&mut self, now: Time, fresh: Managed<L>) {
        self.queue.adopt(now, fresh.queue);
        self.law.adopt(now, fresh.law);
    }
}

impl<L: ArrivalLaw> Qdisc for Managed<L> {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Cx<'_>) {
        let full = self.queue.is_full(packet.size);
        let arrival = Arrival { now, packet: &packet, queue: self.queue.backlog(), full };
        match self.law.judge(&arrival, cx.rng) {
            Fate::Joins => {}
            Fate::Marked => cx.mark(&mut packet),
            Fate::Dropped(why) => return cx.drop(packet, why),
        }
        self.queue.push_and_trim(packet, self.law.victim(), cx);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        let left = self.queue.backlog();
        self.law.depart(now, &packet, left);
        if left.packets == 0 && self.law.watches() == Watch::Empty {
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
    fn next_wakeup(&self) -> Option<Time> {
        self.law.next_update()
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        if self.law.next_update().is_some_and(|due| due <= now) {
            self.law.update(now, self.queue.backlog());
        }
    }
    fn watches_idle(&self) -> bool {
        self.law.watches() == Watch::Idle
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
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
