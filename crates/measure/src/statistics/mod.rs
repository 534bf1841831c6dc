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
mod least_squares;
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
