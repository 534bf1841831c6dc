//! Models, one file each: parameters and source.

pub mod bernoulli;
pub mod bulk;
pub mod cbr;
pub mod on_off;
pub mod poisson;
pub mod self_similar;
pub mod trace;
pub mod uniform_fixed;
pub mod uniform_uniform;
pub mod user;
pub mod video;
