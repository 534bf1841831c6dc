//! The assignment of packets to queues, and the weights of the queues.

use super::Buckets;
use crate::Packet;
use crate::state::{INDEX, SALT};
use core::fmt::Debug;
use std::collections::BTreeMap;
use tailback_document::Invalid;
use tailback_random::Rng;

/// Assigns packets to queues, which are numbered from 0 without gaps.
pub trait Key: Debug {
    /// Returns the queue of `packet`.
    fn slot(&mut self, packet: &Packet, rng: &mut Rng) -> usize;
    /// Returns the weight of the queue `slot` relative to the others, above 0.
    fn weight(&self, slot: usize) -> f64;
    /// Returns the size in bytes of the state of the assignment.
    fn state_bytes(&self) -> usize;
}

/// Weights by flow number; a flow that is not listed has weight 1.
pub type Weights = BTreeMap<u32, f64>;

/// Range of a weight: beyond it, tags would lose the precision that orders packets.
const WEIGHTS: core::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Refuses weights out of range, and weights of flows that share buckets.
///
/// # Errors
/// If a parameter is invalid: the error names it and says what to write.
pub fn check_weights(weights: &Weights, buckets: Buckets) -> Result<(), Invalid> {
    if !weights.is_empty() && buckets != Buckets::PerFlow {
        let advice = "flows that share a bucket cannot have weights of their own; write `buckets = \"per-flow\"`";
        return Err(Invalid::new("weights", advice));
    }
    for (flow, weight) in weights {
        let field = format!("weights.{flow}");
        if *flow >= Packet::MAX_FLOWS {
            return Err(Invalid::new(
                field,
                format!("the flow number is out of range; write 0 to {}", Packet::MAX_FLOWS - 1),
            ));
        }
        if !WEIGHTS.contains(weight) {
            return Err(Invalid::new(field, format!("{weight} is out of range; write a number from 1e-6 to 1e6")));
        }
    }
    Ok(())
}

/// Assignment by flow: one queue per flow, numbered in the order of their first packets, or by
/// hash.
///
/// With one queue per flow a flow keeps its queue for the rest of the run, so that memory grows
/// with the number of flows seen and, by 4 bytes per number, with the largest flow number.
#[derive(Debug)]
pub struct ByFlow {
    buckets: Buckets,
    /// Salt of the hash, drawn at the first packet and at each [`ByFlow::salt_anew`].
    salt: Option<u64>,
    /// By flow number: its queue, or [`NONE`].
    slots: Vec<u32>,
    /// By queue: its weight, with one queue per flow.
    weights: Vec<f64>,
    given: Weights,
}

/// Index of no queue.
const NONE: u32 = u32::MAX;

impl ByFlow {
    /// Returns an assignment to `buckets` queues.
    pub fn new(buckets: Buckets, weights: &Weights) -> ByFlow {
        ByFlow { buckets, salt: None, slots: Vec::new(), weights: Vec::new(), given: weights.clone() }
    }
    /// Draws another hash function.
    pub fn salt_anew(&mut self, rng: &mut Rng) {
        self.salt = Some(rng.bits());
    }
}

impl Key for ByFlow {
    #[inline]
    fn slot(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        let flow = packet.flow();
        if let Buckets::Hashed(n) = self.buckets {
            let salt = *self.salt.get_or_insert_with(|| rng.bits());
            return ((u128::from(mix(u64::from(flow) ^ salt)) * u128::from(n)) >> 64) as usize;
        }
        let at = flow as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, NONE);
        }
        if self.slots[at] == NONE {
            self.slots[at] = self.weights.len() as u32;
            self.weights.push(self.given.get(&flow).copied().unwrap_or(1.0));
        }
        self.slots[at] as usize
    }
    #[inline]
    fn weight(&self, slot: usize) -> f64 {
        self.weights.get(slot).copied().unwrap_or(1.0)
    }
    fn state_bytes(&self) -> usize {
        self.slots.len() * INDEX + self.salt.map_or(0, |_| SALT)
    }
}

/// A bijection of 64 bits in which each bit of the argument flips each bit of the result with
/// probability near 1/2 (the finaliser of MurmurHash3 by Appleby).
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
