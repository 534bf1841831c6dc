//! RED-PD: RED behind a filter, which drops packets of the flows that RED drops too regularly.

mod filter;
mod monitor;
mod params;

pub use filter::RedPd;
pub use params::Params;
