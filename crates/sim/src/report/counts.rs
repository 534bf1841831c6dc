//! Counts and delays in the units of the report.

use crate::ledger::Count;
use serde::Serialize;
use tailback_measure::Sketch;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes: payload for flows and classes, buffer bytes for ports.
    pub bytes: u64,
}

/// One-way delay from the generation of a packet to its last bit at the destination.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delay {
    /// Packets.
    pub count: u64,
    /// Mean, seconds; `None`: no packets.
    pub mean_s: Option<f64>,
    /// Largest, seconds.
    pub max_s: Option<f64>,
    /// Median, seconds; `None`: no histogram is kept. Quantiles are accurate to 0.4 %.
    pub p50_s: Option<f64>,
    /// 90th percentile, seconds.
    pub p90_s: Option<f64>,
    /// 99th percentile, seconds.
    pub p99_s: Option<f64>,
    /// 99.9th percentile, seconds.
    pub p999_s: Option<f64>,
}

impl From<Count> for Counts {
    fn from(count: Count) -> Counts {
        Counts { packets: count.packets, bytes: count.bytes }
    }
}

pub(crate) fn secs(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl Delay {
    pub(super) fn of(count: u64, sum: u128, max: u64, sketch: Option<&Sketch>) -> Delay {
        let some = count > 0;
        let quantile = |q| sketch.and_then(|s| s.quantile(q)).map(secs);
        Delay {
            count,
            mean_s: some.then(|| sum as f64 / count as f64 * 1e-12),
            max_s: some.then(|| secs(max)),
            p50_s: quantile(0.5),
            p90_s: quantile(0.9),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
        }
    }
}
