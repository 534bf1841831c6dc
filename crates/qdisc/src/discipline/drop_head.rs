//! Drop-head: first in, first out; the oldest make room for the newest.

use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_units::Time;

/// First in, first out; when an arriving packet would take the queue above its limit, packets are
/// dropped from the head until it fits (Lakshman, Neidhardt and Ott, INFOCOM 1996).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {}

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> DropHead {
        DropHead { waiting: VecDeque::new(), bytes: 0, limit: site.bytes, places: site.packets }
    }
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A FIFO with a limit in bytes and one in packets that drops from its head.
#[derive(Debug)]
pub struct DropHead {
    waiting: VecDeque<Packet>,
    /// Buffer bytes waiting, 0 to `limit`.
    bytes: u64,
    limit: u64,
    /// Most packets that may wait.
    places: u64,
}

impl Qdisc for DropHead {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(packet);
        while self.bytes > self.limit || self.packets() > self.places {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.bytes -= u64::from(oldest.size);
            cx.drop(oldest, Reason::BufferFull);
        }
    }
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
