//! A FIFO with a limit for each kind of packet.

use super::classes::check_limit;
use crate::fifo::Fifo;
use crate::law::wred::By;
use crate::signals::{Signals, Threshold};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_document::{Invalid, listed};
use tailback_units::{Amount, Time};

/// Weighted tail drop of routers and switches: one queue with limits of its total length by code point, precedence or colour. A
/// packet of such a kind is dropped if it would take the whole queue above that limit; other packets have the limit of the
/// class or the port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Packet field that selects the limit: "precedence", "dscp" or "colour". Default "precedence".
    #[serde(default)]
    pub by: By,
    /// Packets or bytes of the whole queue, by code point, precedence ("0" to "7") or colour. Default: no such limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Amount>,
}

impl Params {
    /// Returns the empty queue at its site.
    pub fn build(&self, site: &Site) -> WeightedTailDrop {
        let mut limits = vec![None; usize::from(self.by.count())];
        for (key, limit) in &self.limits {
            if let Some(kind) = self.by.named(key) {
                limits[usize::from(kind)] = Some(*limit);
            }
        }
        WeightedTailDrop { queue: Fifo::new(site), by: self.by, limits }
    }
    /// Known keys, each once, and limits with room for something.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut named = BTreeMap::new();
        for (key, limit) in &self.limits {
            let field = format!("limits.{key}");
            let Some(kind) = self.by.named(key) else {
                let by = serde_json::to_value(self.by).unwrap_or_default();
                let advice = format!("limits `by = {by}` are of {}", self.by.keys());
                return Err(Invalid::new(field, format!("`{key}` names no packets; {advice}")));
            };
            if let Some(before) = named.insert(kind, key) {
                let both = listed([before.as_str(), key]);
                return Err(Invalid::new(field, format!("{both} are the same code point; remove one")));
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

/// A FIFO whose room depends on the kind of the packet that arrives. O(1) per packet.
#[derive(Debug)]
pub struct WeightedTailDrop {
    queue: Fifo,
    by: By,
    /// By kind of packet.
    limits: Vec<Option<Amount>>,
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
