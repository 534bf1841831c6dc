//! The assignment of packets to queues, and the weights of the queues.

use super::Buckets;
use crate::Packet;
use crate::retune::Retune;
use crate::state::{INDEX, SALT};
use core::fmt::Debug;
use std::collections::BTreeMap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Time;

/// Assigns packets to queues. A queue's index counts from 0 in the order of first use, or is that of its hash bucket.
pub trait Key: Debug {
    /// Returns the index of the queue of `packet`, a new one for a flow without a queue; `rng` is used only for the
    /// salt of a hash.
    fn slot(&mut self, packet: &Packet, rng: &mut Rng) -> usize;
    /// Returns the weight of queue `slot` relative to those of the other queues, above 0; 1 for a queue without a
    /// packet so far.
    fn weight(&self, slot: usize) -> f64;
    /// Returns the size in bytes of the tables of the assignment.
    fn state_bytes(&self) -> usize;
}

/// Weights by flow number; a flow that is not listed has weight 1.
pub type Weights = BTreeMap<u32, f64>;

/// Permitted weights. Outside this range the floating-point start and finish tags are too coarse to order packets.
const WEIGHTS: core::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Checks the weights: flow numbers and weights must be in range, and only queues per flow have weights.
///
/// # Errors
/// If weights are given although flows share buckets, a flow number is not below [`Packet::MAX_FLOWS`], or a weight is
/// outside 1e-6 to 1e6.
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

/// Assignment by the flow number: one queue for each flow, numbered in the order of the flows' first packets, or the
/// bucket that a salted hash selects.
///
/// With one queue per flow a flow keeps its queue for the rest of the run: the table of flows takes 4 bytes for each
/// flow number up to the largest seen, and the table of weights grows with the number of flows.
#[derive(Debug)]
pub struct ByFlow {
    buckets: Buckets,
    /// Salt of the hash, drawn at the first packet and at each [`ByFlow::salt_anew`].
    salt: Option<u64>,
    /// Index of each flow's queue, or [`NONE`], by flow number.
    slots: Vec<u32>,
    /// Weight of each queue, by its index; empty with hashed buckets.
    weights: Vec<f64>,
    /// Weights by flow number, as written in the parameters.
    given: Weights,
}

/// Marks a flow that has no queue yet.
const NONE: u32 = u32::MAX;

impl ByFlow {
    /// Returns an assignment by `buckets`. `weights` must have passed [`check_weights`].
    pub fn new(buckets: Buckets, weights: &Weights) -> ByFlow {
        ByFlow { buckets, salt: None, slots: Vec::new(), weights: Vec::new(), given: weights.clone() }
    }
    /// Draws a new salt of the hash: flows are then assigned to queues anew.
    pub fn salt_anew(&mut self, rng: &mut Rng) {
        self.salt = Some(rng.bits());
    }
}

/// Keeps the assignment; the queues take the new weights of their flows.
impl Retune for ByFlow {
    fn adopt(&mut self, _now: Time, fresh: ByFlow) {
        self.given = fresh.given;
        for (flow, slot) in (0u32..).zip(&self.slots) {
            if let Some(weight) = self.weights.get_mut(*slot as usize) {
                *weight = self.given.get(&flow).copied().unwrap_or(1.0);
            }
        }
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

/// Finaliser of MurmurHash3 (Appleby): a bijection of 64-bit numbers; flipping one bit of the argument flips each bit
/// of the result with a probability near 1/2.
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `fmix64` of MurmurHash3 (Appleby), computed from its definition with arithmetic modulo 2^64 in Python.
    #[test]
    fn the_hash_is_the_finaliser_of_murmur_hash_3() {
        let hashes = [0, 1, 0x0123_4567_89ab_cdef, u64::MAX].map(mix);
        assert_eq!(hashes, [0, 0xb456_bcfc_34c2_cb2c, 0x87cb_fbfe_8902_2cea, 0x64b5_720b_4b82_5f21]);
    }
}
