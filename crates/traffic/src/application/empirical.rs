//! Piecewise linear distribution functions of sizes: user-defined or published tables.

use crate::renewal::round;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Size};

/// Upper bound on the number of points of a table.
const MAX_POINTS: usize = 1000;

/// A piecewise linear distribution function: `points` are sizes and their cumulative probabilities. Between two points
/// sizes are uniform; the probability of the first point is that of exactly its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Empirical {
    /// 1 to 1000 points in ascending order; the last `share` is 1.
    pub points: Vec<Point>,
}

/// A point of a distribution function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Point {
    /// Size, 1 B to 1 GB.
    pub size: Size,
    /// Cumulative probability: share of the sizes that are at most `size`, 0 to 1.
    pub share: Fraction,
}

/// Flow sizes of web search: queries, their responses, and updates of the index (M. Alizadeh and others, *Data Center
/// TCP*, ACM SIGCOMM 2010, as tabled with the simulations of pFabric and HPCC). Mean 1.7 MB; 30 % of the flows are
/// above 1 MB and carry 95 % of the bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebSearch {}

/// Flow sizes of data mining (A. Greenberg and others, *VL2*, ACM SIGCOMM 2009, as tabled in packets of 1460 B with the
/// simulations of pFabric and PIAS). Mean 7.5 MB; half of the flows are one packet, and the 5 % above 3 MB carry 98 %
/// of the bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataMining {}

/// Flow sizes of a Hadoop cluster (A. Roy and others, *Inside the Social Network's (Datacenter) Network*, ACM SIGCOMM
/// 2015, as tabled with the simulations of HPCC). Mean 120 kB; 70 % are below 7 kB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hadoop {}

/// Returns the point that states that the share `share` of the sizes is at most `size` bytes.
const fn up_to(size: u64, share: f64) -> Point {
    Point { size: Size(size), share: Fraction(share) }
}

const WEB_SEARCH: [Point; 12] = [
    up_to(1, 0.0),
    up_to(10_000, 0.15),
    up_to(20_000, 0.2),
    up_to(30_000, 0.3),
    up_to(50_000, 0.4),
    up_to(80_000, 0.53),
    up_to(200_000, 0.6),
    up_to(1_000_000, 0.7),
    up_to(2_000_000, 0.8),
    up_to(5_000_000, 0.9),
    up_to(10_000_000, 0.97),
    up_to(30_000_000, 1.0),
];

/// Payload bytes of a packet in the table of data mining.
const PACKET: u64 = 1460;
const DATA_MINING: [Point; 8] = [
    up_to(PACKET, 0.5),
    up_to(2 * PACKET, 0.6),
    up_to(3 * PACKET, 0.7),
    up_to(7 * PACKET, 0.8),
    up_to(267 * PACKET, 0.9),
    up_to(2107 * PACKET, 0.95),
    up_to(66_667 * PACKET, 0.99),
    up_to(666_667 * PACKET, 1.0),
];

const HADOOP: [Point; 20] = [
    up_to(1, 0.0),
    up_to(100, 0.01),
    up_to(200, 0.02),
    up_to(300, 0.05),
    up_to(350, 0.15),
    up_to(400, 0.2),
    up_to(500, 0.3),
    up_to(600, 0.4),
    up_to(700, 0.5),
    up_to(1_000, 0.6),
    up_to(2_000, 0.67),
    up_to(7_000, 0.7),
    up_to(30_000, 0.72),
    up_to(50_000, 0.82),
    up_to(80_000, 0.87),
    up_to(120_000, 0.9),
    up_to(300_000, 0.95),
    up_to(1_000_000, 0.975),
    up_to(2_000_000, 0.99),
    up_to(10_000_000, 1.0),
];

