//! Closed forms from the literature: what a simulation must agree with when its assumptions hold.
//!
//! Times are in one unit of the caller's choice, rates in its inverse. None of these functions is
//! used by a simulation.

mod burst;
mod loss;
mod priority;
mod sharing;
mod waiting;

pub use burst::{BurstLoss, overload_loss};
pub use loss::{md1k_loss, mm1k_loss};
pub use priority::{Class, cobham_waits};
pub use sharing::max_min;
pub use waiting::{md1_wait, mg1_wait};
