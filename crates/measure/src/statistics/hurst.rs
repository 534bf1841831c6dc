//! Estimates of the Hurst parameter of a series of counts: 0.5 for short-range dependence, 0.5 to 1 for long-range.

use super::Moments;
use super::least_squares::slope;
use tailback_random::maths::ln;

/// Number of scales per octave of aggregation.
const PER_OCTAVE: f64 = 2.0;
/// Lower bound on the number of blocks of a scale: with fewer blocks the variance is too inaccurate.
const MIN_BLOCKS: usize = 10;

/// Returns H from the variance–time plot (Leland et al. 1994): the variance of means over blocks of m observations
/// decreases as m^(2H − 2). The line is fitted to m from `smallest` to `largest`, in observations, two scales per
/// octave; scales with fewer than 10 blocks are omitted. `None`: fewer than two scales remain, or a variance is zero.
pub fn variance_time(series: &[f64], smallest: usize, largest: usize) -> Option<f64> {
    let points: Option<Vec<(f64, f64)>> = scales(smallest, largest.min(series.len() / MIN_BLOCKS))
        .map(|m| {
            let moments: Moments = series.chunks_exact(m).map(|block| block.iter().sum::<f64>() / m as f64).collect();
            let variance = moments.variance().filter(|v| *v > 0.0)?;
            Some((ln(m as f64), ln(variance)))
        })
        .collect();
    slope(&points?).map(|beta| 1.0 + 0.5 * beta)
}

/// Returns H from the rescaled range (Hurst 1951; Mandelbrot and Wallis 1969): the range of the cumulated deviations in
/// a block of n divided by the block's standard deviation grows as n^H. The line is fitted to the means over all whole
/// blocks, n from `smallest` to `largest`. Biased upwards for short blocks (about 0.55 for noise). `None`: fewer than
/// two block lengths remain.
pub fn rescaled_range(series: &[f64], smallest: usize, largest: usize) -> Option<f64> {
    let points: Vec<(f64, f64)> = scales(smallest.max(4), largest.min(series.len()))
        .filter_map(|n| {
            let ratios: Moments = series.chunks_exact(n).filter_map(range_over_deviation).collect();
            ratios.mean().map(|mean| (ln(n as f64), ln(mean)))
        })
        .collect();
    slope(&points)
}

/// Returns the rescaled range of a block; `None`: the block is constant or empty.
fn range_over_deviation(block: &[f64]) -> Option<f64> {
    let moments: Moments = block.iter().copied().collect();
    let mean = moments.mean()?;
    let (mut cumulated, mut low, mut high) = (0.0f64, 0.0f64, 0.0f64);
    for x in block {
        cumulated += x - mean;
        low = low.min(cumulated);
        high = high.max(cumulated);
    }
    let deviation = (moments.squares() / block.len() as f64).sqrt();
    (deviation > 0.0 && high > low).then(|| (high - low) / deviation)
}

/// Returns distinct integers from `smallest` to `largest`, evenly spaced in logarithm.
fn scales(smallest: usize, largest: usize) -> impl Iterator<Item = usize> {
    let factor = tailback_random::maths::pow(2.0, 1.0 / PER_OCTAVE);
    let mut exact = smallest.max(1) as f64;
    let mut last = 0;
    core::iter::from_fn(move || {
        loop {
            let m = exact.round() as usize;
            exact *= factor;
            if m > largest {
                return None;
            }
            if m > last {
                last = m;
                return Some(m);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::{Rng, maths};

    /// Returns `n` values of fractional Gaussian noise with variance 1 by Hosking's recursion (Durbin–Levinson): exact,
    /// in O(n²).
    fn fractional_noise(n: usize, hurst: f64, rng: &mut Rng) -> Vec<f64> {
        let power = |k: f64| maths::pow(k.abs(), 2.0 * hurst);
        let covariance: Vec<f64> =
            (0..n).map(|k| k as f64).map(|k| 0.5 * (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0))).collect();
        let (mut phi, mut before) = (vec![0.0; n], vec![0.0; n]);
        let mut x = vec![rng.normal()];
        let mut variance = 1.0;
        for i in 1..n {
            let known: f64 = (1..i).map(|j| before[j] * covariance[i - j]).sum();
            phi[i] = (covariance[i] - known) / variance;
            for j in 1..i {
                phi[j] = before[j] - phi[i] * before[i - j];
            }
            variance *= 1.0 - phi[i] * phi[i];
            let predicted: f64 = (1..=i).map(|j| phi[j] * x[i - j]).sum();
            x.push(predicted + variance.sqrt() * rng.normal());
            before[1..=i].copy_from_slice(&phi[1..=i]);
        }
        x
    }

    /// Returns the mean of an estimate over 16 series of 4096 values, since the standard error of one series is above
    /// the tolerance.
    fn mean_over_series(hurst: f64, estimate: impl Fn(&[f64]) -> Option<f64>) -> f64 {
        let result: Moments = (0..16)
            .map(|i| {
                let mut rng = Rng::named(i, "fractional noise");
                estimate(&fractional_noise(4_096, hurst, &mut rng)).unwrap()
            })
            .collect();
        result.mean().unwrap()
    }

    #[test]
    fn variance_time_finds_the_parameter_of_fractional_noise() {
        // The variance about the sample's own mean lacks the part at the longest scale, which biases H downwards by a
        // few hundredths at 4096 points. Scales far below the length of the series keep this bias small.
        for (hurst, tolerance) in [(0.5, 0.03), (0.8, 0.05)] {
            let result = mean_over_series(hurst, |x| variance_time(x, 4, 82));
            assert!((result - hurst).abs() < tolerance, "{result} for {hurst}");
        }
    }

    #[test]
    fn the_rescaled_range_distinguishes_long_range_dependence_from_noise() {
        let none = mean_over_series(0.5, |x| rescaled_range(x, 64, 1_024));
        let long = mean_over_series(0.8, |x| rescaled_range(x, 64, 1_024));
        assert!((0.48..0.60).contains(&none), "noise: {none}");
        assert!((0.73..0.87).contains(&long), "long memory: {long}");
    }

    #[test]
    fn too_short_or_constant_series_have_no_estimate() {
        assert_eq!(variance_time(&[1.0; 1_000], 1, 100), None);
        assert_eq!(variance_time(&[1.0, 2.0, 3.0], 1, 100), None);
        assert_eq!(rescaled_range(&[1.0; 100], 4, 50), None);
        assert_eq!(rescaled_range(&[], 4, 50), None);
    }
}
