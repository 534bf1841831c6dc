//! Aggregates of heavy-tailed sources: long-range dependent traffic.

use crate::renewal::{Pareto, round};
use crate::{Burst, Peak, Truncation, burst, check};
use core::cmp::Reverse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// The sum of independent on/off sources: an on period sends a burst of Pareto size at the rate `peak`, an off period
/// has Pareto length. The bytes of many such sources are long-range dependent with H = (3 − α)/2, α being the smaller
/// of the two shapes, if it is below 2 (M. Taqqu, W. Willinger and R. Sherman, ACM Computer Communication Review 27(2),
/// 1997, theorem 1). Every source starts in equilibrium, and the mean rate is `rate` for any `truncate`.
///
/// With `peak = "batch"` a burst is emitted at one instant, and a Pareto gap separates it from the one before: the
/// number of bursts is long-range dependent (by the gaps alone), the bytes are not, since independent sizes of infinite
/// variance dominate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelfSimilar {
    /// Mean payload M of a burst, 64 B to 1 GB.
    pub burst: Size,
    /// Mean payload rate of the aggregate.
    pub rate: Rate,
    /// Number N of independent sources in the aggregate, 1 to 1000000. Default 100.
    #[serde(default = "default_sources")]
    pub sources: u32,
    /// Payload rate of a source while it is on, above rate/N; or "batch": each burst is emitted at one instant. Default
    /// 50·rate/N: a source is on for 2 % of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Payload of the packets of a burst, 1 B to 1 GB; the last packet is the remainder. No effect with "batch".
    /// Default 1500 B.
    #[serde(default = "default_packet")]
    pub packet: Size,
    /// Shape of the Pareto burst sizes, 1.01 to 10. Default 1.4 (H = 0.8).
    #[serde(default = "default_shape")]
    pub alpha_size: f64,
    /// Shape of the Pareto lengths of off periods (with "batch", of the gaps between bursts), above 1
    /// and at most 10. Default 1.4 (H = 0.8).
    #[serde(default = "default_shape")]
    pub alpha_gap: f64,
    /// Upper bound to which larger bursts are clamped, above `burst`; the other sizes are scaled up so that the mean
    /// remains `burst`. "none" leaves the general limit of 2^40 B. Default "5MB".
    #[serde(default = "default_truncation")]
    pub truncate: Truncation,
}

fn default_sources() -> u32 {
    100
}
fn default_packet() -> Size {
    Size(1_500)
}
fn default_shape() -> f64 {
    1.4
}
fn default_truncation() -> Truncation {
    Truncation::At(Size(5_000_000))
}

/// Default ratio of a source's peak rate to its mean rate. With bursts of 6 to 48 kB the bytes in 0.1 s and in 1 s vary
/// about as much as in measured Ethernet traffic.
const DEFAULT_PEAK: u64 = 50;

/// Smallest shape of burst sizes. The burst that a source is in at the start is found by rejection, which takes about
/// 1/(shape − 1) draws; measurements are above it (1.05 to 1.6; M. Crovella and A. Bestavros, ToN 5(6), 1997).
const MIN_SHAPE: f64 = 1.01;

