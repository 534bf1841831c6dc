//! A FIFO under random early detection.

use crate::fifo::Fifo;
use crate::law::red;
use crate::law::{Backlog, Decision};
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Admission, Cx, Fate, Gate, Packet, Qdisc, Reason, Site, Victim, Watch};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

pub use crate::law::red::Params;

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Red {
        Red { queue: Fifo::new(site), rule: self.judge(site), victim: self.victim }
    }
    /// Returns the admission policy. `None`: the victim may be a waiting packet.
    pub fn rule(&self, site: &Site) -> Option<Rule> {
        (self.victim == Victim::Tail).then(|| self.judge(site))
    }
    fn judge(&self, site: &Site) -> Rule {
        Rule {
            law: red::Red::new(self, site.rate),
            site: *site,
            ecn: self.ecn,
            watch: self.idle.watch(),
            tail: self.victim == Victim::Tail,
        }
    }
}

/// Admission policy of RED: the law, and the limits of the queue.
#[derive(Debug)]
#[repr(C)]
pub struct Rule {
    /// `true` if only arriving packets are dropped.
    pub(crate) tail: bool,
    ecn: bool,
    /// Event with which idle time begins.
    watch: Watch,
    site: Site,
    law: red::Red,
}

/// The decision about an arriving packet.
enum Verdict {
    Pass,
    Mark,
    Drop,
    /// The packet joins the queue, and the victim is dropped. With the victim "tail", the packet itself is dropped.
    Forced,
    /// The queue is full; `marked`: the law would have marked the packet.
    Full {
        marked: bool,
    },
}

impl Rule {
    #[inline]
    fn judge(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Verdict {
        let decision = self.law.arrive(now, queue, packet.size, rng);
        let early = decision == Decision::Early;
        let mark = early && self.ecn && packet.is_ect() && self.law.may_mark();
        if self.site.is_full(queue.packets, queue.bytes, packet.size) {
            self.law.forced();
            return Verdict::Full { marked: mark };
        }
        match decision {
            Decision::Pass => Verdict::Pass,
            Decision::Early if mark => Verdict::Mark,
            Decision::Early => Verdict::Drop,
            Decision::Forced => Verdict::Forced,
        }
    }
}

impl Retune for Rule {
    fn adopt(&mut self, now: Time, fresh: Rule) {
        self.law.adopt(now, fresh.law);
        (self.site, self.ecn, self.watch) = (fresh.site, fresh.ecn, fresh.watch);
    }
}

impl Admission for Rule {
    #[inline]
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate {
        match self.judge(now, packet, queue, rng) {
            Verdict::Pass => Fate::Joins,
            Verdict::Mark => Fate::Marked,
            Verdict::Drop | Verdict::Forced => Fate::Dropped(Reason::Early),
            Verdict::Full { .. } => Fate::Dropped(Reason::BufferFull),
        }
    }
    #[inline]
    fn watches(&self) -> Watch {
        self.watch
    }
    fn idle(&mut self, now: Time) {
        self.law.idle(now);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}

/// A FIFO with limits under RED.
///
/// Differs from ns-2.35: the victim "head" is the oldest waiting packet, not the second oldest.
#[derive(Debug)]
#[repr(C)]
pub struct Red {
    pub(crate) rule: Rule,
    pub(crate) queue: Fifo,
    victim: Victim,
}

impl Retune for Red {
    fn adopt(&mut self, now: Time, fresh: Red) {
        self.rule.adopt(now, fresh.rule);
        self.queue.adopt(now, fresh.queue);
        self.victim = fresh.victim;
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Cx<'_>) {
        let queue = self.queue.backlog();
        if self.victim == Victim::Tail {
            match self.rule.admit(now, &packet, queue, cx.rng) {
                Fate::Joins => self.queue.push(packet),
                Fate::Marked => {
                    cx.mark(&mut packet);
                    self.queue.push(packet);
                }
                Fate::Dropped(why) => cx.drop(packet, why),
            }
            return;
        }
        match self.rule.judge(now, &packet, queue, cx.rng) {
            Verdict::Pass => self.queue.push(packet),
            Verdict::Mark => {
                cx.mark(&mut packet);
                self.queue.push(packet);
            }
            Verdict::Drop => cx.drop(packet, Reason::Early),
            Verdict::Forced => {
                self.queue.push(packet);
                if let Some(victim) = self.queue.remove(self.victim, cx.rng) {
                    cx.drop(victim, Reason::Early);
                }
            }
            Verdict::Full { marked } => {
                if marked {
                    cx.mark(&mut packet);
                }
                self.queue.push_and_trim(packet, self.victim, cx);
            }
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        if self.rule.watches() == Watch::Empty && self.queue.packets() == 0 {
            self.rule.idle(now);
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
        self.rule.watches() == Watch::Idle
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.rule.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.rule.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.rule.probe(f);
    }
    fn state_bytes(&self) -> usize {
        self.rule.state_bytes()
    }
}
