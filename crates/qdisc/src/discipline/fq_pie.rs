//! FQ-PIE: each flow's queue under PIE, new flows first.

use super::drr::{check_quantum, default_quantum};
use super::fair::{Buckets, ByFlow, Fifos, Key, NewOld, Weights};
use crate::law::pie::{self, Pie};
use crate::law::{Arrival, ArrivalLaw, Form};
use crate::retune::{Fixed, Retune};
use crate::signals::{Signals, Threshold};
use crate::state::bytes_of;
use crate::{Cx, Fate, Gate, Packet, Qdisc, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tailback_document::Invalid;
use tailback_units::{Size, Time};

/// Flow-queue PIE (Ramakrishnan et al., LCN 2019; Linux's `sch_fq_pie`): flows are assigned to
/// queues by a hash, each with its own PIE. Deficit round robin serves the queues; queues that have
/// just become busy are served first. Arriving packets are dropped if the limit of all queues
/// together would be exceeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Number of queues, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one queue
    /// per flow. Default 1024.
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Wire bytes per queue and round, 1 B to 1 GB. Default 1514 B.
    pub quantum: Size,
    /// PIE of each queue. Default: the defaults of the discipline `pie`.
    pub pie: pie::Params,
    /// "published": the lists of RFC 8290; "linux": those of Linux 6.1 (`net/sched/sch_fq_pie.c`), in which a new queue that
    /// runs empty leaves the lists if there are no old ones, and PIE has its form "linux". Default "published".
    pub form: Form,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            buckets: Buckets::Hashed(1024),
            quantum: default_quantum(),
            pie: pie::Params::default(),
            form: Form::Published,
        }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> FqPie {
        FqPie {
            key: ByFlow::new(self.buckets, &Weights::new()),
            fifos: Fifos::default(),
            laws: Vec::new(),
            lists: NewOld::new(self.quantum.0),
            params: Arc::new(self.law()),
            due: Time::ZERO + self.pie.update,
            form: self.form,
            site: *site,
        }
    }
    /// Returns the parameters of PIE in the form of the discipline.
    fn law(&self) -> pie::Params {
        pie::Params { form: self.form.of_law(self.pie.form), ..self.pie.clone() }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        check_quantum(self.quantum)?;
        self.law().check().map_err(|e| e.within("pie"))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.pie.ecn
    }
    // No thresholds: a queue also waits for the others, so that the limit does not bound its delay.
    fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
}

/// Flow-queue PIE. O(1) per packet, and O(n) per update, with n the number of queues used so far.
#[derive(Debug)]
pub struct FqPie {
    key: ByFlow,
    fifos: Fifos<Packet>,
    laws: Vec<Pie>,
    lists: NewOld,
    /// Parameters of the laws of all queues.
    params: Arc<pie::Params>,
    /// Time of the next update of all probabilities.
    due: Time,
    form: Form,
    site: Site,
}

impl Retune for FqPie {
    fn adopt(&mut self, now: Time, fresh: FqPie) {
        (self.params, self.form, self.site) = (fresh.params, fresh.form, fresh.site);
        self.lists.adopt(now, fresh.lists);
        for law in &mut self.laws {
            law.adopt(now, Pie::sharing(self.params.clone()));
        }
        self.due = self.due.min(now + self.params.update);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for FqPie {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        if slot >= self.laws.len() {
            self.laws.resize_with(slot + 1, || Pie::sharing(self.params.clone()));
        }
        let full = self.site.is_full(self.fifos.packets(), self.fifos.bytes(), packet.size);
        let arrival = Arrival { now, packet: &packet, queue: self.fifos.backlog_of(slot), full };
        match self.laws[slot].judge(&arrival, cx.rng) {
            Fate::Joins => {}
            Fate::Marked => cx.mark(&mut packet),
            Fate::Dropped(why) => return cx.drop(packet, why),
        }
        self.fifos.push(slot, packet);
        self.lists.join(slot);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        loop {
            let slot = self.lists.current()?;
            let Some(head) = self.fifos.head(slot) else {
                self.lists.empty(self.form);
                continue;
            };
            if !gate.admits(head.class(), head.dst) {
                return None;
            }
            let (packet, backlog) = self.fifos.pop_and_count(slot)?;
            self.lists.sent(slot, packet.wire());
            self.laws[slot].depart(now, &packet, backlog);
            return Some(packet);
        }
    }
    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.due = now + self.params.update;
        for slot in 0..self.laws.len() {
            let backlog = self.fifos.backlog_of(slot);
            self.laws[slot].update(now, backlog);
        }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
        f("largest_probability", self.laws.iter().map(Pie::probability).fold(0.0, f64::max));
    }
    fn state_bytes(&self) -> usize {
        let laws: usize = self.laws.iter().map(ArrivalLaw::state_bytes).sum();
        self.key.state_bytes() + self.fifos.state_bytes() + self.lists.state_bytes() + laws + bytes_of!(self; due)
    }
}
