//! A FIFO with a limit for each code point, precedence or colour.

use super::classes::check_limit;
use crate::fifo::Fifo;
use crate::law::wred::By;
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_document::{Invalid, listed};
use tailback_units::{Amount, Time};

/// Weighted tail drop of routers and switches: one queue, with limits of its total length by code point, precedence or
/// colour. An arriving packet is dropped if the whole queue would exceed the limit of the packet's code point,
/// precedence or colour, or the limit of the class or port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Packet field that selects the limit: "precedence", "dscp" or "colour". Default "precedence".
    #[serde(default)]
    #[schemars(extend("x-fixed" = BY_FIXED))]
    pub by: By,
    /// Limits of the whole queue in packets or bytes; the keys are precedences "0" to "7", code points (names such as
    /// "af31", or "0" to "63") or the colours "green", "yellow" and "red", as `by` says. Default: no such limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Amount>,
}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> WeightedTailDrop {
        let mut limits = vec![None; usize::from(self.by.count())];
        for (key, limit) in &self.limits {
            if let Some(value) = self.by.named(key) {
                limits[usize::from(value)] = Some(*limit);
            }
        }
        WeightedTailDrop { queue: Fifo::new(site), by: self.by, limits }
    }
    /// Refuses unknown and repeated keys, and limits that admit no packet.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut named = BTreeMap::new();
        for (key, limit) in &self.limits {
            let field = format!("limits.{key}");
            let Some(value) = self.by.named(key) else {
                let by = serde_json::to_value(self.by).unwrap_or_default();
                let advice = format!("with `by = {by}` the keys are {}", self.by.keys());
                return Err(Invalid::new(field, format!("`{key}` is not a key; {advice}")));
            };
            if let Some(other_key) = named.insert(value, key) {
                let both = listed([other_key.as_str(), key]);
                return Err(Invalid::new(field, format!("{both} select the same packets; remove one")));
            }
            check_limit(&field, Some(*limit))?;
        }
        Ok(())
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        false
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        for (key, limit) in &self.limits {
            f(Threshold { path: format!("limits.{key}"), derived: false, length: (*limit).into(), site: *site });
        }
    }
}

/// A FIFO whose limit depends on the code point, precedence or colour of the arriving packet. O(1)
/// per packet.
#[derive(Debug)]
pub struct WeightedTailDrop {
    queue: Fifo,
    by: By,
    /// Limit for each value of the field. `None`: only the limit of the class or port applies.
    limits: Vec<Option<Amount>>,
}

impl Retune for WeightedTailDrop {
    fn adopt(&mut self, now: Time, fresh: WeightedTailDrop) {
        self.queue.adopt(now, fresh.queue);
        self.limits = fresh.limits;
    }
}

/// Reason why `by` is fixed during a run.
const BY_FIXED: &str = "it decides which limits there are";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("by", self.by, to.by, BY_FIXED)
    }
}

impl Qdisc for WeightedTailDrop {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let waiting = self.queue.backlog();
        let full = self.queue.is_full(packet.size)
            || match self.limits.get(self.by.of(&packet)).copied().flatten() {
                Some(Amount::Millipackets(n)) => waiting.packets >= n / 1_000,
                Some(Amount::Bytes(n)) => waiting.bytes + u64::from(packet.size) > n,
                None => false,
            };
        if full {
            return cx.drop(packet, Reason::BufferFull);
        }
        self.queue.push(packet);
    }
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.pop(gate)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE
    }
}
