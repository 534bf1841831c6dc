//! Slotted Bernoulli arrivals: the classical input of switch theory.

use crate::exponential::Exponential;
use crate::{Burst, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Dur, Fraction, Size, Time};

/// In every slot, counted from the start, one packet with probability `load`, independently (Karol, Hluchyj and Morgan
/// 1987). With a slot of one packet's transmission time, `load` is the load of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bernoulli {
    /// Payload of each packet, 1 B to 1 GB; above the network's MTU it is a burst of packets.
    pub packet: Size,
    /// Length of a slot, above 0s and at most 13 days.
    pub slot: Dur,
    /// Probability of a packet in a slot, above 0 and at most 1.
    pub load: Fraction,
}

impl Bernoulli {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("packet", self.packet, 1)?;
        check::duration("slot", self.slot)?;
        check::above("load", self.load.0, 0.0, 1.0)
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        Some(8.0 * self.packet.0 as f64 * self.load.0 / self.slot.as_secs())
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        Some(self.packet.0)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        // For a load of 1 the logarithm is −∞ and the mean 0: no slot is empty.
        let mean_gap = -1.0 / maths::ln_1p(-self.load.0);
        let mut source = Source { next: at, slot: self.slot, mean_gap, unit: Exponential::new(), bytes: self.packet.0 };
        source.next += self.slot * source.empty_slots(rng);
        source
    }
}

/// A slotted source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the next packet.
    next: Time,
    slot: Dur,
    /// Mean, in slots, of the exponential variable whose integer part is the number of empty slots: −1 / ln(1 − load).
    mean_gap: f64,
    unit: Exponential,
    bytes: u64,
}

impl Source {
    /// Draws the number of empty slots before the next packet: a geometric variable, drawn as the integer part of an
    /// exponential one.
    #[inline]
    fn empty_slots(&self, rng: &mut Rng) -> u64 {
        (self.unit.draw(rng) * self.mean_gap) as u64
    }

    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let at = self.next;
        self.next += self.slot * self.empty_slots(rng).saturating_add(1);
        burst(at, self.bytes)
    }
}
