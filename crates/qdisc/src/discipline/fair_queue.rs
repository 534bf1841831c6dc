//! The flow-based fair queue of Cisco IOS: weights by precedence, sequence numbers, and limits that
//! are enforced on arrival.

use super::fair::{Buckets, ByConversation, KeyBy, Tagged};
use super::scfq::OwnFinish;
use crate::discipline::classes::check_limit;
use crate::retune::{Fixed, Retune, fixed};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Time};

/// Flow-based weighted fair queueing as in Cisco IOS. An arriving packet gets a sequence number: the
/// larger of the last number of its conversation and that of the packet in service, plus its size
/// times a weight that falls with its precedence. The packet with the smallest number is served first.
/// Once a conversation has reached the congestive discard threshold, its arriving packets are dropped
/// until it is below a quarter of the threshold; once all conversations together fill the hold queue,
/// all arriving packets are dropped. The discipline `wfq` has the exact virtual time of the literature
/// instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Definition of a conversation: "flow", "flow-tos" (the packets of a flow with the same code
    /// point), or "one" (all packets). Default "flow-tos".
    #[serde(default)]
    #[schemars(extend("x-fixed" = KEY_FIXED))]
    pub key: KeyBy,
    /// Weights of conversations: "precedence", proportional to IP precedence + 1, or "equal", as in
    /// distributed WFQ. Default "precedence".
    #[serde(default)]
    pub weights: Weighting,
    /// Factor of the packet size for precedence 0, 1000 to 1000000; for precedence p it is `scale`
    /// / (p + 1), rounded down. Older releases have 4096. Default 32384.
    #[serde(default = "scale")]
    pub scale: u32,
    /// Number of queues, 1 to 2^20, to which conversations are assigned by a hash, or "per-flow",
    /// one queue per conversation. Default 256.
    #[serde(default = "dynamic")]
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub queues: Buckets,
    /// Congestive discard threshold of each queue, in packets, "1packet" or more. Default
    /// "64packets".
    #[serde(default = "sixty_four")]
    pub threshold: Amount,
    /// Hold queue: limit of all queues together, in packets, "1packet" or more. Default
    /// "1000packets".
    #[serde(default = "thousand")]
    pub hold: Amount,
    /// Aggregate limit of distributed WFQ, in packets; requires `individual`. Once all queues
    /// together hold this number, the limit `individual` applies to each queue. Default: no such
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Amount>,
    /// Limit of each queue in packets once all queues together hold `aggregate` packets; requires
    /// `aggregate`. Default: no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub individual: Option<Amount>,
}

/// Weights of conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Proportional to the IP precedence plus one.
    #[default]
    Precedence,
    /// Equal weights.
    Equal,
}

fn scale() -> u32 {
    32_384
}
fn dynamic() -> Buckets {
    Buckets::Hashed(256)
}
fn sixty_four() -> Amount {
    Amount::packets(64)
}
fn thousand() -> Amount {
    Amount::packets(1_000)
}

impl Default for Params {
    fn default() -> Params {
        Params {
            key: KeyBy::default(),
            weights: Weighting::default(),
            scale: scale(),
            queues: dynamic(),
            threshold: sixty_four(),
            hold: thousand(),
            aggregate: None,
            individual: None,
        }
    }
}

/// Returns the whole packets of a limit that has passed `check`.
fn packets(amount: Amount) -> u64 {
    match amount {
        Amount::Millipackets(n) => n / 1_000,
        Amount::Bytes(n) => n,
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> FairQueue {
        let weights = match self.weights {
            Weighting::Equal => [1.0; 8],
            Weighting::Precedence => core::array::from_fn(|p| 1.0 / f64::from(self.scale / (p as u32 + 1))),
        };
        let unlimited = Site { bytes: u64::MAX, packets: u64::MAX, ..*site };
        FairQueue {
            queues: Tagged::new(ByConversation::new(self.key, self.queues, weights), OwnFinish::default(), &unlimited),
            refusing: Vec::new(),
            threshold: packets(self.threshold),
            individual: self.aggregate.map(packets).zip(self.individual.map(packets)),
            site: Site { packets: site.packets.min(packets(self.hold)), ..*site },
        }
    }
    /// Refuses parameters out of range, limits that are not in packets, and one limit of distributed WFQ without the
    /// other.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::within("scale", f64::from(self.scale), 1e3, 1e6)?;
        self.queues.check("queues")?;
        let limits = [
            ("threshold", Some(self.threshold)),
            ("hold", Some(self.hold)),
            ("aggregate", self.aggregate),
            ("individual", self.individual),
        ];
        for (field, limit) in limits {
            check_limit(field, limit)?;
            if let Some(Amount::Bytes(_)) = limit {
                return Err(Invalid::new(
                    field,
                    "this limit is in packets; write a number of packets, such as \"64packets\"",
                ));
            }
        }
        match (self.aggregate, self.individual) {
            (Some(_), None) => {
                Err(Invalid::new("aggregate", "the limit of each queue is missing; write `individual`, too"))
            }
            (None, Some(_)) => {
                Err(Invalid::new("individual", "the limit of all queues is missing; write `aggregate`, too"))
            }
            _ => Ok(()),
        }
    }
}

/// Conversations served by sequence number. O(log n) per packet for n conversations with packets.
#[derive(Debug)]
pub struct FairQueue {
    queues: Tagged<ByConversation, OwnFinish>,
    /// For each queue `true` if it has reached the threshold and has not been below a quarter of the threshold since.
    refusing: Vec<bool>,
    threshold: u64,
    /// Number of packets in all queues together from which a limit of each queue applies, and that limit. `None`: no
    /// such limits.
    individual: Option<(u64, u64)>,
    site: Site,
}

impl FairQueue {
    /// Returns `true` if the queue `slot` accepts no packet now.
    fn refuses(&mut self, slot: usize) -> bool {
        if slot >= self.refusing.len() {
            self.refusing.resize(slot + 1, false);
        }
        let length = self.queues.packets_of(slot);
        if self.individual.is_some_and(|(all, own)| self.queues.packets() >= all && length >= own) {
            return true;
        }
        self.refusing[slot] = if self.refusing[slot] { 4 * length >= self.threshold } else { length >= self.threshold };
        self.refusing[slot]
    }
}

impl Retune for FairQueue {
    fn adopt(&mut self, now: Time, fresh: FairQueue) {
        self.queues.adopt(now, fresh.queues);
        (self.threshold, self.individual, self.site) = (fresh.threshold, fresh.individual, fresh.site);
    }
}

/// Reason why `key` is fixed during a run.
const KEY_FIXED: &str = "packets wait in the queues of these conversations";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("key", self.key, to.key, KEY_FIXED)?;
        self.queues.check_retune("queues", to.queues)
    }
}

impl Qdisc for FairQueue {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.queues.slot(&packet, cx.rng);
        if self.refuses(slot) {
            return cx.drop(packet, Reason::Early);
        }
        if self.site.is_full(self.queues.packets(), self.queues.bytes(), packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        self.queues.enqueue(now, packet, cx);
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
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.queues.probe(f);
    }
    fn state_bytes(&self) -> usize {
        self.queues.state_bytes() + size_of_val(self.refusing.as_slice())
    }
}
