//! Statistics of observations and of replications, for results only: they never affect a simulation.

mod autocorrelation;
mod batch;
mod chi_square;
mod dispersion;
mod fairness;
mod hill;
mod hurst;
mod interval;
mod kolmogorov;
mod moments;
mod mser;
mod special;
mod student;

pub use autocorrelation::lag_one;
pub use batch::batch_means;
pub use chi_square::{chi_square_cdf, chi_square_p_value, chi_square_statistic};
pub use dispersion::index_of_dispersion;
pub use fairness::jain;
pub use hill::hill;
pub use hurst::{rescaled_range, variance_time};
pub use interval::{Interval, mean_interval, paired_difference};
pub use kolmogorov::{kolmogorov_p_value, kolmogorov_statistic};
pub use moments::{Moments, mean, variance};
pub use mser::mser5;
pub use special::{incomplete_beta, incomplete_gamma};
pub use student::{t_cdf, t_quantile};

/// Returns the slope of the least-squares line through the points (x, y); `None`: fewer than two different x.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let xx: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.0 - mean_x)).sum();
    let xy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    (xx > 0.0).then(|| xy / xx)
}
