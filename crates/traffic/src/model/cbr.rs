//! Constant bit rate: equal packets at even intervals.

use crate::spacing::Spacing;
use crate::{Burst, Phase, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Equal packets at even intervals. Exactly one of `rate` and `interval` must be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cbr {
    /// Payload of each packet, 1 B to 1 GB; above the network's MTU it is a burst of packets.
    pub packet: Size,
    /// Payload rate. The interval is packet/rate, exact in the long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time between packets, above 0s and at most 13 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
    /// Jitter: each packet is late by a random time, uniform from 0 to this fraction of the interval; the nominal
    /// times remain evenly spaced. Default 0.
    #[serde(default)]
    pub jitter: Fraction,
    /// Random variation of each interval, uniform from minus to plus this fraction of the interval, so that sources of
    /// equal rate drift apart. Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wander: Fraction,
    /// Time from the start to the first packet: "random" (uniform over one interval), "zero", or a duration. Default
    /// "random".
    #[serde(default)]
    pub phase: Phase,
}

fn is_zero(wander: &Fraction) -> bool {
    wander.0 == 0.0
}

impl Cbr {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("packet", self.packet, 1)?;
        check::pace(self.packet, self.rate, self.interval)?;
        check::within("wander", self.wander.0, 0.0, 1.0)?;
        check::within("jitter", self.jitter.0, 0.0, 1.0)?;
        let sum = self.jitter.0 + self.wander.0;
        if sum > 1.0 {
            let message = format!(
                "`jitter` and `wander` add up to {sum}, so that a packet could overtake the one before; \
                 write at most 1 for both together"
            );
            return Err(Invalid::new("jitter", message));
        }
        Ok(())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        let spacing = check::pace(self.packet, self.rate, self.interval).ok()?;
        Some(8.0 * self.packet.0 as f64 * spacing.per_second())
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        Some(self.packet.0)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let spacing = check::pace(self.packet, self.rate, self.interval).expect(check::UNCHECKED);
        let next = at + self.phase.draw(spacing.whole(), rng);
        let jitter = (self.jitter.0 * spacing.whole() as f64) as u64;
        let wander = (self.wander.0 * spacing.whole() as f64) as u64;
        // Together at most one interval, despite rounding, so that no packet overtakes the next.
        let wander = wander.min(spacing.whole());
        let jitter = jitter.min(spacing.whole() - wander);
        Source { next, bytes: self.packet.0, jitter, wander, spacing }
    }
}

/// A constant-rate source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Nominal time of the next packet.
    next: Time,
    spacing: Spacing,
    bytes: u64,
    /// Upper bound of a packet's lateness, picoseconds.
    jitter: u64,
    /// Upper bound of the variation of an interval, picoseconds.
    wander: u64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let mut at = self.next;
        self.next += self.spacing.step();
        if self.wander > 0 {
            self.next = Time(self.next.0 - self.wander) + Dur(rng.between(0, 2 * self.wander));
        }
        if self.jitter > 0 {
            at += Dur(rng.between(0, self.jitter));
        }
        burst(at, self.bytes)
    }
}