impl Empirical {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let points = &self.points;
        if points.is_empty() || points.len() > MAX_POINTS {
            return Err(Invalid::new(
                "points",
                format!("the table has {} points; write 1 to {MAX_POINTS}", points.len()),
            ));
        }
        for (index, point) in points.iter().enumerate() {
            let path = format!("points[{index}]");
            crate::check::size("size", point.size, 1).map_err(|e| e.within(&path))?;
            let Some(before) = index.checked_sub(1).map(|before| points[before]) else { continue };
            if point.size <= before.size {
                let message = format!(
                    "{} is not above {}, the size before; write the sizes in ascending order",
                    point.size, before.size
                );
                return Err(Invalid::new("size", message).within(&path));
            }
            if point.share.0 < before.share.0 {
                let message = format!("{} is below the share before; write {} or more", point.share.0, before.share.0);
                return Err(Invalid::new("share", message).within(&path));
            }
        }
        let last = points[points.len() - 1].share.0;
        if last < 1.0 {
            let path = format!("points[{}]", points.len() - 1);
            return Err(Invalid::new("share", format!("the last share is {last}; write 1")).within(&path));
        }
        Ok(())
    }
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}
impl WebSearch {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn points(&self) -> &[Point] {
        &WEB_SEARCH
    }
}
impl DataMining {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn points(&self) -> &[Point] {
        &DATA_MINING
    }
}
impl Hadoop {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn points(&self) -> &[Point] {
        &HADOOP
    }
}

/// Returns a sample in bytes, by inversion of the distribution function. `points` must have passed the check.
pub(super) fn draw(points: &[Point], rng: &mut Rng) -> u64 {
    let share = rng.uniform();
    let above = points.partition_point(|point| point.share.0 <= share).min(points.len() - 1);
    let Some(below) = above.checked_sub(1) else { return points[0].size.0 };
    let (low, high) = (points[below], points[above]);
    let fraction = (share - low.share.0) / (high.share.0 - low.share.0);
    round(low.size.0 as f64 + fraction * (high.size.0 - low.size.0) as f64)
}

/// Returns the mean in bytes: the midpoint of each piece, weighted by its probability, plus the share of the first
/// point.
pub(super) fn mean(points: &[Point]) -> f64 {
    let pieces = points.windows(2).map(|ends| {
        let middle = f64::midpoint(ends[0].size.0 as f64, ends[1].size.0 as f64);
        (ends[1].share.0 - ends[0].share.0) * middle
    });
    points[0].share.0 * points[0].size.0 as f64 + pieces.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of 200,000 samples that are at most `size` bytes.
    fn share_up_to(points: &[Point], size: u64) -> f64 {
        let mut rng = Rng::named(1, "table");
        (0..200_000).filter(|_| draw(points, &mut rng) <= size).count() as f64 / 200_000.0
    }

    #[test]
    fn samples_match_each_point_of_the_published_tables() {
        for points in [&WEB_SEARCH[..], &DATA_MINING, &HADOOP] {
            for point in points {
                // Four standard errors of a share of a half, 4·0.5/√200,000, are 0.0045.
                let observed = share_up_to(points, point.size.0);
                assert!(
                    (observed - point.share.0).abs() < 0.005,
                    "{observed} up to {} instead of {}",
                    point.size,
                    point.share.0
                );
            }
        }
    }

    #[test]
    fn the_published_tables_have_the_stated_means() {
        // Data mining: 5117 packets, the mean of pFabric's simulation; the others were added up by hand.
        for (points, expected) in [(&WEB_SEARCH[..], 1.71125e6), (&DATA_MINING, 5117.0 * 1460.0), (&HADOOP, 1.2042e5)] {
            let observed = mean(points);
            assert!((observed / expected - 1.0).abs() < 1e-3, "{observed} instead of {expected}");
        }
    }

    #[test]
    fn the_first_share_is_the_probability_of_the_first_size_and_pieces_are_uniform() {
        let points = [up_to(100, 0.25), up_to(300, 0.25), up_to(500, 1.0)];
        let mut rng = Rng::named(2, "table");
        let drawn: Vec<u64> = (0..100_000).map(|_| draw(&points, &mut rng)).collect();
        let first = drawn.iter().filter(|size| **size == 100).count() as f64 / 1e5;
        assert!((first - 0.25).abs() < 0.01, "{first}");
        assert!(
            drawn.iter().all(|size| *size == 100 || (300..=500).contains(size)),
            "sizes occur between equal shares"
        );
        // Half of the 0.75 of the last piece.
        let lower = drawn.iter().filter(|size| (300..400).contains(*size)).count() as f64 / 1e5;
        assert!((lower - 0.375).abs() < 0.01, "{lower}");
    }
}
