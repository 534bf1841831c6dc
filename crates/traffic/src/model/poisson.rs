//! Poisson arrivals of equal packets.

use crate::exponential::Exponential;
use crate::renewal::to_ps;
use crate::{Burst, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Equal packets with independent exponential gaps. Give `rate` or `interval`, not both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Poisson {
    /// Payload of each packet, 1 B to 1 GB; above the network's MTU it is a burst of packets.
    pub packet: Size,
    /// Mean payload rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Mean time between packets, above 0s and at most 13 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
}

impl Poisson {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("packet", self.packet, 1)?;
        check::pace(self.packet, self.rate, self.interval).map(|_| ())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        let spacing = check::pace(self.packet, self.rate, self.interval).ok()?;
        Some(8.0 * self.packet.0 as f64 * spacing.per_second())
    }

    pub(crate) fn start(&self, at: Time, _: &mut Rng) -> Source {
        let spacing = check::pace(self.packet, self.rate, self.interval).expect(check::UNCHECKED);
        Source { now: at, mean_ps: spacing.mean_ps(), unit: Exponential::new(), bytes: self.packet.0 }
    }
}

/// A Poisson source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the last packet, at first the start: without memory the first gap is like any other.
    now: Time,
    mean_ps: f64,
    unit: Exponential,
    bytes: u64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        self.now += Dur(to_ps(self.mean_ps * self.unit.draw(rng)));
        burst(self.now, self.bytes)
    }
}
