//! RED-PD: flows that RED drops too regularly pass a filter in front of it.

mod monitor;

use super::fair::{Buckets, ByFlow, Key, Weights};
use crate::law::red::{self, Red};
use crate::law::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision};
use crate::signals::{Signals, Threshold, inside};
use crate::{Fate, Reason, Site, Victim, Watch, check};
use monitor::Monitor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// RED with preferential dropping: a flow that RED has dropped in most of the last intervals sends
/// more than a TCP with the target round-trip time would; a filter in front of RED then drops its
/// packets with a probability that grows until it does no longer (Mahajan, Floyd and Wetherall, ICNP
/// 2001; constants and order from ns-2.35). Marks count as drops. The paper's test for flows that do
/// not respond at all is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target round-trip time R, above 0s: flows that send more than a TCP with it are found. An
    /// interval is (needed/intervals)·R/√(1.5·drop rate) long, from 2·R to 10·R. Default 40ms.
    pub rtt: Dur,
    /// Intervals that are remembered, 1 to 100. Default 5.
    pub intervals: u32,
    /// Number of them in which a flow must have been dropped to be monitored, 1 to `intervals`. Default 3.
    pub needed: u32,
    /// Flows that are remembered of each interval, those with most bytes dropped. Default 50.
    pub flows: u32,
    /// Least time between two changes of a flow's probability. Default 400ms.
    pub hold: Dur,
    /// The law behind the filter; its `victim` is "tail". Default: that of the discipline `red`.
    pub red: red::Params,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            rtt: Dur::from_ms(40),
            intervals: 5,
            needed: 3,
            flows: 50,
            hold: Dur::from_ms(400),
            red: red::Params::default(),
        }
    }
}

impl Params {
    /// Refuses parameters out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("rtt", self.rtt)?;
        check::pause("hold", self.hold)?;
        check::within("intervals", f64::from(self.intervals), 1.0, 100.0)?;
        check::within("needed", f64::from(self.needed), 1.0, f64::from(self.intervals))?;
        check::within("flows", f64::from(self.flows), 1.0, 1e6)?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "here RED drops the packet that arrives; leave it out"));
        }
        self.red.check().map_err(|e| e.within("red"))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, site, f);
    }
}

/// RED with a filter for monitored flows, at one queue. O(1) per packet; each interval costs O(n log n)
/// for n flows dropped in it, and O(n) for those seen so far.
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

impl ArrivalLaw for RedPd {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let (slot, size) = (self.key.slot(arrival.packet, rng), arrival.packet.size);
        // The filter must not idle the link: it drops only if packets wait and the average is above the minimum.
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
