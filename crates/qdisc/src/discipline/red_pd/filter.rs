//! RED with a filter for monitored flows in front of it.

use super::monitor::Monitor;
use super::params::Params;
use crate::discipline::fair::{Buckets, ByFlow, Key, Weights};
use crate::law::red::Red;
use crate::law::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision};
use crate::retune::Retune;
use crate::{Fate, Reason, Site, Watch};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// RED with a filter for monitored flows, at one queue. O(1) per packet; each interval costs O(n log n) for n flows
/// with drops in it, plus O(m) for m flows seen so far.
#[derive(Debug)]
pub struct RedPd {
    key: ByFlow,
    law: Red,
    monitor: Monitor,
    ecn: bool,
    watches: Watch,
}

impl BuildLaw for Params {
    type Law = RedPd;
    fn law(&self, site: &Site) -> RedPd {
        RedPd {
            key: ByFlow::new(Buckets::PerFlow, &Weights::new()),
            law: Red::new(&self.red, site.rate),
            monitor: Monitor::new(self),
            ecn: self.red.ecn,
            watches: self.red.idle.watch(),
        }
    }
}

impl Retune for RedPd {
    fn adopt(&mut self, now: Time, fresh: RedPd) {
        self.law.adopt(now, fresh.law);
        self.monitor.adopt(now, fresh.monitor);
        (self.ecn, self.watches) = (fresh.ecn, fresh.watches);
    }
}

impl ArrivalLaw for RedPd {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let (slot, size) = (self.key.slot(arrival.packet, rng), arrival.packet.size);
        // So that the filter does not idle the link, it drops only if more than one packet waits and the average is at
        // least `min`.
        let busy = self.law.average() >= self.law.thresholds().0 && arrival.queue.packets > 1;
        if self.monitor.filters(slot, busy, rng) {
            return Fate::Dropped(Reason::Unresponsive);
        }
        self.monitor.arrive(size);
        let decision = self.law.arrive(arrival.now, arrival.queue, size, rng);
        if arrival.full {
            self.law.forced();
            self.monitor.drop(slot, size);
            return Fate::Dropped(Reason::BufferFull);
        }
        if decision != Decision::Pass {
            self.monitor.drop(slot, size);
        }
        arrival.fate(decision, self.ecn && self.law.may_mark())
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.monitor.due())
    }
    fn update(&mut self, now: Time, _queue: Backlog) {
        self.monitor.judge(now);
    }
    fn watches(&self) -> Watch {
        self.watches
    }
    fn idle(&mut self, now: Time) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
        self.monitor.probe(f);
    }
    fn state_bytes(&self) -> usize {
        self.law.state_bytes() + self.key.state_bytes() + self.monitor.state_bytes()
    }
}
