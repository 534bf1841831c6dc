//! Closed forms from the literature, with which simulations must agree when their assumptions hold.
//!
//! Times are in one unit of the caller's choice, rates in its inverse. Simulations do not use these functions.

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
