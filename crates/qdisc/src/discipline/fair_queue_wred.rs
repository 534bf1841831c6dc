//! Weighted random early detection in front of a fair queue of flows.

use super::fair_queue;
use crate::law::wred;
use crate::law::{Backlog, Decision};
use crate::retune::{Fixed, Retune};
use crate::signals::{Signals, Threshold};
use crate::{Colour, Cx, Gate, Packet, Qdisc, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// Weighted random early detection and a fair queue in one class: the average queue of the class and the profile of an
/// arriving packet's code point, precedence or colour give the probability of a mark or drop. A packet that is not
/// dropped joins the queue of its flow, with that queue's limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Early detection, as in the discipline `wred`; its `average` must be "queue".
    #[serde(default)]
    pub wred: wred::Params,
    /// Queues of the flows, as in the discipline `fair-queue`.
    #[serde(default)]
    pub fair_queue: fair_queue::Params,
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> FairQueueWred {
        FairQueueWred {
            law: self.wred.wred(&self.wred.complete(), site),
            by: self.wred.by,
            nonconforming: self.wred.nonconforming_index(),
            ecn: self.wred.ecn,
            queues: self.fair_queue.build(site),
        }
    }
    /// Refuses invalid parameters of `wred` and of `fair-queue`, and averages per profile.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.wred.check().map_err(|e| e.within("wred"))?;
        self.fair_queue.check().map_err(|e| e.within("fair-queue"))?;
        if self.wred.average == wred::Averaged::Profile {
            return Err(Invalid::new("wred.average", "all flows have one average here; write \"queue\""));
        }
        Ok(())
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.wred.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let mut within = |inner: &str, mut threshold: Threshold| {
            threshold.path = format!("{inner}.{}", threshold.path);
            f(threshold);
        };
        self.wred.each_threshold(site, &mut |threshold| within("wred", threshold));
        self.fair_queue.each_threshold(site, &mut |threshold| within("fair-queue", threshold));
    }
}

/// A fair queue whose arriving packets are marked or dropped by WRED. O(log n) per packet for n flows with packets.
#[derive(Debug)]
pub struct FairQueueWred {
    law: wred::Wred,
    by: wred::By,
    /// Index of the profile of nonconforming packets. `None`: they have the profile of their
    /// field's value.
    nonconforming: Option<usize>,
    ecn: bool,
    queues: fair_queue::FairQueue,
}

impl Retune for FairQueueWred {
    fn adopt(&mut self, now: Time, fresh: FairQueueWred) {
        self.law.adopt(now, fresh.law);
        self.ecn = fresh.ecn;
        self.queues.adopt(now, fresh.queues);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.wred.check_retune(&to.wred).map_err(|e| e.within("wred"))?;
        self.fair_queue.check_retune(&to.fair_queue).map_err(|e| e.within("fair-queue"))
    }
}

impl Qdisc for FairQueueWred {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let profile = match self.nonconforming {
            Some(profile) if packet.colour() != Colour::Green => profile,
            _ => self.by.of(&packet),
        };
        let backlog = Backlog { packets: self.queues.packets(), bytes: 0 };
        let packet = match self.law.arrive(now, profile, backlog, cx.rng) {
            Decision::Pass => Some(packet),
            Decision::Early => cx.signal(packet, self.ecn, Reason::Early),
            Decision::Forced => {
                cx.drop(packet, Reason::Early);
                None
            }
        };
        if let Some(packet) = packet {
            self.queues.enqueue(now, packet, cx);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.queues.dequeue(now, gate, cx)
    }
    fn packets(&self) -> u64 {
        self.queues.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queues.visit(f);
    }
    fn watches_idle(&self) -> bool {
        true
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("average_packets", self.law.average());
        f("probability", self.law.probability());
        self.queues.probe(f);
    }
    fn state_bytes(&self) -> usize {
        self.law.state_bytes() + self.queues.state_bytes()
    }
}