impl SelfSimilar {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("burst", self.burst, 64)?;
        check::size("packet", self.packet, 1)?;
        if !(1..=1_000_000).contains(&self.sources) {
            return Err(Invalid::new("sources", format!("{} is out of range; write 1 to 1000000", self.sources)));
        }
        check::spacing("rate", self.burst.0 * u64::from(self.sources), self.rate)?;
        check::within("alpha-size", self.alpha_size, MIN_SHAPE, 10.0)?;
        check::above("alpha-gap", self.alpha_gap, 1.0, 10.0)?;
        if self.truncate.bytes() <= self.burst.0 {
            let advice =
                format!("the mean burst is {}, which is not below it; write a larger size, or \"none\"", self.burst);
            return Err(Invalid::new("truncate", advice));
        }
        if let Some(Peak::At(peak)) = self.peak
            && u128::from(peak.0) * u128::from(self.sources) <= u128::from(self.rate.0)
        {
            let per_source = Rate(self.rate.0 / u64::from(self.sources));
            let advice =
                format!("a source that is always on sends {per_source} of the aggregate's rate; write a higher rate");
            return Err(Invalid::new("peak", advice));
        }
        Ok(())
    }

    /// Returns the mean burst in bytes: `burst`, and without truncation slightly less because of the limit of 2^40 B.
    pub fn mean_burst(&self) -> f64 {
        self.sizes().capped_mean(self.cap())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        match self.peak {
            Some(Peak::Batch) => Some(self.rate.0 as f64 * self.mean_burst() / self.burst.0 as f64),
            _ => Some(self.rate.0 as f64),
        }
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the distribution of burst sizes in bytes, before clamping.
    fn sizes(&self) -> Pareto {
        let mean = self.burst.0 as f64;
        match self.truncate {
            Truncation::None => Pareto::with_mean(mean, self.alpha_size),
            Truncation::At(_) => Pareto::with_capped_mean(mean, self.alpha_size, self.cap()),
        }
    }

    /// Returns the largest burst in bytes.
    fn cap(&self) -> f64 {
        self.truncate.bytes() as f64
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let per_source = self.rate.0 as f64 / f64::from(self.sources);
        match self.peak {
            Some(Peak::Batch) => Source::Batches(self.batches(at, rng)),
            Some(Peak::At(peak)) => Source::Periods(self.periods(at, peak.0 as f64, rng)),
            None => Source::Periods(self.periods(at, DEFAULT_PEAK as f64 * per_source, rng)),
        }
    }

    /// Returns stationary sources that emit a burst at one instant.
    fn batches(&self, at: Time, rng: &mut Rng) -> Batches {
        let bytes = self.burst.0 * u64::from(self.sources);
        let mean_gap = check::spacing("rate", bytes, self.rate).expect(check::UNCHECKED).mean_ps();
        let gaps = Pareto::with_mean(mean_gap, self.alpha_gap);
        let next = (0..self.sources).map(|i| Reverse((at + Dur(round(gaps.residual(rng))), i))).collect();
        Batches { next, gaps, sizes: self.sizes(), cap: self.cap() }
    }

    /// Returns stationary sources that send at `peak_bps` while they are on.
    fn periods(&self, at: Time, peak_bps: f64, rng: &mut Rng) -> Periods {
        let (sizes, cap) = (self.sizes(), self.cap());
        let ps_per_byte = 8e12 / peak_bps;
        let cycle = 8e12 * f64::from(self.sources) / self.rate.0 as f64 * self.mean_burst();
        let on = ps_per_byte * self.mean_burst();
        let off = Pareto::with_mean(cycle - on, self.alpha_gap);
        let mut periods = Periods {
            next: BinaryHeap::with_capacity(self.sources as usize),
            remaining: vec![0; self.sources as usize],
            off,
            sizes,
            cap,
            packet: self.packet.0,
            ps_per_byte,
        };
        for i in 0..self.sources {
            // Stationary start: the state of the source is that at a random instant. `first` is the time to its next
            // packet; a source that is on has sent `sent` bytes of a burst of `whole` bytes.
            let first = if rng.chance(on / cycle) {
                let whole = sizes.draw_by_length(cap, rng);
                let sent = rng.uniform() * whole;
                // A packet starts at each multiple of the packet size; `begun` bytes are in packets that have started.
                let (packet, whole) = (periods.packet as f64, whole + 0.5);
                let begun = ((sent / packet) as u64 + 1) * periods.packet;
                if (begun as f64) < whole.floor() {
                    periods.remaining[i as usize] = whole as u64 - begun;
                    ps_per_byte * (begun as f64 - sent)
                } else {
                    ps_per_byte * (whole - 0.5 - sent) + periods.turn_on(i, off.residual(rng), rng)
                }
            } else {
                periods.turn_on(i, off.residual(rng), rng)
            };
            periods.next.push(Reverse((at + Dur(round(first)), i)));
        }
        periods
    }
}

/// A self-similar aggregate.
#[derive(Clone, Debug)]
pub enum Source {
    /// Sources with `peak = "batch"`.
    Batches(Batches),
    /// Sources with a finite peak rate.
    Periods(Periods),
}

/// Sources that emit a burst at one instant.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Time of each source's next burst; ties are broken by the lower index.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    /// Gaps between bursts, picoseconds.
    gaps: Pareto,
    /// Sizes of bursts in bytes, before clamping.
    sizes: Pareto,
    /// Largest burst in bytes.
    cap: f64,
}

/// Sources that send at a peak rate while they are on.
#[derive(Clone, Debug)]
pub struct Periods {
    /// Time of each source's next packet; ties are broken by the lower index.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    /// Bytes of each source's burst still to be sent, including its next packet.
    remaining: Vec<u64>,
    /// Lengths of off periods, picoseconds.
    off: Pareto,
    /// Sizes of bursts in bytes, before clamping.
    sizes: Pareto,
    /// Largest burst in bytes.
    cap: f64,
    /// Bytes of a packet.
    packet: u64,
    ps_per_byte: f64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        match self {
            Source::Batches(source) => source.next(rng),
            Source::Periods(source) => source.next(rng),
        }
    }
}

impl Batches {
    #[inline]
    fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let mut first = self.next.peek_mut()?;
        let Reverse((at, source)) = *first;
        *first = Reverse((at + Dur(round(self.gaps.draw(rng))), source));
        let bytes = (self.sizes.draw(rng).min(self.cap) + 0.5) as u64;
        burst(at, bytes)
    }
}

impl Periods {
    /// Draws the size of a source's next burst; returns `after`, the time until the burst begins, picoseconds.
    fn turn_on(&mut self, source: u32, after: f64, rng: &mut Rng) -> f64 {
        self.remaining[source as usize] = (self.sizes.draw(rng).min(self.cap) + 0.5) as u64;
        after
    }

    #[inline]
    fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let &Reverse((at, source)) = self.next.peek()?;
        let remaining = &mut self.remaining[source as usize];
        let bytes = self.packet.min(*remaining);
        *remaining -= bytes;
        let mut wait = self.ps_per_byte * bytes as f64;
        if *remaining == 0 {
            let off = self.off.draw(rng);
            wait += self.turn_on(source, off, rng);
        }
        // The top of the heap is replaced, which takes one sift rather than the two of a pop and a push.
        *self.next.peek_mut()? = Reverse((at + Dur(round(wait)), source));
        burst(at, bytes)
    }
}
