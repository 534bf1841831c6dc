//! RED-PD: flows that RED drops too regularly pass a filter in front of it.

mod filter;
mod monitor;
mod params;

pub use filter::RedPd;
pub use params::Params;
