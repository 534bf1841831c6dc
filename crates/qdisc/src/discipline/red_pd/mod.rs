//! RED-PD: flows that RED drops too regularly pass a filter in front of it.

mod monitor;

use super::fair::{Buckets, ByFlow, Key, Weights};
use crate::fifo::Fifo;
use crate::law::Decision;
use crate::law::red::{self, Idle, Red};
use crate::signals::{Signals, Threshold, inside};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim, check};
use monitor::Monitor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
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
    /// In how many of them a flow must have been dropped, 1 to `intervals`. Default 3.
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
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> RedPd {
        RedPd {
            key: ByFlow::new(Buckets::PerFlow, &Weights::new()),
            queue: Fifo::new(site),
            law: Red::new(&self.red, site.rate),
            monitor: Monitor::new(self),
            ecn: self.red.ecn,
            idle_when_empty: self.red.idle == Idle::Original,
        }
    }
    /// Everything in range.
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

/// A FIFO under RED with a filter for monitored flows. O(1) per packet; each interval costs O(n log n)
/// for n flows dropped in it, and O(n) for those seen so far.
#[derive(Debug)]
pub struct RedPd {
    key: ByFlow,
    queue: Fifo,
    law: Red,
    monitor: Monitor,
    ecn: bool,
    idle_when_empty: bool,
}

impl Qdisc for RedPd {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        // So that no capacity is lost: only with packets waiting, the average being above the minimum.
        let busy = self.law.average() >= self.law.thresholds().0 && self.queue.packets() > 1;
        if self.monitor.filters(slot, busy, cx.rng) {
            cx.drop(packet, Reason::Unresponsive);
            return;
        }
        let size = packet.size;
        self.monitor.arrive(size);
        let decision = self.law.arrive(now, self.queue.backlog(), size, cx.rng);
        if self.queue.is_full(size) {
            self.law.forced();
            self.monitor.drop(slot, size);
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let packet = if decision == Decision::Pass {
            packet
        } else {
            self.monitor.drop(slot, size);
            let markable = decision == Decision::Early && self.ecn && self.law.may_mark();
            let Some(packet) = cx.signal(packet, markable, Reason::Early) else { return };
            packet
        };
        self.queue.push(packet);
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
    fn next_wakeup(&self) -> Option<Time> {
        Some(self.monitor.due())
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        if now >= self.monitor.due() {
            self.monitor.judge(now);
        }
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
        self.monitor.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes() + self.key.state_bytes() + self.monitor.state_bytes()
    }
}
