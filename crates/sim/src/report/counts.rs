//! Counts and delays in the units of the report.

use crate::ledger::Count;
use serde::Serialize;
use tailback_measure::Sketch;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes: payload for flows and classes, buffer bytes for ports.
    pub bytes: u64,
}

/// Statistics of one-way delays (from the generation of a packet to the arrival of its last bit at the destination) or
/// of completion times. Quantiles are accurate to 0.4 %; each is `None` if there are no values or no histogram is kept.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delay {
    /// Number of values: packets, writes, pages, exchanges or transfers.
    pub count: u64,
    /// Mean, seconds; `None`: no values.
    pub mean_s: Option<f64>,
    /// Maximum, seconds; `None`: no values.
    pub max_s: Option<f64>,
    /// Median, seconds.
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

/// Converts picoseconds to seconds.
pub(crate) fn secs(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl Delay {
    /// Returns the statistics of `count` values, whose `sum` and `max` are in picoseconds, with the quantiles of
    /// `sketch`; `None`: no quantiles.
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
