//! FIFO with limits; if it is full, the arriving packet, the oldest or a random one is dropped.

use crate::fifo::Fifo;
use crate::retune::{Fixed, Retune, fixed};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Time;

/// First in, first out. If an arriving packet would exceed the limit, it is dropped; with another
/// `victim`, waiting packets are dropped until it fits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Limit of waiting packets, at least 1, in addition to the limit of the port or class; for
    /// M/M/1/K it is K − 1. Default: no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Packet that is dropped when the queue is full: "tail", the arriving one, "head", the oldest,
    /// or "random". Default "tail".
    #[serde(default, skip_serializing_if = "is_tail")]
    pub victim: Victim,
}

fn is_tail(victim: &Victim) -> bool {
    *victim == Victim::Tail
}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> DropTail {
        DropTail { queue: Fifo::new(&self.limits(site)), victim: self.victim }
    }
    /// Returns the limits as an admission policy. `None`: the victim may be a waiting packet.
    pub fn rule(&self, site: &Site) -> Option<Site> {
        (self.victim == Victim::Tail).then(|| self.limits(site))
    }
    fn limits(&self, site: &Site) -> Site {
        Site { packets: self.packets.unwrap_or(u64::MAX).min(site.packets), ..*site }
    }
    /// Refuses a limit of 0 packets.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        match self.packets {
            Some(0) => Err(Invalid::new("packets", "a limit of 0 drops every packet; write 1 or more")),
            _ => Ok(()),
        }
    }
}

/// A FIFO with a limit in bytes and one in packets.
#[derive(Debug)]
pub struct DropTail {
    pub(crate) queue: Fifo,
    pub(crate) victim: Victim,
}

impl Retune for DropTail {
    fn adopt(&mut self, now: Time, fresh: DropTail) {
        self.queue.adopt(now, fresh.queue);
        self.victim = fresh.victim;
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        let tail = |params: &Params| params.victim == Victim::Tail;
        fixed("victim", tail(self), tail(to), "a port handles queues that drop waiting packets differently")
    }
}

impl Qdisc for DropTail {
    #[inline]
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.queue.push_and_trim(packet, self.victim, cx);
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.pop(gate)
    }
    fn head(&self) -> Option<&Packet> {
        self.queue.head()
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
