//! The hierarchical fair service curve scheduler.

mod curve;
mod params;
mod queue;
mod tree;

pub use curve::Curve;
pub use params::{Class, Params};
pub use queue::Hfsc;
