//! Drop-tail: first in, first out; what does not fit is refused.

use crate::{Cx, Discipline, Gate, Packet, Qdisc, Reason, Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_units::Time;

/// First in, first out; an arriving packet that would take the queue above its limit is dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Most packets that may wait, at least 1, besides the limit in bytes: the K − 1 waiting places
    /// of M/M/1/K. Default: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> DropTail {
        let places = self.packets.unwrap_or(u64::MAX).min(site.packets);
        DropTail { waiting: VecDeque::new(), bytes: 0, limit: site.bytes, places }
    }
    /// A queue has a place.
    pub fn check(&self) -> Result<(), Invalid> {
        match self.packets {
            Some(0) => Err(Invalid::new("packets", "a queue without a place drops everything; write 1 or more")),
            _ => Ok(()),
        }
    }
}

impl Default for Spec {
    fn default() -> Spec {
        Spec::DropTail(Params::default())
    }
}

impl Default for Discipline {
    /// An unbounded FIFO.
    fn default() -> Discipline {
        Spec::default().build(&Site::default())
    }
}

/// A FIFO with a limit in bytes and one in packets.
#[derive(Debug)]
pub struct DropTail {
    waiting: VecDeque<Packet>,
    /// Buffer bytes waiting, 0 to `limit`.
    bytes: u64,
    limit: u64,
    /// Most packets that may wait.
    places: u64,
}

impl Qdisc for DropTail {
    #[inline]
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let size = u64::from(packet.size);
        if self.bytes + size > self.limit || self.packets() >= self.places {
            cx.drop(packet, Reason::BufferFull);
        } else {
            self.bytes += size;
            self.waiting.push_back(packet);
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let head = self.waiting.front()?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        self.bytes -= u64::from(head.size);
        self.waiting.pop_front()
    }
    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(f);
    }
}
