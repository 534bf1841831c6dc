//! Stochastic fairness queueing: flows are assigned by a hash to queues that take turns.

use super::drr::{check_quantum, default_quantum};
use super::fair::{Buckets, ByFlow, Fifos, Key, Round, Turns, Weights};
use crate::law::Form;
use crate::retune::{Fixed, Retune, fixed};
use crate::state::bytes_of;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Size, Time};

/// Choice of the packet that is dropped when the limit is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// A packet of the longest queue, when the limit is exceeded (McKenney).
    #[default]
    Longest,
    /// The arriving packet, if no part of the limit is free, if its queue holds at least half of the free part, or if
    /// the free part is below one packet per bucket and its queue exceeds an equal share of the limit (ns-2).
    Share,
}

/// Stochastic fairness queueing (McKenney, INFOCOM 1990): flows are assigned by a hash to buckets,
/// which take turns. Flows in one bucket share its turns until a new hash function is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Number of buckets, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one
    /// bucket per flow. Default 1024.
    #[serde(default = "default_buckets")]
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Wire bytes per bucket and round, 1 B to 1 GB. Default: one packet per bucket and round,
    /// whatever its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Interval at which a new hash function is drawn, above 0s; waiting packets move to their new
    /// buckets, so that no flow is reordered. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Dur>,
    /// Dropped packet: "longest", one of the longest queue when the limit is exceeded, or "share",
    /// the arriving packet when its queue exceeds its share of the limit, as in ns-2; "share"
    /// requires a number of `buckets`. Default "longest".
    #[serde(default)]
    pub overflow: Overflow,
    /// Packet of the longest queue that is dropped: "tail", the newest, "head", the oldest, or
    /// "random". Default "tail".
    #[serde(default)]
    pub victim: Victim,
    /// "published", or "linux": Linux 6.1 (`net/sched/sch_sfq.c`), in which a queue sends while its bytes per round last and
    /// owes the excess (`sfq_dequeue`), and the longest queue is that with the most packets, of equal ones the last that
    /// reached this length (`sfq_drop`). `quantum` is then 1514 B by default. Needs `overflow = "longest"`, and a `victim`
    /// other than "random". Default "published".
    #[serde(default, skip_serializing_if = "Form::is_published")]
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
}

/// Reason why `form` is fixed during a run.
const FORM_FIXED: &str = "a round is in progress";

fn default_buckets() -> Buckets {
    Buckets::Hashed(1024)
}

impl Default for Params {
    fn default() -> Params {
        Params {
            buckets: default_buckets(),
            quantum: None,
            perturb: None,
            overflow: Overflow::default(),
            victim: Victim::default(),
            form: Form::Published,
        }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Sfq {
        Sfq {
            params: self.clone(),
            key: ByFlow::new(self.buckets, &Weights::new()),
            fifos: Fifos::default(),
            round: Round::default(),
            turns: (self.form == Form::Linux).then(Box::default),
            next: self.perturb.map_or(Time::NEVER, |every| Time::ZERO + every),
            site: *site,
        }
    }
    /// Refuses parameters out of range, and shares without a number of buckets.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        self.quantum.map_or(Ok(()), check_quantum)?;
        if self.perturb == Some(Dur::ZERO) {
            return Err(Invalid::new("perturb", "0s is out of range; write a duration above 0s, such as \"10s\""));
        }
        if self.overflow == Overflow::Share && self.buckets == Buckets::PerFlow {
            return Err(Invalid::new(
                "overflow",
                "\"share\" needs a number of `buckets`; write that number, or \"longest\"",
            ));
        }
        let published = self.overflow == Overflow::Share || self.victim == Victim::Random;
        if self.form == Form::Linux && published {
            let message = "\"linux\" needs `overflow = \"longest\"`, and `victim` \"tail\" or \"head\"; write these, or `form = \"published\"`";
            return Err(Invalid::new("form", message));
        }
        Ok(())
    }
    /// Returns the wire bytes per queue and round in form "linux".
    fn allotment(&self) -> i64 {
        self.quantum.unwrap_or_else(default_quantum).0 as i64
    }
}

/// Stochastic fairness queueing. O(1) per packet; a packet that does not fit costs a search for the
/// longest of the non-empty queues, a new hash function a sort of all waiting packets.
#[derive(Debug)]
pub struct Sfq {
    params: Params,
    key: ByFlow,
    fifos: Fifos<Packet>,
    round: Round,
    /// Form "linux": turns instead of those of `round`.
    turns: Option<Box<Turns>>,
    /// Time at which the next hash function is drawn; [`Time::NEVER`]: the hash function stays.
    next: Time,
    site: Site,
}

