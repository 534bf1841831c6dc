//! Fair queueing as in Linux's `fq`, for forwarded packets: deficit round robin with new flows first.

use super::drr::check_quantum;
use super::fair::{Buckets, ByFlow, Fifos, Key, Weights};
use crate::retune::{Fixed, Retune};
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_units::{Dur, Size, Time};

/// Fair queueing of flows as in the discipline `fq` of Linux (Dumazet, `net/sched/sch_fq.c`): deficit round robin with
/// a limit per flow; flows that have just become busy are served first. A flow starts with a larger credit and keeps
/// its credit when its queue runs empty; after `refill-delay` without packets the credit is raised to at least one
/// quantum.
///
/// Differs from Linux: flows are not paced, since forwarded packets have no socket; there is one band, as before
/// Linux 6.7; the state of idle flows is not discarded after 3 s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Number of queues, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one queue
    /// per flow. Default 1024.
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Buffer bytes per queue and round, 1 B to 1 GB. Default 3028 B, two full Ethernet frames.
    pub quantum: Size,
    /// Initial credit of a queue in buffer bytes, 1 B to 1 GB. Default 15140 B, ten full Ethernet
    /// frames.
    pub initial_quantum: Size,
    /// Limit of each queue in packets, 1 to 2^32 − 1. Default 100.
    pub flow_limit: u32,
    /// Time without packets after which the credit of a queue is raised to at least `quantum`, at
    /// most 24h. Default 40ms.
    pub refill_delay: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            buckets: Buckets::Hashed(1024),
            quantum: Size(2 * 1514),
            initial_quantum: Size(10 * 1514),
            flow_limit: 100,
            refill_delay: Dur::from_ms(40),
        }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Fq {
        Fq {
            key: ByFlow::new(self.buckets, &Weights::new()),
            fifos: Fifos::default(),
            seats: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            params: self.clone(),
            site: *site,
        }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        check_quantum(self.quantum)?;
        check_quantum(self.initial_quantum).map_err(|e| Invalid::new("initial-quantum", e.message))?;
        check::within("flow-limit", f64::from(self.flow_limit), 1.0, f64::from(u32::MAX))?;
        check::at_most_a_day("refill-delay", self.refill_delay)
    }
}

/// Credit of a queue, and its place in the lists.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Buffer bytes.
    credit: i64,
    /// `true` if the queue is in one of the lists.
    listed: bool,
    /// Time at which the queue was last removed from the lists.
    removed: Time,
}

/// Queues of flows in two lists. O(1) per packet.
#[derive(Debug)]
pub struct Fq {
    key: ByFlow,
    fifos: Fifos<Packet>,
    seats: Vec<Seat>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    params: Params,
    site: Site,
}

/// Limits each credit to the larger of the new `quantum` and `initial-quantum`.
impl Retune for Fq {
    fn adopt(&mut self, _now: Time, fresh: Fq) {
        (self.params, self.site) = (fresh.params, fresh.site);
        let most = self.params.quantum.max(self.params.initial_quantum).0 as i64;
        for seat in &mut self.seats {
            seat.credit = seat.credit.min(most);
        }
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for Fq {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if self.site.is_full(self.fifos.packets(), self.fifos.bytes(), packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        let slot = self.key.slot(&packet, cx.rng);
        if slot >= self.seats.len() {
            let first = Seat { credit: self.params.initial_quantum.0 as i64, listed: false, removed: now };
            self.seats.resize(slot + 1, first);
        }
        if self.fifos.packets_of(slot) >= u64::from(self.params.flow_limit) {
            return cx.drop(packet, Reason::BufferFull);
        }
        let seat = &mut self.seats[slot];
        if !seat.listed {
            seat.listed = true;
            if now > seat.removed + self.params.refill_delay {
                seat.credit = seat.credit.max(self.params.quantum.0 as i64);
            }
            self.new.push_back(slot as u32);
        }
        self.fifos.push(slot, packet);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let slot = *list.front()?;
            let seat = &mut self.seats[slot as usize];
            if seat.credit <= 0 {
                seat.credit += self.params.quantum.0 as i64;
                list.pop_front();
                self.old.push_back(slot);
                continue;
            }
            if let Some(head) = self.fifos.head(slot as usize) {
                if !gate.admits(head.class(), head.dst) {
                    return None;
                }
                let packet = self.fifos.pop_front(slot as usize)?;
                seat.credit -= i64::from(packet.size);
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // An empty queue passes once through the old list, so that it cannot return to the
                // new list at once.
                self.old.push_back(slot);
            } else {
                seat.listed = false;
                seat.removed = now;
            }
        }
    }
    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
        f("new_flows", self.new.len() as f64);
    }
    fn state_bytes(&self) -> usize {
        let seats: usize = self.seats.iter().map(|seat| bytes_of!(seat; credit, listed, removed)).sum();
        self.key.state_bytes() + self.fifos.state_bytes() + seats + (self.new.len() + self.old.len()) * INDEX
    }
}
