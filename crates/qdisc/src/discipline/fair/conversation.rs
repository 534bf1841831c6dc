//! Conversations: the flows of a router's fair queue.

use super::{Buckets, Key, mix};
use crate::Packet;
use crate::retune::Retune;
use crate::state::{INDEX, SALT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_random::Rng;
use tailback_units::Time;

/// Definition of a conversation. All packets of a flow have the same addresses, ports and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyBy {
    /// All packets of a flow, whatever their code points.
    Flow,
    /// The packets of a flow with the same code point.
    #[default]
    FlowTos,
    /// All packets together.
    One,
}

/// Assigns packets to queues by conversation: one queue for each conversation, in the order of their first packets, or
/// the bucket that a salted hash selects. The weight of a queue is that of its last packet's precedence.
#[derive(Debug)]
pub struct ByConversation {
    by: KeyBy,
    queues: Buckets,
    /// Weight by precedence.
    weights: [f64; 8],
    /// Salt of the hash, drawn at the first packet that is hashed.
    salt: Option<u64>,
    /// Queue of each conversation, if each has its own.
    slots: BTreeMap<u64, u32>,
    /// Weight of the last packet of each queue.
    last: Vec<f64>,
}

impl ByConversation {
    /// Returns an assignment to `queues` of the conversations that `by` defines, with these weights by precedence.
    pub fn new(by: KeyBy, queues: Buckets, weights: [f64; 8]) -> ByConversation {
        ByConversation { by, queues, weights, salt: None, slots: BTreeMap::new(), last: Vec::new() }
    }
}

/// Keeps the assignment; the weight of a queue changes with its next packet.
impl Retune for ByConversation {
    fn adopt(&mut self, _now: Time, fresh: ByConversation) {
        self.weights = fresh.weights;
    }
}

impl Key for ByConversation {
    fn slot(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        let conversation = match self.by {
            KeyBy::Flow => u64::from(packet.flow()),
            KeyBy::FlowTos => u64::from(packet.flow()) << 6 | u64::from(packet.dscp()),
            KeyBy::One => 0,
        };
        let slot = match self.queues {
            Buckets::Hashed(n) => {
                let salt = *self.salt.get_or_insert_with(|| rng.bits());
                ((u128::from(mix(conversation ^ salt)) * u128::from(n)) >> 64) as usize
            }
            Buckets::PerFlow => {
                let next = self.slots.len() as u32;
                *self.slots.entry(conversation).or_insert(next) as usize
            }
        };
        if slot >= self.last.len() {
            self.last.resize(slot + 1, 1.0);
        }
        self.last[slot] = self.weights[usize::from(packet.precedence())];
        slot
    }
    fn weight(&self, slot: usize) -> f64 {
        self.last.get(slot).copied().unwrap_or(1.0)
    }
    fn state_bytes(&self) -> usize {
        let conversation = size_of::<u64>() + INDEX;
        self.slots.len() * conversation + size_of_val(self.last.as_slice()) + self.salt.map_or(0, |_| SALT)
    }
}
