//! Conversations: what routers take for a flow.

use super::{Buckets, Key, mix};
use crate::Packet;
use crate::state::{INDEX, SALT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_random::Rng;

/// Definition of a conversation. A flow stands for addresses, ports and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyBy {
    /// A flow, whatever its code points.
    Flow,
    /// The packets of one code point of a flow.
    #[default]
    FlowTos,
    /// All packets together.
    One,
}

/// Assigns packets to queues by conversation: one queue for each, numbered in the order of their first packets, or by
/// hash. A packet's precedence decides its weight.
#[derive(Debug)]
pub struct ByConversation {
    by: KeyBy,
    queues: Buckets,
    /// By precedence.
    weights: [f64; 8],
    /// Drawn before the first packet that is hashed.
    salt: Option<u64>,
    /// By conversation its queue, where each has one.
    slots: BTreeMap<u64, u32>,
    /// By queue, the weight of its last packet.
    last: Vec<f64>,
}

impl ByConversation {
    /// Sorts into `queues` by `by`, weighted by precedence.
    pub fn new(by: KeyBy, queues: Buckets, weights: [f64; 8]) -> ByConversation {
        ByConversation { by, queues, weights, salt: None, slots: BTreeMap::new(), last: Vec::new() }
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
