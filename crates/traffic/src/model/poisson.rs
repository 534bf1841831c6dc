//! Poisson arrivals of packets of fixed or exponential size.

use crate::exponential::Exponential;
use crate::renewal::round;
use crate::{Burst, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Packets with independent exponential gaps. Exactly one of `rate` and `interval` must be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Poisson {
    /// Payload of each packet, or its mean, 1 B to 1 GB; above the network's MTU it is a burst of packets.
    pub packet: Size,
    /// "fixed" (equal sizes: M/D/1 at a single link) or "exponential" (independent sizes, rounded to the nearest byte
    /// and at least 1 B: M/M/1, as long as few exceed the MTU). Default "fixed".
    #[serde(default)]
    pub sizes: Sizes,
    /// Mean payload rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Mean time between packets, above 0s and at most 13 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
}

/// Distribution of packet sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Equal sizes.
    #[default]
    Fixed,
    /// Independent and exponential.
    Exponential,
}

impl Poisson {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("packet", self.packet, 1)?;
        check::pace(self.packet, self.rate, self.interval).map(|_| ())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        let spacing = check::pace(self.packet, self.rate, self.interval).ok()?;
        Some(8.0 * self.packet.0 as f64 * spacing.per_second())
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        (self.sizes == Sizes::Fixed).then_some(self.packet.0)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let spacing = check::pace(self.packet, self.rate, self.interval).expect(check::UNCHECKED);
        let before = rng.clone();
        let unit = Exponential::new();
        let mut source = Source {
            now: at,
            mean_ps: spacing.mean_ps(),
            unit,
            bytes: self.packet.0,
            sizes: self.sizes,
            gap: Dur::ZERO,
            size: 0,
            before,
        };
        source.draw(rng);
        source
    }
}

/// A Poisson source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the last packet; before the first packet the start, since gaps are memoryless.
    now: Time,
    /// Mean gap in picoseconds.
    mean_ps: f64,
    unit: Exponential,
    /// Size of each packet, or its mean.
    bytes: u64,
    sizes: Sizes,
    /// Gap to the next packet. Gap and size are drawn one packet ahead, so that the next event of a run does not wait
    /// for the arithmetic.
    gap: Dur,
    /// Size of the next packet, bytes.
    size: u64,
    /// State of the random stream before gap and size were drawn.
    before: Rng,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        self.now += self.gap;
        let bytes = self.size;
        self.draw(rng);
        burst(self.now, bytes)
    }

    /// Draws gap and size of the next packet.
    #[inline(always)]
    fn draw(&mut self, rng: &mut Rng) {
        self.before = rng.clone();
        self.gap = Dur(round(self.mean_ps * self.unit.draw(rng)));
        self.size = match self.sizes {
            Sizes::Fixed => self.bytes,
            Sizes::Exponential => ((self.bytes as f64 * self.unit.draw(rng) + 0.5) as u64).max(1),
        };
    }

    /// Restores the random stream to its state after the last packet emitted.
    pub(crate) fn give_back(&self, rng: &mut Rng) {
        *rng = self.before.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_source_restores_its_random_stream_to_the_state_after_the_last_packet() {
        for sizes in [Sizes::Fixed, Sizes::Exponential] {
            let model = Poisson { packet: Size(1000), sizes, rate: None, interval: Some(Dur::from_us(10)) };
            let (mut drawn, mut plain, unit) = (Rng::named(1, "poisson"), Rng::named(1, "poisson"), Exponential::new());
            let mut source = model.start(Time::ZERO, &mut drawn);
            let mut at = Time::ZERO;
            for _ in 0..100 {
                at += Dur(round(1e7 * unit.draw(&mut plain)));
                let bytes = if sizes == Sizes::Fixed { 1000 } else { round(1e3 * unit.draw(&mut plain)).max(1) };
                assert_eq!(source.next(&mut drawn), Some(Burst { at, bytes }));
            }
            source.give_back(&mut drawn);
            assert_eq!(drawn.bits(), plain.bits());
        }
    }
}
