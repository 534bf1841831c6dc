//! Admission policies: decisions about a packet made once, when it arrives.
//!
//! A FIFO behind such a policy drops only arrivals, so the departure of a packet is known when it is admitted. The policy is
//! the same whether the packets wait in a discipline ([`AdmissionFifo`]) or on the line of a port that transmits early.

use crate::discipline::red;
use crate::fifo::Fifo;
use crate::law::Backlog;
use crate::state::QUEUE;
use crate::{Discipline, Packet, Reason, Site, Spec, Victim};
use tailback_random::Rng;
use tailback_units::Time;

/// A policy that admits packets to a FIFO and drops none later.
pub trait Admission {
    /// Decides about a packet that arrives and finds `queue` waiting.
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate;
    /// The event that [`Admission::idle`] reports.
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// Notes the event of [`Admission::watches`], which began at `now`; no packet has arrived since.
    fn idle(&mut self, _now: Time) {}
    /// Reports state variables for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Size of its variables and its queue in bytes, as [`crate::Qdisc::state_bytes`] counts.
    fn state_bytes(&self) -> usize;
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet joins the queue.
    Joins,
    /// The packet joins the queue, marked "congestion experienced".
    Marked,
    /// The packet is dropped.
    Dropped(Reason),
}

/// The event, besides arrivals, that a policy or law watches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// No event.
    Nothing,
    /// The queue runs empty: the transmission of the last packet begins.
    Empty,
    /// The queue is empty and the transmitter is free; again after each packet that is dropped in this state.
    Idle,
}

/// An admission policy at work.
#[derive(Debug)]
pub enum Rule {
    /// Limits alone.
    Limits(Site),
    /// Random early detection.
    Red(red::Rule),
}

/// A discipline that is a FIFO behind an admission policy, borrowed: its policy and its queue.
#[derive(Debug)]
pub struct AdmissionFifo<'a>(Form<'a>);

#[derive(Debug)]
enum Form<'a> {
    Limits(&'a mut Fifo),
    Red(&'a mut red::Red),
}

impl AdmissionFifo<'_> {
    /// Appends an admitted packet to the queue without consulting the policy again.
    pub fn restore(&mut self, packet: Packet) {
        match &mut self.0 {
            Form::Limits(queue) => queue.push(packet),
            Form::Red(red) => red.queue.push(packet),
        }
    }
}

impl Admission for AdmissionFifo<'_> {
    #[inline]
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate {
        match &mut self.0 {
            Form::Limits(fifo) => fifo.limits_mut().admit(now, packet, queue, rng),
            Form::Red(red) => red.rule.admit(now, packet, queue, rng),
        }
    }
    fn idle(&mut self, now: Time) {
        match &mut self.0 {
            Form::Limits(_) => {}
            Form::Red(red) => red.rule.idle(now),
        }
    }
    fn state_bytes(&self) -> usize {
        match &self.0 {
            Form::Limits(_) => QUEUE,
            Form::Red(red) => red.rule.state_bytes(),
        }
    }
}

impl Discipline {
    /// The admission policy and its queue. `None`: this discipline drops waiting packets or is not a FIFO.
    #[inline]
    pub fn admission_fifo(&mut self) -> Option<AdmissionFifo<'_>> {
        match self {
            Discipline::DropTail(q) if q.victim == Victim::Tail => Some(AdmissionFifo(Form::Limits(&mut q.queue))),
            Discipline::Red(red) if red.rule.tail => Some(AdmissionFifo(Form::Red(red))),
            _ => None,
        }
    }
}

impl Spec {
    /// Returns the admission policy of the discipline at `site`. `None`: the discipline is not a FIFO that drops arrivals only.
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
