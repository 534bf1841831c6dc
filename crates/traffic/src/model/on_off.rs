//! On/off sources.

use crate::renewal::Gap;
use crate::{Burst, Distribution, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Sends at a constant rate during on periods and nothing during off periods; their lengths are independent and of one
/// distribution family. A packet leaves when the accumulated on time has reached its transmission time, and the rest of
/// an on period counts towards the next packet, so that the mean rate is exactly rate·on/(on + off). Stationary from
/// its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnOff {
    /// Payload of each packet, 1 B to 1 GB; above the network's MTU it is a burst of packets.
    pub packet: Size,
    /// Payload rate while on.
    pub rate: Rate,
    /// Mean length of an on period, at least one packet at `rate` and at most 13 days.
    pub on: Dur,
    /// Mean length of an off period, 0s to 13 days.
    pub off: Dur,
    /// Distribution of the lengths: "exponential" or "pareto". Default "exponential".
    #[serde(default)]
    pub distribution: Distribution,
    /// Shape of Pareto lengths, above 1 and at most 10; 1 < shape < 2 makes the aggregate of many such sources
    /// long-range dependent, H = (3 − shape)/2 (Willinger et al. 1997). Default 1.5.
    #[serde(default = "default_shape")]
    pub shape: f64,
}

fn default_shape() -> f64 {
    1.5
}

impl OnOff {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("packet", self.packet, 1)?;
        let packet = Dur(check::spacing("rate", self.packet.0, self.rate)?.nearest());
        check::duration("on", self.on)?;
        if self.on < packet {
            let advice = format!("{} is shorter than one packet at `rate`; write at least {packet}", self.on);
            return Err(Invalid::new("on", advice));
        }
        if self.off > Dur::ZERO {
            check::duration("off", self.off)?;
        }
        check::above("shape", self.shape, 1.0, 10.0)
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        let (on, off) = (self.on.as_secs(), self.off.as_secs());
        Some(self.rate.0 as f64 * on / (on + off))
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        Some(self.packet.0)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let packet = check::spacing("rate", self.packet.0, self.rate).expect(check::UNCHECKED).nearest();
        let gap = |mean: Dur| Gap::new(self.distribution, mean.0 as f64, self.shape);
        let (on, off) = (gap(self.on), gap(self.off));
        // Stationary start: the state of the source is that at a random instant.
        let starts_on = rng.chance(self.on.as_secs() / (self.on.as_secs() + self.off.as_secs()));
        let (now, remaining) = if starts_on {
            (at, on.residual(rng))
        } else {
            let wakes = at + Dur(off.residual(rng));
            (wakes, on.draw(rng))
        };
        Source { now, remaining, need: rng.between(1, packet), packet, bytes: self.packet.0, on, off }
    }
}

/// An on/off source; times in picoseconds.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the last packet, or start of the on period.
    now: Time,
    /// Time that remains of the on period after `now`.
    remaining: u64,
    /// On time until the next packet is complete.
    need: u64,
    /// On time per packet.
    packet: u64,
    bytes: u64,
    /// Lengths of on periods.
    on: Gap,
    /// Lengths of off periods.
    off: Gap,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        while self.remaining < self.need {
            self.need -= self.remaining;
            self.now += Dur(self.remaining);
            self.now += Dur(self.off.draw(rng));
            self.remaining = self.on.draw(rng);
        }
        self.remaining -= self.need;
        self.now += Dur(self.need);
        self.need = self.packet;
        burst(self.now, self.bytes)
    }
}
