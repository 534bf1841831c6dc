//! Rules that decide about a packet once, when it arrives.
//!
//! A FIFO under such a rule loses nothing but what arrives, so a packet's departure is known when it has been let in.
//! Whoever keeps the packets, a discipline or a port that sends them ahead, asks the same rule.

use crate::discipline::red;
use crate::law::Backlog;
use crate::state::QUEUE;
use crate::{Packet, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::Time;

/// What lets packets into a FIFO and drops none later.
pub trait Admission {
    /// What becomes of a packet that arrives and finds `queue` waiting.
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate;
    /// What it wants to hear of.
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// What it watches for began at `now`, and no packet has arrived since.
    fn idle(&mut self, _now: Time) {}
    /// Shows the law's state for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// What it and its queue keep besides the waiting packets, as [`crate::Qdisc::state_bytes`].
    fn state_bytes(&self) -> usize;
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It joins the queue.
    Joins,
    /// It joins the queue, marked "congestion experienced".
    Marked,
    /// It is dropped.
    Dropped(Reason),
}

/// What a rule wants to hear of besides arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// Nothing waits any more: the transmission of the last packet has begun.
    Empty,
    /// Nothing waits and the transmitter is free; again after each packet that is dropped while it is.
    Idle,
}

/// A rule at work.
#[derive(Debug)]
pub enum Rule {
    /// Limits alone.
    Limits(Site),
    /// Random early detection.
    Red(red::Rule),
}

/// A rule at work inside a discipline.
#[derive(Debug)]
pub enum RuleMut<'a> {
    /// Limits alone.
    Limits(&'a mut Site),
    /// Random early detection.
    Red(&'a mut red::Rule),
}

impl Admission for RuleMut<'_> {
    #[inline]
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate {
        match self {
            RuleMut::Limits(site) => site.admit(now, packet, queue, rng),
            RuleMut::Red(rule) => rule.admit(now, packet, queue, rng),
        }
    }
    fn idle(&mut self, now: Time) {
        match self {
            RuleMut::Limits(_) => {}
            RuleMut::Red(rule) => rule.idle(now),
        }
    }
    fn state_bytes(&self) -> usize {
        match self {
            RuleMut::Limits(site) => site.state_bytes(),
            RuleMut::Red(rule) => rule.state_bytes(),
        }
    }
}

impl Spec {
    /// The rule that the discipline is, if it is one at `site`.
    pub fn rule(&self, site: &Site) -> Option<Rule> {
        match self {
            Spec::DropTail(params) => params.rule(site).map(Rule::Limits),
            Spec::Red(params) => params.rule(site).map(Rule::Red),
            _ => None,
        }
    }
}

impl Admission for Site {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &Packet, queue: Backlog, _rng: &mut Rng) -> Fate {
        if self.is_full(queue.packets, queue.bytes, packet.size) {
            return Fate::Dropped(Reason::BufferFull);
        }
        Fate::Joins
    }
    fn state_bytes(&self) -> usize {
        QUEUE
    }
}

impl Admission for Rule {
    #[inline]
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate {
        match self {
            Rule::Limits(site) => site.admit(now, packet, queue, rng),
            Rule::Red(rule) => rule.admit(now, packet, queue, rng),
        }
    }
    #[inline]
    fn watches(&self) -> Watch {
        match self {
            Rule::Limits(_) => Watch::Nothing,
            Rule::Red(rule) => rule.watches(),
        }
    }
    fn idle(&mut self, now: Time) {
        match self {
            Rule::Limits(_) => {}
            Rule::Red(rule) => rule.idle(now),
        }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Rule::Limits(_) => {}
            Rule::Red(rule) => rule.probe(f),
        }
    }
    fn state_bytes(&self) -> usize {
        match self {
            Rule::Limits(site) => site.state_bytes(),
            Rule::Red(rule) => rule.state_bytes(),
        }
    }
}
