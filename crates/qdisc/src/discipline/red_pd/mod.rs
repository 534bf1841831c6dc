//! RED-PD: packets of flows that RED drops too regularly pass a filter in front of RED.

mod filter;
mod monitor;
mod params;

pub use filter::RedPd;
pub use params::Params;
