//! Deficit round robin: flows take turns, each with a quantum of bytes.

use super::fair::{Buckets, ByFlow, Fifos, Key, Round, Weights, check_weights};
use crate::retune::{Fixed, Retune};
use crate::{Cx, Gate, Packet, Qdisc, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Size, Time};

/// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): each flow has a queue and may send a
/// quantum of bytes per round; the rest of a quantum, too small for the next packet, is added to
/// the flow's next quantum. If the common limit is exceeded, a packet of the longest queue is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Wire bytes per flow and round, 1 B to 1 GB, multiplied by the flow's weight. With a quantum
    /// below the largest packet, several rounds may pass per packet. Default "1514B".
    #[serde(default = "default_quantum")]
    pub quantum: Size,
    /// Number of queues, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one queue
    /// per flow. Default "per-flow".
    #[serde(default)]
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Weights by flow number, 1e-6 to 1e6, with `buckets = "per-flow"`. Default 1 for each flow.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
    /// Packet of the longest queue that is dropped: "tail", the newest, "head", the oldest, or
    /// "random". Default "tail".
    #[serde(default)]
    pub victim: Victim,
}

pub(super) fn default_quantum() -> Size {
    Size(1514)
}

/// Refuses a quantum of 0 or above 1 GB.
pub(super) fn check_quantum(quantum: Size) -> Result<(), Invalid> {
    if (1..=1_000_000_000).contains(&quantum.0) {
        return Ok(());
    }
    Err(Invalid::new("quantum", format!("{quantum} is out of range; write 1B to 1GB, such as \"1514B\"")))
}

impl Default for Params {
    fn default() -> Params {
        Params { quantum: default_quantum(), buckets: Buckets::PerFlow, weights: Weights::new(), victim: Victim::Tail }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Drr {
        let key = ByFlow::new(self.buckets, &self.weights);
        let round = Round::default();
        Drr { key, fifos: Fifos::default(), round, quantum: self.quantum.0, victim: self.victim, site: *site }
    }
    /// Refuses a quantum, buckets and weights out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check_quantum(self.quantum)?;
        self.buckets.check("buckets")?;
        check_weights(&self.weights, self.buckets)
    }
}

/// Deficit round robin over flows. O(1) per packet; a packet that does not fit costs a search for
/// the longest of the non-empty queues.
#[derive(Debug)]
pub struct Drr {
    key: ByFlow,
    fifos: Fifos<Packet>,
    round: Round,
    quantum: u64,
    victim: Victim,
    site: Site,
}

impl Retune for Drr {
    fn adopt(&mut self, now: Time, fresh: Drr) {
        self.key.adopt(now, fresh.key);
        (self.quantum, self.victim, self.site) = (fresh.quantum, fresh.victim, fresh.site);
        let (key, quantum) = (&self.key, self.quantum as f64);
        self.round.limit_deficits(|slot| Some((quantum * key.weight(slot)) as u64));
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for Drr {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        self.fifos.push(slot, packet);
        self.round.join(slot);
        self.fifos.trim(slot, self.victim, &self.site, cx);
    }
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let (fifos, key, quantum) = (&self.fifos, &self.key, self.quantum as f64);
        let slot =
            self.round.next(|slot| Some(fifos.head(slot)?.wire()), |slot| Some((quantum * key.weight(slot)) as u64))?;
        let head = fifos.head(slot)?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = self.fifos.pop_front(slot)?;
        self.round.sent(packet.wire(), self.fifos.packets_of(slot) > 0, false);
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
        self.key.state_bytes() + self.fifos.state_bytes() + self.round.state_bytes()
    }
}