impl Sfq {
    /// Draws a new hash function and moves the waiting packets to their new buckets, the oldest
    /// first.
    fn perturb(&mut self, now: Time, every: Dur, cx: &mut Cx<'_>) {
        // After several intervals without packets one draw suffices.
        let missed = now.since(self.next).0 / every.0;
        self.next += every * (missed + 1);
        self.key.salt_anew(cx.rng);
        let mut waiting = self.fifos.drain();
        // Stable: packets of a flow come from one queue and keep their order.
        waiting.sort_by_key(|packet| packet.at);
        self.round = Round::default();
        self.turns = self.turns.take().map(|_| Box::default());
        for packet in waiting {
            let slot = self.key.slot(&packet, cx.rng);
            self.push(slot, packet);
        }
    }
    /// Appends a packet to a queue, which joins the round if it was empty.
    fn push(&mut self, slot: usize, packet: Packet) {
        let first = self.fifos.push(slot, packet);
        match &mut self.turns {
            Some(turns) => turns.grew(slot, first, self.params.allotment()),
            None => self.round.join(slot),
        }
    }
    /// Drops packets of the longest queue until the limits hold.
    fn trim(&mut self, slot: usize, cx: &mut Cx<'_>) {
        let Some(turns) = &mut self.turns else {
            return self.fifos.trim(slot, self.params.victim, &self.site, cx);
        };
        while self.fifos.overflow(&self.site) {
            let Some(longest) = turns.longest(&self.fifos) else { return };
            let Some(packet) = self.fifos.remove(longest, self.params.victim, cx.rng) else { return };
            turns.shrank(longest, self.fifos.packets_of(longest) == 0);
            cx.drop(packet, Reason::BufferFull);
        }
    }
    /// Returns `true` if ns-2's rule (`sfq.cc`) drops the arriving packet. The rule counts in packets if there is a
    /// limit in packets, else in bytes, with the arriving packet's size as the unit.
    fn beyond_share(&self, slot: usize, size: u16) -> bool {
        let Buckets::Hashed(buckets) = self.params.buckets else { return false };
        let (limit, used, held, unit) = if self.site.packets < u64::MAX {
            (self.site.packets, self.fifos.packets(), self.fifos.packets_of(slot), 1)
        } else {
            (self.site.bytes, self.fifos.bytes(), self.fifos.bytes_of(slot), u64::from(size))
        };
        let (free, buckets) = (limit.saturating_sub(used), u64::from(buckets));
        held >= free / 2 || (free < buckets * unit && held > limit / buckets) || free == 0
    }
}

impl Sfq {
    /// Returns `true` if Linux has no queue left for a packet of bucket `slot`: it has at most as many as packets may wait
    /// (`maxflows` in `sfq_change`).
    fn lacks_queue(&self, slot: usize) -> bool {
        let used = self.fifos.occupied().len() as u64;
        self.turns.is_some() && used >= self.site.packets && self.fifos.packets_of(slot) == 0
    }
}

impl Retune for Sfq {
    fn adopt(&mut self, now: Time, fresh: Sfq) {
        (self.params, self.site) = (fresh.params, fresh.site);
        self.next = self.params.perturb.map_or(Time::NEVER, |every| self.next.min(now + every));
        let quantum = self.params.quantum.map(|q| q.0);
        self.round.limit_deficits(|_| quantum);
        if let Some(turns) = &mut self.turns {
            turns.limit(self.params.allotment());
        }
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("form", self.form, to.form, FORM_FIXED)?;
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for Sfq {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if let Some(every) = self.params.perturb.filter(|_| now >= self.next) {
            self.perturb(now, every, cx);
        }
        let slot = self.key.slot(&packet, cx.rng);
        let refused = match self.params.overflow {
            Overflow::Share => self.beyond_share(slot, packet.size),
            Overflow::Longest => self.lacks_queue(slot),
        };
        if refused {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        self.push(slot, packet);
        self.trim(slot, cx);
    }
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let (fifos, quantum) = (&self.fifos, self.params.quantum.map(|q| q.0));
        let slot = match &mut self.turns {
            Some(turns) => turns.next(self.params.allotment())?,
            None => self.round.next(|slot| Some(fifos.head(slot)?.wire()), |_| quantum)?,
        };
        let head = fifos.head(slot)?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = self.fifos.pop_front(slot)?;
        let more = self.fifos.packets_of(slot) > 0;
        match &mut self.turns {
            Some(turns) => turns.sent(packet.wire(), more),
            None => self.round.sent(packet.wire(), more, quantum.is_none()),
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
    }
    fn state_bytes(&self) -> usize {
        let perturbed = if self.params.perturb.is_some() { bytes_of!(self; next) } else { 0 };
        let turns = self.turns.as_ref().map_or_else(|| self.round.state_bytes(), |turns| turns.state_bytes());
        self.key.state_bytes() + self.fifos.state_bytes() + turns + perturbed
    }
}
