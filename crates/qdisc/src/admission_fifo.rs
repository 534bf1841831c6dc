//! Disciplines that are a FIFO behind an admission policy.

use crate::discipline::red;
use crate::fifo::Fifo;
use crate::law::Backlog;
use crate::retune::Retune;
use crate::state::QUEUE;
use crate::{Admission, Discipline, Fate, Packet, Site, Spec, Victim, Watch};
use tailback_random::Rng;
use tailback_units::Time;

/// State of an admission policy.
#[derive(Debug)]
pub enum Rule {
    /// Tail drop at the limits of the queue.
    Limits(Site),
    /// Random early detection.
    Red(red::Rule),
}

/// Mutable reference to the policy and the queue of a discipline that is a FIFO behind an admission policy.
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
    /// Returns the admission policy and its queue. `None`: this discipline drops waiting packets or is not
    /// a FIFO.
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
    /// Returns the admission policy of the discipline at `site`. `None`: the discipline is not a FIFO that drops only
    /// arriving packets.
    pub fn rule(&self, site: &Site) -> Option<Rule> {
        match self {
            Spec::DropTail(params) => params.rule(site).map(Rule::Limits),
            Spec::Red(params) => params.rule(site).map(Rule::Red),
            _ => None,
        }
    }
}

impl Rule {
    /// Replaces the parameters and the site, as [`Discipline::retune`] does. A `spec` with another policy, which
    /// [`Spec::check_retune`] refuses, changes nothing (debug builds panic).
    pub fn retune(&mut self, now: Time, spec: &Spec, site: &Site) {
        match (self, spec.rule(site)) {
            (Rule::Limits(limits), Some(Rule::Limits(fresh))) => *limits = fresh,
            (Rule::Red(rule), Some(Rule::Red(fresh))) => rule.adopt(now, fresh),
            _ => debug_assert!(false, "the policies differ"),
        }
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
